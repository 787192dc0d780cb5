"""Events and runs as earlier versions wrote them, in today's names.

Version 1 is everything written before events, rankings and library passages got their present names.
"""

from __future__ import annotations

from typing import Any

_EVENTS = {
    "Noted": "Note",
    "Wrote": "TokensWritten",
    "SearchBroke": "QueryFailed",
    "EmbedBroke": "BatchFailed",
}


def upgrade_event(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a stored event with its name, in today's names. One of today comes back as it is."""
    name = fields.get("event", "")
    match _EVENTS.get(name, name):
        case "RunStarted" | "RunResumed":
            return {**fields, "knobs": _upgrade_knobs(fields.get("knobs"))}
        case "PageRead":
            return {**fields, "page": _upgrade_page(fields.get("page"))}
        case "Ranked" if "evidence" in fields:
            return _renamed(fields, "evidence", "ranking")
        case current if current != name:
            return {**fields, "event": current}
        case _:
            return fields


def upgrade_run(document: dict[str, Any]) -> dict[str, Any]:
    """An exported run of version 1 in today's names. What does not have its form is left for its reader to refuse."""
    document = _renamed(document, "evidence", "ranking")
    if "knobs" in document:
        document["knobs"] = _upgrade_knobs(document["knobs"])
    if isinstance(document.get("pages"), list):
        document["pages"] = [_upgrade_page(page) for page in document["pages"]]
    return document


def _upgrade_knobs(knobs: Any) -> Any:
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
    """`fields` with one key under another name, in its place."""
    return {new if key == old else key: value for key, value in fields.items()}
