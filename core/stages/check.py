"""Resolve the citation marks of an answer against the source numbers that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.model import Check, Citation, Sentence
from core.text.sentences import sentences

# Places where a bracketed number is no citation: code, links and images, link definitions, addresses, tags.
_ELSEWHERE = re.compile(
    r"(?:^[ \t]*(?P<fence>`{3,}|~{3,}).*?(?:^[ \t]*(?P=fence)|\Z))"
    r"|(?:(?<!`)(?P<ticks>`++).{1,2000}?(?<!`)(?P=ticks)(?!`))"
    r"|(?:^[ \t]{0,3}\[[^\[\]\n]{1,300}\]:[^\n]*)"
    r"|(?:!?\[[^\[\]\n]{0,300}\]\((?:[^()\s]|\([^()\s]{0,300}\)){0,2000}(?:[ \t]+\"[^\"\n]{0,300}\")?[ \t]*\))"
    r"|(?:<[A-Za-z/][^<>\n]{0,500}>)"
    r"|(?:(?:https?|ftp)://(?:[^\s<>\[\]【】]|\[[^\s\[\]]{0,100}\](?=(?:\[\d{0,6}\]){0,4}[\w=/&%?#:]))+)",
    re.MULTILINE | re.DOTALL,
)
_NUMBER = r"\^?\d{1,6}"
_MARK = re.compile(
    rf"(?<!\\)\[\s?(?P<square>{_NUMBER}(?:\s?(?:[,;&–—-]|and)\s?{_NUMBER}){{0,50}})\s?\]"
    rf"|【\s?(?P<lens>{_NUMBER}(?:\s?[,;、，–-]\s?{_NUMBER}){{0,50}})[^】\n]{{0,40}}】"
)
_PART = re.compile(r"(?P<first>\d+)(?:\s?[–—-]\s?\^?(?P<last>\d+))?")
_LONGEST_RANGE = 50
_NOT_PROSE = re.compile(r"\s*(?:#{1,6}\s|```|~~~)|[\W_]*$")


def check(text: str, known: int) -> Check:
    """The citations and sentences of `text`, whose sources are numbered from 1 to `known`.

    `[3]`, `[1, 2]`, `[1][2]`, `[1-3]`, `[^1]` and `【1】` are marks; a number in code, in an address or in
    a Markdown link is none. Every number of a mark is one citation, and the citations of one mark share
    its offsets. Numbers that no source has, years among them, are citations that are not `known`. Marks
    after a full stop count for the sentence before them; headings and code are no sentences.
    """
    citations = tuple(_citations(text, known))
    cited = tuple(dict.fromkeys(mark.number for mark in citations if mark.known))
    return Check(citations=citations, sentences=_sentences(text, citations), cited=cited)


def _citations(text: str, known: int) -> Iterator[Citation]:
    start = 0
    for found in (*_ELSEWHERE.finditer(text), None):
        end = found.start() if found else len(text)
        for mark in _MARK.finditer(text, start, end):
            for number in _numbers(mark["square"] or mark["lens"]):
                yield Citation(number=number, start=mark.start(), end=mark.end(), known=1 <= number <= known)
        start = found.end() if found else end


def _numbers(inside: str) -> Iterator[int]:
    """The numbers between the brackets, ranges filled in; none when one is written with leading zeros."""
    parts = list(_PART.finditer(inside))
    if any(len(digits) > 1 and int(digits[0]) == 0 for digits in re.findall(r"\d+", inside)):
        return
    seen: set[int] = set()
    for part in parts:
        first, last = int(part["first"]), int(part["last"] or part["first"])
        whole = range(first, last + 1) if 0 <= last - first < _LONGEST_RANGE else (first, last)
        yield from (number for number in whole if number not in seen)
        seen.update(whole)


def _sentences(text: str, citations: tuple[Citation, ...]) -> tuple[Sentence, ...]:
    """Sentences with what they cite. A span of nothing but marks belongs to the sentence before it."""
    found: list[Sentence] = []
    at = 0
    for start, end in sentences(text):
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
