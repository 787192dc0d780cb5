"""Parse SearXNG's JSON: results, direct answers, infoboxes, corrections, suggestions, an instance's configuration.

Malformed parts are left out.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape
from typing import Any
from urllib.parse import urlsplit, urlunparse

from cachetools import LRUCache, TTLCache

from core.config.knobs import SearchKnobs
from core.errors import SearchFailed
from core.model import Result
from core.text.http_headers import header_date
from core.text.lenient_json import lenient_json
from core.text.sanitize import one_line

MOST_ANSWERS, MOST_ADDRESSES, MOST_CORRECTIONS, MOST_SUGGESTIONS = 3, 4, 3, 8
"""The maximum direct answers of a reply, addresses of an infobox, corrections and suggestions."""
_NESTED = 3
"""How deep markup is looked for."""
_YEAR_1973, _MILLISECONDS, _YEAR_5000 = 1e8, 2e10, 1e14
"""Numbers that are times since the epoch: in seconds, from the second on in milliseconds."""
_ANSWER_LIMIT, _QUERY_LIMIT = 500, 200
TITLE_LIMIT, SNIPPET_LIMIT, URL_LIMIT = 300, 2_000, 4_000
"""Maximum characters. Longer titles and snippets are cut, and rows with longer addresses dropped."""


def read_json(body: bytes) -> Any:
    """Parse JSON, also as a text in JSON. Anything else gives None."""
    try:
        value = lenient_json(body)
        return lenient_json(value.encode(errors="replace")) if isinstance(value, str) else value
    except ValueError:
        return None


def results(reply: Mapping[str, Any]) -> tuple[Result, ...]:
    """Return the rows with a web address, ranked from 1. The order is unchanged.

    Rows may be a list, an object of rows or of lists of rows, or a single row.
    """
    sent = reply.get("results")
    groups = [sent] if isinstance(sent, dict) and "url" in sent else listed(sent)
    rows = [row for group in groups for row in (group if isinstance(group, list) else [group])]
    addressed = [
        (url, row)
        for row in rows
        if isinstance(row, dict) and (url := address(row.get("url")) or _joined(row.get("parsed_url")))
    ]
    return tuple(_result(row, url, rank) for rank, (url, row) in enumerate(addressed, 1))


def unresponsive_engines(reply: Mapping[str, Any]) -> dict[str, str]:
    """Return the unresponsive engines with their reasons.

    An entry is a name, a list that begins with name and reason, or an object with them.
    """
    entries = reply.get("unresponsive_engines")
    rows = entries.items() if isinstance(entries, dict) else listed(entries)
    reasons = dict[str, str]()
    for row in rows:
        values = list(
            row.values() if isinstance(row, dict) else row if isinstance(row, list | tuple) else [row]
        )
        name, reason = (
            line(value, limit) for value, limit in zip([*values, "", ""], (60, 200), strict=False)
        )
        if name:
            reasons[name] = reason
    return reasons


def listed(value: object) -> list[Any]:
    """Return a list unchanged, an object's values, and a text alone. Anything else gives an empty list."""
    if isinstance(value, str):
        return [value]
    return value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []


def written(value: object) -> str:
    """Return a text or number as text, and a list of them joined by blanks. Anything else gives ""."""
    if isinstance(value, list):
        return " ".join(filter(None, map(written, value)))
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


_HIGHLIGHT = re.compile(
    r"<(b|em|i|mark|strong|span|u|small)(?:\s[^<>]{0,200})?>(.*?)</\1>", re.IGNORECASE | re.DOTALL
)
# Tags about which a text may be have blanks around them: "the <p> and </p> tags".
_ELEMENT = re.compile(r"<(p|div|li|a|h[1-6])(?:\s[^<>]{0,600})?>(?=\S)([^<]*)(?<=\S)</\1>", re.IGNORECASE)
_BREAK = re.compile(r"(?:(?<=\S)<br\s?/?>|<br\s?/?>(?=\S))|<img\s[^<>]{0,600}>", re.IGNORECASE)


def line(value: object, limit: int) -> str:
    """Shorten text to one line of `limit` characters, without markup. Anything else gives ""."""
    if not isinstance(value, str):
        return ""
    text = value[: 4 * limit]
    plain = _BREAK.sub(" ", _HIGHLIGHT.sub(r"\2", text))
    for _ in range(_NESTED):
        plain = _ELEMENT.sub(_content, plain)
    return one_line(unescape(plain) if plain != text else text, limit)


def _content(element: re.Match[str]) -> str:
    return element[2] if element[1].lower() == "a" else f" {element[2]} "


def _published(row: Mapping[str, Any]) -> str | None:
    """Return the day of publication, as ISO 8601 where the form is known: a date, a header's date, or a time in seconds."""
    for value in (row.get("publishedDate"), row.get("pubdate")):
        if isinstance(value, int | float) and not isinstance(value, bool) and _YEAR_1973 < value < _YEAR_5000:
            seconds = value / (1000 if value > _MILLISECONDS else 1)
            return datetime.fromtimestamp(seconds, UTC).isoformat()
        if text := line(value, 40):
            date = header_date(text)
            return text if date is None else datetime.fromtimestamp(date, UTC).isoformat()
    return None


