"""Streaming parser of search queries in a chat model's reply, line by line."""

import json
import re
from collections.abc import Iterator
from typing import Any

from core.text.sanitize import one_line

LINE_LIMIT = 200
"""The most characters of a line that is a query. A longer line is prose."""
_SAME = 0.8
"""The least Jaccard similarity of the words of two duplicate queries."""

_LINE_END = re.compile(r"[\n\r\x0b\x0c\x85\u2028\u2029]")
_THINKING = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_LEADS = re.compile(
    r"^(?:[-*+•▪◦–—>#]+\s+"
    r"|\(?\d{1,2}[.):\]](?:\s+|(?=[\"'“«*`]))"
    r"|\(?[a-z]\)\s+"
    r"|(?:\*\*)?(?:search\s+)?(?:query|search|q)\s*#?\d{0,2}(?:\*\*)?\s*[:.](?:\*\*)?\s*)+",
    re.IGNORECASE,
)
_BOLD = re.compile(r"(\*\*|__)(.{2,200}?)\1\s*(?:$|[-–—:(])")
_PAIRS = {
    '"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "„": "“", "「": "」", "`": "`", "*": "*", "_": "_",
}  # fmt: skip
_COMMENT = re.compile(
    r"(?:here(?:'s| is| are)\b|sure\b|certainly\b|of course\b|okay\b|ok[,.! ]|alright\b|absolutely\b|great[,!]"
    r"|these (?:are|queries|search)\b|let me\b|let's\b|i(?:'ll|'m|'ve| will| am| need| would| can| cannot| can't|"
    r" have| hope| should| want)\b|we need\b|the (?:user|question|queries)\b|sorry\b|unfortunately\b|as an ai\b"
    r"|note:|explanation\b|(?:search )?queries\b$)",
    re.IGNORECASE,
)
_JSON_KEY = re.compile(r"[\"'](\w{1,30})[\"']\s*:\s*")
# An unclosed text runs to the end, so that its escaped quotes are not tried as beginnings too.
_QUOTED = re.compile(r"(?s)\"(?P<text>[^\"\\]*(?:\\.[^\"\\]*)*)(?:(?P<closed>\")(?P<key>\s*:)?|\\?\Z)")
_WORD = re.compile(r"[^\W_]+")
_STOP_WORDS = frozenset([
    "a", "an", "the", "of", "in", "on", "at", "for", "to", "from", "by", "with", "and", "or", "is", "are",
    "was", "were", "be", "do", "does", "did", "how", "what", "which", "who", "when", "where", "why", "it",
    "its", "as", "der", "die", "das", "und", "le", "la", "les", "des", "el", "los", "de",
])  # fmt: skip
_NOT_QUERIES = frozenset([
    "explanation", "reason", "rationale", "reasoning", "purpose", "id", "type", "language", "intent", "notes",
])  # fmt: skip


