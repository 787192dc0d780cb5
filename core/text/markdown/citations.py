"""Citation marks in the text of an answer."""

import re
from collections.abc import Container, Iterator

from core.model import Citation

_NUMBER = r"\^?\d{1,6}"
# No text is read by these in two ways: a long row that ends in no mark would be tried in every one of them.
_SOURCE = r"[Ss](?:ources?|OURCES?)(?:[ \t]?:[ \t]?|[ \t]{0,2})#?"
_NEXT = rf"(?:[ \t]?[,;&–—-]|[ \t]?,[ \t]?and|[ \t]{{0,2}}and)[ \t]?(?:{_SOURCE})?{_NUMBER}"
# A title may have brackets of its own, escaped or one level deep.
_TITLE = r"(?:[^\[\]\\\n]|\\[^\n]|\[[^\[\]\n]{0,100}\]){0,400}"
_ASIDE = r"(?:[^()\n]|\([^()\n]{0,100}\)){0,400}"
_TARGET = r"\((?:[^()\s]|\([^()\s]{0,300}\)){0,2000}(?:[ \t]+\"[^\"\n]{0,300}\")?[ \t]*\)"
# Marks in words are looked for together with the places where a bracketed number is no citation: code, link
# definitions, links and images, tags, addresses. What begins first is what it is.
_ELSEWHERE = re.compile(
    r"(?:^[ \t]*(?P<fence>`{3,}|~{3,}).*?(?:^[ \t]*(?P=fence)|\Z))"
    r"|(?:(?<!`)(?P<ticks>`+)(?!`).{1,2000}?(?<!`)(?P=ticks)(?!`))"
    r"|(?:^[ \t]{0,3}\[[^\[\]\n]{1,300}\]:[^\n]*)"
    rf"|(?:(?<![\\!])\[\s?{_SOURCE}(?P<square>{_NUMBER}(?:{_NEXT}){{0,50}})\s?(?::{_TITLE})?\](?:{_TARGET})?)"
    rf"|(?:(?<!\\)\({_SOURCE}(?P<round>{_NUMBER}(?:{_NEXT}){{0,50}})(?::{_ASIDE})?\))"
    rf"|(?:!?\[[^\[\]\n]{{0,300}}\]{_TARGET})"
    r"|(?:<[A-Za-z/][^<>\n]{0,500}>)"
    r"|(?:(?:https?|ftp)://(?:[^\s<>\[\]【】]|\[[^\s\[\]]{0,100}\](?=(?:\[\d{0,6}\]){0,4}[\w=/&%?#:]))+)",
    re.MULTILINE | re.DOTALL,
)
_MARK = re.compile(
    rf"(?<!\\)\[\s?(?P<square>{_NUMBER}(?:\s?(?:[,;&–—-]|and)\s?{_NUMBER}){{0,50}})\s?\]"
    rf"|【\s?(?:{_SOURCE})?(?P<lens>{_NUMBER}(?:\s?[,;、，–-]\s?{_NUMBER}){{0,50}})[^】\n]{{0,40}}】"
)
_PART = re.compile(r"(?P<first>\d+)(?:\s?[–—-]\s?\^?(?P<last>\d+))?")
_LONGEST_RANGE = 50


def find_citations(text: str, numbers: Container[int]) -> Iterator[Citation]:
    """The citation marks of `text`, in order; `numbers` are those that sources have.

    `[3]`, `[1, 2]`, `[1][2]`, `[1-3]`, `[^1]` and `【1】` are marks, and so are `[Source 2]`, `[Source 2: Title]`,
    `[Source 2: Title](address)`, `(Source 2)` and `[Sources 1, 3]`. A number in code, in an address or in
    another Markdown link is none. Every number of a mark is one citation, and the citations of one mark share
    its offsets. Numbers that no source has, years among them, are citations that are not `known`.
    """

    def cited(inside: str, mark: re.Match[str]) -> Iterator[Citation]:
        for number in _numbers(inside):
            yield Citation(number=number, start=mark.start(), end=mark.end(), known=number in numbers)

    start = 0
    for match in (*_ELSEWHERE.finditer(text), None):
        end = match.start() if match else len(text)
        for mark in _MARK.finditer(text, start, end):
            yield from cited(mark["square"] or mark["lens"], mark)
        if match:
            yield from cited(_numbers_in_words(match), match)
        start = match.end() if match else end


def without_citations(text: str) -> str:
    """`text` without its citation marks, and without the blanks before each."""
    pieces: list[str] = []
    reached = 0
    for mark in find_citations(text, ()):
        if mark.start >= reached:  # several citations of one mark share its offsets
            pieces.append(text[reached : mark.start].rstrip(" "))
            reached = mark.end
    return "".join((*pieces, text[reached:]))


def short_marks(text: str) -> str:
    """`text` with `[2]` for each mark in words, such as `[Source 2: Title](address)`."""

    def short(match: re.Match[str]) -> str:
        numbers = ", ".join(map(str, _numbers(_numbers_in_words(match))))
        return f"[{numbers}]" if numbers else match[0]

    return _ELSEWHERE.sub(short, text)


def _numbers_in_words(match: re.Match[str]) -> str:
    """The numbers of a mark in words; empty for what is no mark."""
    return match["square"] or match["round"] or ""


def _numbers(inside: str) -> Iterator[int]:
    """The numbers between the brackets, ranges filled in; none when one is written with leading zeros."""
    parts = list(_PART.finditer(inside))
    if any(len(digits) > 1 and int(digits[0]) == 0 for digits in re.findall(r"\d+", inside)):
        return
    yielded: set[int] = set()
    for part in parts:
        first, last = int(part["first"]), int(part["last"] or part["first"])
        whole = range(first, last + 1) if 0 <= last - first < _LONGEST_RANGE else (first, last)
        yield from (number for number in whole if number not in yielded)
        yielded.update(whole)
