"""A run without the texts of its pages, for people who may not pass the texts on."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson

from core.model import FILLING, AnswerKind
from core.run.codec import DERIVED, event_from_json, event_to_json, run_to_json, without_vectors
from core.run.importer import run_from_json
from core.run.recorded_run import RecordedRun

Json = dict[str, Any]
_EMPTIED: Json = {"hidden": "", "injection_signs": [], "sections": [], "structures": [], "metadata": {}}
"""Other fields of an article with words of a page."""


def filling(start: int, end: int) -> str:
    """Return the characters that replace `text[start:end]` of a page."""
    return ((FILLING * 7 + " ") * (2 + (end - start) // 8))[start % 8 :][: end - start]


def without_texts(recorded: RecordedRun) -> RecordedRun:
    """Return the run without the words of others. Filling characters keep the offsets of passages right.

    Dropped are texts of pages and passages, snippets, prompts, reasoning of models, results of an agent's tools,
    headings, earlier exchanges, whole messages of chat clients, vectors (texts can be guessed from them), and answers
    that a model did not write alone. Titles and addresses stay.
    """
    base = orjson.loads(run_to_json(recorded.base)) if recorded.base else None
    events = [orjson.loads(event_to_json(without_vectors(record.event))) for record in recorded.records]
    kinds = {
        value["kind"]
        for value in _objects([base, events])
        if isinstance(value.get("kind"), str) and isinstance(value.get("text"), str) and "complete" in value
    }
    answers_stay = bool(kinds) and AnswerKind.EXTRACTIVE not in kinds
    new_base = run_from_json(orjson.dumps(_emptied(base, answers_stay))) if base else None
    records = [
        replace(record, event=event_from_json(orjson.dumps(_emptied(event, answers_stay))))
        for record, event in zip(recorded.records, events, strict=True)
    ]
    labels = (replace(label, text=filling(label.place.start, label.place.end)) for label in recorded.labels)
    return RecordedRun.folded(records, new_base, labels)


def _emptied(value: Any, answers_stay: bool) -> Any:
    """Return a JSON value without the words of others."""
    match value:
        case list():
            return [_emptied(inner, answers_stay) for inner in value]
        case {"key": str(), "article": dict(article)}:
            text = filling(0, len(article["text"]))
            return {**value, "article": article | _EMPTIED | {"text": text, "text_left_out": True}}
        case {"text": str(), "place": {"start": int(start), "end": int(end)}}:
            return {**value, "text": filling(start, end)}
        case {"passage": {"place": {"start": int(start), "end": int(end)}} as passage}:
            before, after = len(value["before"]), len(value["after"])
            return {
                **value,
                "passage": _emptied(passage, answers_stay),
                "before": filling(start - before, start),
                "after": filling(end, end + after),
            }
        case dict():
            inner = {name: _emptied(part, answers_stay) for name, part in value.items()}
            return _without_words(inner, answers_stay)
        case _:
            return value


def _without_words(value: Json, answers_stay: bool) -> Json:
    """Return an object without the words it quotes. Its fields identify its kind."""
    match value:
        case {"snippet": str()}:
            return {**value, "snippet": ""}
        case {"event": "ModelThought"}:  # reasoning repeats what the model has read
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
        case {"kind": _, "complete": _} | {"event": "TokensWritten"} | {"timeline": _} if not answers_stay:
            return {**value, "text": filling(0, len(value["text"]))}
        case _:
            return value


def _objects(value: Any) -> Iterator[Json]:
    if isinstance(value, dict):
        yield value
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _objects(inner)