class QueryReader:
    """Parser of at most `limit` distinct queries from a reply in pieces.

    The division into pieces has no effect. It reads a query per line, numbered, bulleted or quoted, JSON arrays and
    objects, and code fences. It ignores thinking in `<think>` tags, preambles and comments, near-duplicates, and lines
    longer than `line_limit` characters. No reply raises an error.
    """

    def __init__(self, limit: int, line_limit: int = LINE_LIMIT) -> None:
        self.limit, self.line_limit = limit, line_limit
        self.queries: list[str] = []
        self._pending = ""
        self._thinking = False
        self._seen = 0

    @property
    def done(self) -> bool:
        """Whether reading can stop: enough queries, or too much text."""
        return self._full or len(self._pending) > 100 * self.line_limit

    @property
    def _full(self) -> bool:
        return len(self.queries) >= self.limit or self._seen > 1000 + 2 * self.line_limit * self.limit

    def restart(self) -> None:
        """Forget everything that was read, because it was no part of the reply."""
        self.queries, self._pending, self._thinking, self._seen = [], "", False, 0

    def read(self, text: str) -> tuple[str, ...]:
        """Return the queries that this piece completes."""
        *lines, self._pending = _LINE_END.split(self._pending + text)
        return tuple(query for line in lines for query in self._line(line))

    def end(self) -> tuple[str, ...]:
        """Return the query on an unfinished last line."""
        line, self._pending = self._pending, ""
        return tuple(self._line(line))

    def _line(self, line: str) -> Iterator[str]:
        spoken = self._without_thinking(line)
        if self._full:
            return
        self._seen += len(spoken)
        for text in _candidates(one_line(spoken, 100 * self.line_limit)):
            query = _bare(text, self.line_limit)
            if not _is_query(query, self.line_limit) or any(_same(query, other) for other in self.queries):
                continue
            if len(self.queries) < self.limit:
                self.queries.append(query)
                yield query

    def _without_thinking(self, line: str) -> str:
        """Return the line without text in thinking tags, which may span many lines."""
        spoken = []
        position = 0
        for tag in _THINKING.finditer(line):
            if not self._thinking:
                spoken.append(line[position : tag.start()])
            self._thinking = not tag.group(1)
            position = tag.end()
        if not self._thinking:
            spoken.append(line[position:])
        return " ".join(spoken)


def _candidates(line: str) -> Iterator[str]:
    """Yield the possible queries of a line: the line, or the strings of its JSON."""
    if line.startswith("```") or line.startswith("~~~"):
        return
    body = line.rstrip(",; ")
    key = _JSON_KEY.match(body)
    if key and key.group(1).lower() not in _NOT_QUERIES:
        body = body[key.end() :]
    elif key:
        return
    if body[:1] in ("[", "{"):
        try:
            yield from _strings(json.loads(body))
        except (ValueError, RecursionError):
            yield from _quoted(body)
    else:
        yield body


def _quoted(body: str) -> Iterator[str]:
    """Yield the relevant quoted texts of incomplete JSON."""
    key = ""
    for match in _QUOTED.finditer(body):
        if match["key"]:
            key = match["text"].lower()
        elif match["closed"] and key not in _NOT_QUERIES:
            yield match["text"]


def _strings(value: Any) -> Iterator[str]:
    """Yield the strings in parsed JSON, except explanations and the like, in order."""
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _strings(item)
        case dict():
            for key, item in value.items():
                if key.lower() not in _NOT_QUERIES:
                    yield from _strings(item)


def _bare(text: str, line_limit: int) -> str:
    """Return the query without list marks, labels, emphasis and outer quotation marks."""
    text = _LEADS.sub("", one_line(text, 100 * line_limit), count=1)
    bold = _BOLD.match(text)
    if bold:
        text = bold.group(2)
    while len(text) > 1 and _PAIRS.get(text[0]) == text[-1] and text[0] not in text[1:-1]:
        text = text[1:-1].strip()
    if text.count('"') % 2:
        text = text.removeprefix('"').strip() if text.startswith('"') else text.removesuffix('"').strip()
    return text.strip(" ,;")


def _is_query(text: str, line_limit: int) -> bool:
    return bool(
        1 < len(text) <= line_limit
        and text[-1] not in ":："
        and _WORD.search(text)
        and not _COMMENT.match(text)
    )


def _same(first: str, other: str) -> bool:
    a, b = _words(first), _words(other)
    return len(a & b) >= _SAME * len(a | b)


def _words(query: str) -> frozenset[str]:
    """Return the words of a query for comparison.

    Case, plural and stop words are ignored. CJK text is split into characters.
    """
    folded_queries = set[str]()
    for word in _WORD.findall(query.casefold()):
        if ord(max(word)) >= 0x2E80:
            folded_queries.update(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        elif word not in _STOP_WORDS:
            folded_queries.add(
                word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
            )
    return frozenset(folded_queries) or frozenset({query.casefold()})
