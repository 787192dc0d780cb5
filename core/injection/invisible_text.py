"""Find invisible characters that may carry words.

They are tag characters, variation selectors, runs of zero width and bidirectional overrides.
"""

import re
from collections.abc import Iterator

from core.injection.rule_matching import QUOTE_LENGTH
from core.injection.text_folding import UNSEEN
from core.model import InjectionKind, InjectionSign
from core.text.sanitize import one_line, pluralize

_TAGS = re.compile("\U0001f3f4?[\U000e0020-\U000e007f]{4,}")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{8,}")
_ZERO_WIDTH = re.compile("[\u200b-\u200d\u2060-\u2064\ufeff]{16,}")
_OVERRIDE = re.compile("[\u202d\u202e]")


def invisible_words(text: str) -> str:
    """Return the runs of invisible characters that carry words. They are tag characters and variation selectors.

    Flags such as 🏴󠁧󠁢󠁳󠁣󠁴󠁿 use tag characters honestly and are skipped.
    """
    return "\n".join(text[start:end] for start, end, _ in _invisible_runs(text))


def spell_out_invisible(text: str) -> str:
    """Replace invisible characters by the words they carry."""
    for start, end, word in reversed(_invisible_runs(text)):
        text = f"{text[:start]}{word}{text[end:]}"
    return text


def find_invisible(text: str) -> Iterator[InjectionSign]:
    """Yield signs of invisible characters and bidirectional overrides. Only the first override counts."""
    if text.isascii() or not UNSEEN.search("".join(set(text))):
        return
    for start, end, word in _invisible_runs(text):
        quote = one_line(word, QUOTE_LENGTH) or f"{pluralize(end - start, 'invisible character')} in a row"
        yield InjectionSign(kind=InjectionKind.INVISIBLE, start=start, end=end, quote=quote, strong=True)
    if turned := _OVERRIDE.search(text):
        yield InjectionSign(
            kind=InjectionKind.INVISIBLE,
            start=turned.start(),
            end=turned.end(),
            quote="a character that turns the order of letters around",
            strong=False,
        )


def _invisible_runs(text: str) -> list[tuple[int, int, str]]:
    """Return invisible runs with their decoded words, in order."""
    return sorted((*_tag_runs(text), *_selector_runs(text), *_zero_width_runs(text)))


def _tag_runs(text: str) -> Iterator[tuple[int, int, str]]:
    for run in _TAGS.finditer(text):
        word = "".join(chr(ord(c) - 0xE0000) for c in run[0] if 0xE0020 <= ord(c) <= 0xE007E)
        if not (run[0].startswith("\U0001f3f4") and len(word) <= 6):
            yield *run.span(), word


def _selector_runs(text: str) -> Iterator[tuple[int, int, str]]:
    for run in _SELECTORS.finditer(text):
        values = (ord(c) - 0xFE00 if ord(c) < 0xFFFF else ord(c) - 0xE0100 + 16 for c in run[0])
        yield *run.span(), readable(bytes(values))


def _zero_width_runs(text: str) -> Iterator[tuple[int, int, str]]:
    for run in _ZERO_WIDTH.finditer(text):
        yield *run.span(), ""


def readable(data: bytes) -> str:
    """Return bytes as ASCII text, or "" for other data."""
    text = data.decode("ascii", errors="ignore")
    letters = sum(c.isalpha() or c.isspace() for c in text)
    return text if len(text) >= 10 and len(text) >= 0.95 * len(data) and letters >= 0.7 * len(text) else ""
