"""Digests that stand for texts which were left out, the comparison of a fetched text with them, and what became of each
passage."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from core.model import FILLING, Page, PassageDigest, PassageState, TextDigests
from core.run.state import Run

_MASK = 2**64 - 1
_BASE = 0x9E3779B97F4A7C15
"""Odd, so that it has an inverse modulo 2**64."""
_CANDIDATES = 100
"""Places with the right fingerprint whose digest is computed: chance gives none, a file that lies as many as it likes."""
_SEARCHES = 2_000
"""Passages of a page that are looked for elsewhere in it, which takes milliseconds each in the longest text."""


def filling(start: int, end: int) -> str:
    """What stands at `text[start:end]` of a page whose text was left out."""
    return ((FILLING * 7 + " ") * (2 + (end - start) // 8))[start % 8 :][: end - start]


def text_digests(text: str, places: Iterable[tuple[int, int]]) -> TextDigests:
    """What stands for a text and for those stretches of it, which are within it."""
    rolling = _RollingHash(text)
    return TextDigests(
        sha256=_sha256(text),
        passages=tuple(
            PassageDigest(
                start=start,
                end=end,
                sha256=_sha256(text[start:end]),
                fingerprint=rolling.fingerprint(start, end),
            )
            for start, end in places
        ),
    )


def compared(digests: TextDigests, length: int, text: str) -> tuple[TextDigests, str]:
    """The digests of a text of `length` characters with what became of its passages, and the text as far as it is known
    by `text`, which was fetched. A passage that has moved is put where it was."""
    rolling, passages, searches = _RollingHash(text), list[PassageDigest](), 0
    for passage in digests.passages:
        if _sha256(text[passage.start : passage.end]) == passage.sha256:
            passages.append(replace(passage, state=PassageState.UNCHANGED, moved_to=None))
            continue
        searches += 1
        begin = rolling.find(passage, text) if searches <= _SEARCHES else None
        state = PassageState.CHANGED if begin is None else PassageState.MOVED
        passages.append(replace(passage, state=state, moved_to=begin))
    digests = replace(digests, passages=tuple(passages), problem="")
    if len(text) == length and _sha256(text) == digests.sha256 and all(passage.here for passage in passages):
        return replace(digests, whole=True), text
    pieces, end = list[str](), 0
    for passage in sorted(passages, key=lambda passage: passage.start):
        if passage.here and passage.end > end:
            start = max(passage.start, end)
            begin = start + (passage.start if passage.moved_to is None else passage.moved_to) - passage.start
            pieces += (filling(end, start), text[begin : begin + passage.end - start])
            end = passage.end
    return digests, "".join((*pieces, filling(end, length)))


def left_out_passages(run: Run) -> Iterator[tuple[Page, PassageDigest]]:
    """The passages in the order of their pages, each with its page."""
    for page in run.pages.values():
        yield from (
            (page, passage) for passage in (page.article.digests.passages if page.article.digests else ())
        )


def why_gone(page: Page, passage: PassageDigest) -> str:
    """Why the page of a passage that is gone could not be read; empty for any other."""
    return page.article.digests.problem if page.article.digests and passage.state is PassageState.GONE else ""


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class _RollingHash:
    """Polynomial hashes of all stretches of a text, modulo 2**64 (Karp and Rabin, 1987)."""

    def __init__(self, text: str) -> None:
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64) + np.uint64(
            1
        )
        self._sums = np.zeros(len(codes) + 1, np.uint64)
        np.cumsum(codes * _powers(_BASE, len(codes)), out=self._sums[1:])
        self._inverses = _powers(pow(_BASE, -1, 2**64), len(self._sums))

    def fingerprint(self, start: int, end: int) -> int:
        """The hash of `text[start:end]`, wherever it stands."""
        return (int(self._sums[end]) - int(self._sums[start])) * int(self._inverses[start]) & _MASK

    def find(self, passage: PassageDigest, text: str) -> int | None:
        """Where the passage begins in the text; None where it is not in it."""
        length = passage.end - passage.start
        count = len(self._sums) - length
        if count < 1:
            return None
        hashes = (self._sums[length:] - self._sums[:count]) * self._inverses[:count]
        begins = np.flatnonzero(hashes == np.uint64(passage.fingerprint & _MASK))[:_CANDIDATES].tolist()
        return next((b for b in begins if _sha256(text[b : b + length]) == passage.sha256), None)


def _powers(base: int, count: int) -> NDArray[np.uint64]:
    powers = np.full(count, base, np.uint64)
    powers[:1] = 1
    return np.cumprod(powers, dtype=np.uint64)