def _result(row: Mapping[str, Any], url: str, rank: int) -> Result:
    names = listed(row.get("engines")) or [row.get("engine")]
    engines = [line(name, 60) for name in names]
    return Result(
        url=url,
        title=line(written(row.get("title")), TITLE_LIMIT),
        snippet=line(written(row.get("content")), SNIPPET_LIMIT),
        rank=rank,
        engines=tuple(name for name in engines if name),
        published=_published(row),
    )


_WITHOUT_SCHEME = re.compile(r"//(?=[^/])|(?=[^\W_][\w.-]{0,250}\.[^\W\d_]{2,63}(?::\d{1,5})?(?:[/?#]|$))")


def address(url: object) -> str:
    """Return a web page's address of limited length, with its scheme. Anything else gives ""."""
    if not isinstance(url, str) or len(url) > URL_LIMIT:
        return ""
    url = url.strip()
    if bare := _WITHOUT_SCHEME.match(url):
        url = f"https://{url[bare.end() :]}"
    try:
        url.encode()  # half of a surrogate pair is in no address
        parts = urlsplit(url)
    except ValueError:
        return ""
    return url if parts.scheme in {"http", "https"} and parts.hostname else ""


def _joined(parsed: object) -> str:
    """Return the address whose six parts SearXNG sends besides it, or alone."""
    parts = listed(parsed)
    return address(urlunparse(parts)) if len(parts) == 6 and all(isinstance(p, str) for p in parts) else ""


INSTANCES = 64
"""The maximum number of stored instances."""

KEPT_SECONDS = 600.0
"""Seconds for which they are stored, so that an added engine is soon known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceConfig:
    """An instance's configuration. `engines` has all names, and `enabled` counts those used by default."""

    version: str
    engines: frozenset[str]
    enabled: int
    categories: frozenset[str]
    limiter: bool
    """Whether the instance limits the requests of each address."""

    @classmethod
    def parse(cls, body: bytes) -> InstanceConfig | None:
        """Parse a `/config` reply. Anything else gives None."""
        config = read_json(body)
        if not isinstance(config, dict):
            return None
        engines = [row for row in listed(config.get("engines")) if isinstance(row, dict)]
        limiter = config.get("limiter")
        return cls(
            version=line(config.get("version"), 40),
            engines=frozenset(name for row in engines if isinstance(name := row.get("name"), str)),
            enabled=sum(bool(row.get("enabled")) for row in engines),
            categories=frozenset(name for name in listed(config.get("categories")) if isinstance(name, str)),
            limiter=isinstance(limiter, dict) and bool(limiter.get("enabled")),
        )

    def unknown_engines(self, knobs: SearchKnobs) -> tuple[str, ...]:
        """Return the requested engines and categories that the instance lacks."""
        requested = ((knobs.engines, self.engines), (knobs.categories, self.categories))
        return tuple(
            name for names, offered in requested if offered for name in _named(names) if name not in offered
        )


class Instances:
    """The configuration of each instance by address, and its latest search failure."""

    def __init__(self) -> None:
        self._known: TTLCache[str, InstanceConfig | None] = TTLCache(INSTANCES, KEPT_SECONDS)
        self._asking: LRUCache[str, asyncio.Lock] = LRUCache(INSTANCES)
        self.failures: TTLCache[str, SearchFailed] = TTLCache(INSTANCES, KEPT_SECONDS)
        """The latest search failures by address. Successes and old failures are not stored."""

    async def get(
        self, url: str, ask: Callable[[], Awaitable[InstanceConfig | None]]
    ) -> InstanceConfig | None:
        """Return the configuration, or None if the instance sends none. It is requested once in ten minutes."""
        async with self._asking.setdefault(url, asyncio.Lock()):
            if url not in self._known:
                self._known[url] = await ask()
            return self._known.get(url)


def _named(names: str) -> list[str]:
    return [name for part in names.split(",") if (name := part.strip())]


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
                    first.append(_as_result(row, url, line(text, 100), text))
        for box in listed(reply.get("infoboxes")):
            if not isinstance(box, dict):
                continue
            addresses = list(dict.fromkeys(_addresses(box)))
            title, text = line(box.get("infobox"), TITLE_LIMIT), line(_box_text(box), SNIPPET_LIMIT)
            if not addresses and (title or text):
                answers.append(line(": ".join(filter(None, (title, text))), _ANSWER_LIMIT))
            results = [_as_result(box, url, title, text) for url in addresses[:MOST_ADDRESSES]]
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
    known_queries = {query.casefold()}
    for value in listed(values):
        text = line(value.get("title") if isinstance(value, dict) else value, _QUERY_LIMIT)
        if text and text.casefold() not in known_queries:
            known_queries.add(text.casefold())
            yield text


def _as_result(row: Mapping[str, Any], url: str, title: str, text: str) -> Result:
    names = [line(name, 60) for name in listed(row.get("engines")) or [row.get("engine")]]
    return Result(url=url, title=title, snippet=text, rank=1, engines=tuple(name for name in names if name))
