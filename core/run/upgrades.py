"""Upgrades of stored events, exported runs and saved knobs to the current names.

Version 1 is everything written before events, rankings and library passages got their present names. Until
version 2 only answers held tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from core.model import CitationCheck, ModelUsage, Phase
from core.run import events as e
from core.text.markdown.cited_sentences import read_claims

_EVENTS = {
    "Noted": "Note",
    "Wrote": "TokensWritten",
    "SearchBroke": "QueryFailed",
    "EmbedBroke": "BatchFailed",
}


def upgrade_event(fields: dict[str, Any]) -> dict[str, Any]:
    """A stored event's fields, with its name under `event`, in current names; current events are unchanged."""
    name = fields.get("event", "")
    match _EVENTS.get(name, name):
        case "RunStarted" | "RunResumed":
            return {**fields, "knobs": upgrade_knobs(fields.get("knobs"))}
        case "PageRead":
            return {**fields, "page": _upgrade_page(fields.get("page"))}
        case "Ranked" if "evidence" in fields:
            return _renamed(fields, "evidence", "ranking")
        case current if current != name:
            return {**fields, "event": current}
        case _:
            return fields


def with_model_usage(records: Iterable[e.Record]) -> Iterator[e.Record]:
    """The records, with the tokens of an answer reported before it where an earlier version did not."""
    reported = False
    for record in records:
        match record.event:
            case e.Prompted():
                reported = False
            case e.ModelUsed(phase=Phase.ANSWER):
                reported = True
            case e.Answered(answer=answer) if answer.usage and not reported:
                spent = ModelUsage(model=answer.model, usage=answer.usage)
                yield e.Record(record.at, e.ModelUsed(Phase.ANSWER, spent))
            case _:
                pass
        yield record


def with_claims(check: CitationCheck, text: str) -> CitationCheck:
    """The check of an answer with this text; its sentences are read again where they were stored without words."""
    if all(sentence.text for sentence in check.sentences):
        return check
    return replace(check, sentences=read_claims(text, check.citations))


def upgrade_run(document: dict[str, Any]) -> dict[str, Any]:
    """An exported run of version 1 in current names. Malformed parts are left for the importer to refuse."""
    document = _renamed(_renamed(document, "evidence", "ranking"), "versions", "earlier_answers")
    if "knobs" in document:
        document["knobs"] = upgrade_knobs(document["knobs"])
    if isinstance(document.get("pages"), list):
        document["pages"] = [_upgrade_page(page) for page in document["pages"]]
    return document


def upgrade_model_usage(document: dict[str, Any]) -> dict[str, Any]:
    """An exported run of version 1 or 2, with the tokens of its answers as those of the run."""
    earlier = document.get("earlier_answers")
    answers = (
        [one.get("answer") for one in earlier if isinstance(one, dict)] if isinstance(earlier, list) else []
    )
    told = [
        {"phase": "answer", "spent": {"model": answer.get("model", ""), "usage": answer["usage"]}}
        for answer in (*answers, document.get("answer"))
        if isinstance(answer, dict) and answer.get("usage")
    ]
    return {**document, "model_usage": told}


def upgrade_knobs(knobs: Any) -> Any:
    """Saved knobs as JSON values by group, in current names. Malformed ones are left for the reader to refuse."""
    match knobs:
        case {"search": {"excerpts": _}}:
            return {**knobs, "search": _renamed(knobs["search"], "excerpts", "passages")}
        case _:
            return knobs


def _upgrade_page(page: Any) -> Any:
    match page:
        case {"article": {"suspicions": [{"excerpt": _}, *_] as signs}}:
            article = {
                **page["article"],
                "suspicions": [
                    _renamed(sign, "excerpt", "quote") if isinstance(sign, dict) else sign for sign in signs
                ],
            }
            return {**page, "article": article}
        case _:
            return page


def _renamed(fields: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """`fields` with one key renamed, in the same place."""
    return {new if key == old else key: value for key, value in fields.items()}
