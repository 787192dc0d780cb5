"""Read SearXNG's JSON besides results: direct answers, infoboxes, corrections and suggestions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core.adapters.search.searxng_reply import SNIPPET_LIMIT, TITLE_LIMIT, address, line, listed, written
from core.model import Result

MOST_ANSWERS, MOST_ADDRESSES, MOST_CORRECTIONS, MOST_SUGGESTIONS = 3, 4, 3, 8
"""The maximum direct answers of a reply, addresses of an infobox, corrections and suggestions."""
_ANSWER_LIMIT, _QUERY_LIMIT = 500, 200


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectAnswers:
    """The part of a reply besides its results. `first` precedes the results, and `last` follows them."""

    first: tuple[Result, ...] = ()
    last: tuple[Result, ...] = ()
    answers: tuple[str, ...] = ()
    """Answers as text, including infoboxes without an address."""
    corrections: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()

    @classmethod
    def parse(cls, reply: Mapping[str, Any], query: str) -> DirectAnswers:
        """Read a reply of any version. Answers were texts before 2025 and are objects since then."""
        first: list[Result] = []
        last: list[Result] = []
        answers: list[str] = []
        for answer in listed(reply.get("answers")):
            row = answer if isinstance(answer, dict) else {"answer": answer}
            if text := line(_text(row), _ANSWER_LIMIT):
                answers.append(text)
                if url := address(row.get("url")):
                    first.append(_result(row, url, line(text, 100), text))
        for box in listed(reply.get("infoboxes")):
            if not isinstance(box, dict):
                continue
            addresses = list(dict.fromkeys(_addresses(box)))
            title, text = line(box.get("infobox"), TITLE_LIMIT), line(_box_text(box), SNIPPET_LIMIT)
            if not addresses and (title or text):
                answers.append(line(": ".join(filter(None, (title, text))), _ANSWER_LIMIT))
            results = [_result(box, url, title, text) for url in addresses[:MOST_ADDRESSES]]
            first += results[:1]
            last += results[1:]
        return cls(
            first=tuple(first),
            last=tuple(last),
            answers=tuple(dict.fromkeys(answers))[:MOST_ANSWERS],
            corrections=tuple(_queries(reply.get("corrections"), query))[:MOST_CORRECTIONS],
            suggestions=tuple(_queries(reply.get("suggestions"), query))[:MOST_SUGGESTIONS],
        )


def _text(answer: Mapping[str, Any]) -> str:
    """Return an answer's text: plain, translations or weather."""
    if text := written(answer.get("answer")):
        return text
    translations = [item.get("text") for item in listed(answer.get("translations")) if isinstance(item, dict)]
    if texts := [text for text in translations if isinstance(text, str)]:
        return "; ".join(texts)
    current = answer.get("current")
    summary = current.get("summary") if isinstance(current, dict) else None
    return next(
        (text for text in (summary, answer.get("content"), answer.get("title")) if isinstance(text, str)), ""
    )


def _box_text(box: Mapping[str, Any]) -> str:
    """Return an infobox's text, with its table as sentences."""
    pairs = [row for row in listed(box.get("attributes")) if isinstance(row, dict)]
    table = (
        f"{label}: {value}."
        for row in pairs
        if (label := written(row.get("label"))) and (value := written(row.get("value")))
    )
    return " ".join(filter(None, (box["content"] if isinstance(box.get("content"), str) else "", *table)))


def _addresses(box: Mapping[str, Any]) -> Iterator[str]:
    rows = [row.get("url") for row in listed(box.get("urls")) if isinstance(row, dict)]
    yield from filter(None, map(address, (box.get("id"), box.get("url"), *rows)))


def _queries(values: object, query: str) -> Iterator[str]:
    """Yield other queries, each once. Templates had objects with a title, JSON has texts."""
    seen = {query.casefold()}
    for value in listed(values):
        text = line(value.get("title") if isinstance(value, dict) else value, _QUERY_LIMIT)
        if text and text.casefold() not in seen:
            seen.add(text.casefold())
            yield text


def _result(row: Mapping[str, Any], url: str, title: str, text: str) -> Result:
    names = [line(name, 60) for name in listed(row.get("engines")) or [row.get("engine")]]
    return Result(url=url, title=title, snippet=text, rank=1, engines=tuple(name for name in names if name))
