"""A run with other texts in its pages and passages: none, as it leaves, or those that were fetched again."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import orjson
from pydantic import TypeAdapter

from core.export.left_out.digests import filling, text_digests
from core.model import AnswerKind, TextDigests
from core.run.codec import DERIVED, event_from_json, event_to_json, run_to_json, without_vectors
from core.run.importer import run_from_json
from core.run.recorded_run import RecordedRun

Json = dict[str, Any]
_DIGESTS = TypeAdapter(TextDigests)
_EMPTIED: Json = {"hidden": "", "injection_signs": [], "sections": [], "structures": [], "metadata": {}}
"""What else of an article others wrote, beside its text."""


def without_texts(recorded: RecordedRun) -> RecordedRun:
    """The run without what others wrote: each text of a page, and of a passage in it, is as many filling characters, and
    the page has digests of both.

    Nor has it snippets, prompts, reasoning of models, results of an agent's tools, headings, earlier exchanges, whole
    messages of chat clients, vectors (texts can be guessed
    from them), or answers that are not all a model's own. Titles and addresses stay.
    """
    base, events = _documents(recorded, vectors=False)
    places: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
    kinds = set[str]()
    for value in _objects([base, events]):
        match value:
            case {"text": str(), "place": {"page": str(page), "start": int(start), "end": int(end)}}:
                places[page].add((start, end))
            case {"kind": str(kind), "text": str(), "complete": _}:
                kinds.add(kind)
    answers_stay = bool(kinds) and AnswerKind.EXTRACTIVE not in kinds

    def digested(key: str, article: Json) -> Json:
        text, digests = article["text"], article.get("digests")
        if digests is None or digests["whole"]:
            within = sorted(place for place in places[key] if place[1] <= len(text))
            digests = _DIGESTS.dump_python(text_digests(text, within), mode="json")
        else:
            known = ("start", "end", "sha256", "fingerprint")
            passages = [{name: passage[name] for name in known} for passage in digests["passages"]]
            digests = {"sha256": digests["sha256"], "passages": passages}
        return article | _EMPTIED | {"text": filling(0, len(text)), "digests": digests}

    def emptied(value: Json) -> Json:
        match value:
            case {"snippet": str()}:
                return {**value, "snippet": ""}
            case {"event": "ModelThought"}:  # thoughts repeat what their model has read
                return {**value, "text": ""}
            case {"purpose": str(), "reasoning": str(), "written_from": _}:
                return {**value, "reasoning": ""}
            case {"event": "Prompted"}:
                return {**value, "messages": []}
            case {"result": str(), "boundary": str()}:
                return {**value, "result": ""}
            case {"question": str(), "answer": str(), "origins": _}:
                return {**value, "answer": ""}
            case {"instructions": str(), "message": str(), "task": _}:
                return {**value, "message": "", "reply": None}
            case {"prompt": list(), "timeline": _}:
                value = {name: inner for name, inner in value.items() if name != DERIVED} | {"prompt": []}
        match value:
            case {"cites": _, "text": str()} if not answers_stay:
                return {**value, "text": ""}
            case {"kind": _, "complete": _} | {"event": "TokensWritten"} | {"timeline": _} if (
                not answers_stay
            ):
                return {**value, "text": filling(0, len(value["text"]))}
            case _:
                return value

    rewritten = _rewritten(recorded, _Rewriter(digested, emptied), base, events)
    labels = (replace(label, text=filling(label.place.start, label.place.end)) for label in recorded.labels)
    return replace(rewritten, labels=tuple(labels))


def with_articles(recorded: RecordedRun, article_of: Callable[[str, Json], Json]) -> RecordedRun:
    """The run with the articles, as JSON, that `article_of` gives for the key of a page and the article that it has; the
    texts of passages and around sources follow."""
    return _rewritten(recorded, _Rewriter(article_of), *_documents(recorded, vectors=True))


class _Rewriter:
    """Replaces articles in JSON, and the texts that are cut from them. Pages come before what is cut from them."""

    def __init__(
        self, article_of: Callable[[str, Json], Json], change: Callable[[Json], Json] = lambda value: value
    ) -> None:
        self._article_of, self._change = article_of, change
        self._texts: dict[str, str] = {}

    def __call__(self, value: Any) -> Any:
        match value:
            case {"key": str(key), "article": dict(article)}:
                article = self._article_of(key, article)
                self._texts[key] = article["text"]
                return self._change({**value, "article": article})
            case {"text": str(), "place": {"page": str(page), "start": int(start), "end": int(end)}}:
                return {**value, "text": self._cut(page, start, end)}
            case {"passage": {"place": {"page": str(page), "start": int(start), "end": int(end)}} as passage}:
                before, after = len(value["before"]), len(value["after"])
                return {
                    **value,
                    "passage": self(passage),
                    "before": self._cut(page, start - before, start),
                    "after": self._cut(page, end, end + after),
                }
            case dict():
                return self._change({name: self(inner) for name, inner in value.items()})
            case list():
                return [self(inner) for inner in value]
            case _:
                return value

    def _cut(self, page: str, start: int, end: int) -> str:
        """A stretch of the page's text; filling where the page has become shorter since."""
        text = self._texts.get(page, "")
        return text[start:end] if end <= len(text) else filling(start, end)


def _documents(recorded: RecordedRun, *, vectors: bool) -> tuple[Json | None, list[Json]]:
    """The base and the events of a run as JSON, with or without its vectors."""
    base = orjson.loads(run_to_json(recorded.base, vectors=vectors)) if recorded.base else None
    events = (record.event if vectors else without_vectors(record.event) for record in recorded.records)
    return base, [orjson.loads(event_to_json(event)) for event in events]


def _objects(value: Any) -> Iterator[Json]:
    """Every object in a JSON value."""
    if isinstance(value, dict):
        yield value
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _objects(inner)


def _rewritten(
    recorded: RecordedRun, rewriter: _Rewriter, base: Json | None, events: list[Json]
) -> RecordedRun:
    new_base = run_from_json(orjson.dumps(rewriter(base))) if base else None
    records = [
        replace(record, event=event_from_json(orjson.dumps(rewriter(event))))
        for record, event in zip(recorded.records, events, strict=True)
    ]
    return RecordedRun.folded(records, new_base, recorded.labels)
