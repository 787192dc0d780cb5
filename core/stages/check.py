"""Resolve the citation marks of an answer against the source numbers that exist."""

from __future__ import annotations

import re

from core.model import Check, Citation, Sentence
from core.text.citations import find_citations
from core.text.sentences import sentences

_NOT_PROSE = re.compile(r"\s*(?:#{1,6}\s|```|~~~)|[\W_]*$")


def check(text: str, known: int) -> Check:
    """The citations and sentences of `text`, whose sources are numbered from 1 to `known`.

    Marks are those of `find_citations`. Marks after a full stop count for the sentence before them;
    headings and code are no sentences.
    """
    citations = tuple(find_citations(text, known))
    cited = tuple(dict.fromkeys(mark.number for mark in citations if mark.known))
    return Check(citations=citations, sentences=_sentences(text, citations), cited=cited)


def _sentences(text: str, citations: tuple[Citation, ...]) -> tuple[Sentence, ...]:
    """Sentences with what they cite. A span of nothing but marks belongs to the sentence before it."""
    found: list[Sentence] = []
    at = 0
    for start, end in sentences(_with_plain_marks(text, citations)):
        cites: list[int] = []
        bare: list[str] = []
        reached = start
        while at < len(citations) and citations[at].start < end:
            mark = citations[at]
            if mark.start >= start:
                cites += [mark.number] if mark.known else []
                bare.append(text[reached : mark.start])
                reached = mark.end
            at += 1
        if not _NOT_PROSE.match("".join((*bare, text[reached:end]))):
            found.append(Sentence(start=start, end=end, cites=tuple(dict.fromkeys(cites))))
        elif cites and found:
            last = found.pop()
            found.append(
                Sentence(start=last.start, end=end, cites=tuple(dict.fromkeys((*last.cites, *cites))))
            )
    return tuple(found)


def _with_plain_marks(text: str, citations: tuple[Citation, ...]) -> str:
    """`text` with `[1][1]…`, as long as the mark, for each mark: the title in a mark may have stops of its own."""
    pieces: list[str] = []
    reached = 0
    for start, end in dict.fromkeys((mark.start, mark.end) for mark in citations):
        whole, rest = divmod(end - start, 3)
        pieces += (text[reached:start], "[1]" * (whole - 1), f"[{'1' * (1 + rest)}]")
        reached = end
    return "".join((*pieces, text[reached:]))
