"""Replies of a reading worker as frames, safe against hostile input. Each has numbers in the head, texts in
the body.

The head is a row of 32-bit numbers: the kind of reply, the number of texts, the bytes of each, and then the
numbers of the kind. The body is the texts in sequence in UTF-8, or a PNG. So the cost of reading a reply is a
small multiple of its length, whatever its content. Formats with nesting or pickles would guarantee less.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from core.model import Article, InjectionKind, InjectionSign, SkipReason, StructureKind
from core.reading.absence import Absence
from core.reading.article_limits import (
    MAX_KEPT,
    MAX_PAGES,
    MAX_SECTIONS,
    MAX_STRUCTURES,
    SHORT_TEXTS,
    within_limits,
)
from core.reading.normalization import MAX_CHARACTERS
from core.sandbox import Confinement
from core.sandbox.frames import Frame

HEAD_LIMIT = 4 * (MAX_PAGES + 2 * MAX_SECTIONS + 3 * MAX_STRUCTURES + 2 * MAX_KEPT + 1_000)
BODY_LIMIT = 8 * MAX_CHARACTERS
"""Bytes of the body.

Text has up to four bytes a character, and includes the headings. A picture of the largest page has fewer
pixels.
"""
_PNG = b"\x89PNG\r\n\x1a\n"
_TEXTS = ("text", "hidden", *SHORT_TEXTS)
_KINDS, _REASONS, _STRUCTURES = tuple(InjectionKind), tuple(SkipReason), tuple(StructureKind)
_ABSENCES = tuple(Absence)
_MICROSECOND = 1e-6


class _Kind(IntEnum):
    READY = 0
    VERDICT = 1
    ARTICLE = 2
    PICTURE = 3
    ABSENCE = 4


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a document cannot be read. `retire` means that its worker should not be used again."""

    reason: SkipReason
    detail: str
    retire: bool = False


Reply = Confinement | Verdict | Article | Absence | bytes
"""A worker's message.

The first is its confinement. Then each document gives a verdict, an article, the reason for a missing text,
or a page as a PNG.
"""


def encode_reply(reply: Reply) -> Frame:
    """The frame of a reply. Texts of an article are valid UTF-8, as `within_limits` leaves them."""
    match reply:
        case bytes():
            return _packed(_Kind.PICTURE, (), ())[0], reply
        case Confinement():
            return _packed(_Kind.READY, [len(reply.in_force)], [*reply.in_force, *reply.missing])
        case Verdict():
            return _packed(
                _Kind.VERDICT, [_REASONS.index(reply.reason), int(reply.retire)], [reply.detail[:1_000]]
            )
        case Absence():
            return _packed(_Kind.ABSENCE, [_ABSENCES.index(reply)], ())
        case Article():
            starts = [start for start, _ in reply.sections]
            signs = [
                number
                for sign in reply.injection_signs
                for number in (_KINDS.index(sign.kind), sign.start, sign.end, sign.hidden + 2 * sign.strong)
            ]
            structures = [
                number
                for start, end, kind in reply.structures
                for number in (start, end, _STRUCTURES.index(kind))
            ]
            counts = len(reply.page_starts), len(starts), len(reply.structures), len(reply.kept), reply.parts
            kept = [offset for span in reply.kept for offset in span]
            numbers = (*counts, int(reply.seconds / _MICROSECOND) % 2**32)
            headings = (heading for _, heading in reply.sections)
            quotes = (sign.quote for sign in reply.injection_signs)
            return _packed(
                _Kind.ARTICLE,
                [*numbers, *reply.page_starts, *starts, *structures, *kept, *signs],
                [*(getattr(reply, name) for name in _TEXTS), *headings, *quotes],
            )


def read_reply(head: bytes, body: bytes) -> Reply:
    """Parse the reply in a frame.

    Raises:
        ValueError: when no worker sends such a reply, or an article is beyond the limits.
    """
    try:
        kind, count, *numbers = struct.unpack(f">{len(head) // 4}I", head)
        lengths, numbers = numbers[:count], numbers[count:]
        if kind == _Kind.PICTURE and not numbers and body.startswith(_PNG):
            return body
        texts = list(_texts(lengths, body))
        match _Kind(kind):
            case _Kind.READY:
                return Confinement(tuple(texts[: numbers[0]]), tuple(texts[numbers[0] :]))
            case _Kind.VERDICT:
                (detail,), (reason, retire) = texts, numbers
                return Verdict(_REASONS[reason], detail, bool(retire))
            case _Kind.ABSENCE:
                return Absence(_ABSENCES[numbers[0]])
            case _Kind.ARTICLE:
                return _article(texts, numbers)
    except (struct.error, IndexError) as error:
        raise ValueError("a reply with too few parts") from error
    raise ValueError("no picture")


def _packed(kind: _Kind, numbers: Sequence[int], texts: Iterable[str]) -> Frame:
    encoded = [text.encode("utf-8", "replace") for text in texts]
    row = (kind, len(encoded), *map(len, encoded), *numbers)
    return struct.pack(f">{len(row)}I", *row), b"".join(encoded)


def _texts(lengths: Sequence[int], body: bytes) -> Iterable[str]:
    if sum(lengths) != len(body) or max(lengths, default=0) > 4 * MAX_CHARACTERS:
        raise ValueError("texts of another length than they are said to have, or than one may have")
    start = 0
    for length in lengths:
        yield body[start : start + length].decode()
        start += length


def _article(texts: list[str], numbers: Sequence[int]) -> Article:
    pages, sections, structures, kept, parts, microseconds, *offsets = numbers
    before_kept = pages + sections + 3 * structures
    before_signs = before_kept + 2 * kept
    structured, signs = offsets[pages + sections : before_kept], offsets[before_signs:]
    headings, quotes = texts[len(_TEXTS) : len(_TEXTS) + sections], texts[len(_TEXTS) + sections :]
    if len(headings) != sections or len(offsets) != before_signs + 4 * len(quotes):
        raise ValueError("an article of other parts than it is said to have")
    article = Article(
        **dict(zip(_TEXTS, texts, strict=False)),  # type: ignore[arg-type]
        parts=parts,
        page_starts=tuple(offsets[:pages]),
        sections=tuple(zip(offsets[pages : pages + sections], headings, strict=True)),
        structures=tuple(
            (start, end, _STRUCTURES[kind]) for start, end, kind in zip(*[iter(structured)] * 3, strict=True)
        ),
        kept=tuple(zip(*[iter(offsets[before_kept:before_signs])] * 2, strict=True)),
        injection_signs=tuple(
            InjectionSign(
                kind=_KINDS[kind],
                start=start,
                end=end,
                quote=quote,
                hidden=bool(marks & 1),
                strong=bool(marks & 2),
            )
            for (kind, start, end, marks), quote in zip(
                zip(*[iter(signs)] * 4, strict=True), quotes, strict=True
            )
        ),
        seconds=microseconds * _MICROSECOND,
    )
    if within_limits(article) != article or not article.structures_in_order:
        raise ValueError("an article beyond its limits")
    return article
