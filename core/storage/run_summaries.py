"""Storage of summaries: the columns of `runs` that the history lists. No run is read for them."""

import functools
import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from core.config.knobs import Knobs
from core.errors import BadInput
from core.model import Usage
from core.run.events import ModelUsed
from core.run.run_summary import RunSummary
from core.run.state import Run, RunStatus
from core.text.sanitize import encodable

MOST_WORDS = 50
"""The most words that are searched for."""
TAG_LIMIT = 30
"""The longest tag, in characters."""
TITLE_LIMIT = 120
"""The longest title of a conversation, in characters."""

LIST = """SELECT id, question, started, status, seconds, knobs, pages, passages, sources,
    coalesce(conversation, id), coalesce(follows, ''),
    (SELECT count(*) FROM runs AS turn WHERE turn.conversation = runs.conversation),
    prompt_tokens, completion_tokens, cost, model_usage,
    coalesce((SELECT title FROM conversation_titles AS named WHERE named.conversation = coalesce(runs.conversation, id)),
        (SELECT question FROM runs AS first WHERE first.id = runs.conversation), question),
    (SELECT json_group_array(tag) FROM (SELECT tag FROM run_tags WHERE run = id ORDER BY folded_tag)),
    (SELECT process FROM run_processes WHERE run = id)
    FROM runs WHERE (?1 IS NULL OR id IN (SELECT run FROM run_users WHERE user = ?1))
    AND (?3 IS NULL OR id = ?3 OR conversation = ?3)
    AND (?4 IS NULL OR (started, id) < (?4, ?5))
    ORDER BY started DESC, id DESC LIMIT ?2"""
"""The latest runs of a user or conversation, or of all, before a start and an id.

The last column is the process of a live run, and `summary` takes the others.
"""

_MODEL_USAGE = TypeAdapter(tuple[ModelUsed, ...])


def write_summary(db: sqlite3.Connection, run: Run, *, insert: bool = False) -> bool:
    """Update the summary of a run, or insert it. Returns False if the run to update was deleted."""
    row = _row(run)
    if insert:
        columns = ", ".join(row)
        updates = ", ".join(f"{name} = excluded.{name}" for name in row if name != "id")
        db.execute(
            f"INSERT INTO runs ({columns}) VALUES ({', '.join('?' * len(row))}) "  # noqa: S608 - our own names
            f"ON CONFLICT (id) DO UPDATE SET {updates}",
            tuple(row.values()),
        )
        return True
    updates = ", ".join(f"{name} = :{name}" for name in row if name != "id")
    return bool(db.execute(f"UPDATE runs SET {updates} WHERE id = :id", row).rowcount)  # noqa: S608 - as above


def summary(row: Sequence[Any]) -> RunSummary:
    """Return the summary in a row of `LIST`, without its process."""
    run_id, question, started, status, seconds, knobs, pages, passages, sources, *rest, title, tags = row
    conversation, follows, turns, prompt_tokens, completion_tokens, cost, model_usage = rest
    usage = (
        None
        if prompt_tokens is None
        else Usage(prompt_tokens=prompt_tokens, completion_tokens=completion_tokens or 0, cost=cost)
    )
    return RunSummary(
        id=run_id,
        question=question,
        started=started,
        status=_status(status),
        seconds=seconds,
        knobs=_knobs(knobs),
        pages=pages,
        passages=passages,
        sources=sources,
        conversation=conversation,
        follows=follows,
        turns=max(turns, 1),
        usage=usage,
        model_usage=_model_usage(model_usage) if model_usage else (),
        tags=tuple(json.loads(tags)),
        title=title,
    )


def mentioning(db: sqlite3.Connection, words: str) -> frozenset[str]:
    """Return the ids of the ended runs that have all words in their question, answer or titles of sources."""
    sought = encodable(words).casefold().split()[:MOST_WORDS]
    conditions = " AND ".join(["instr(searched, ?)"] * len(sought)) or "searched IS NOT NULL"
    rows = db.execute(f"SELECT id FROM runs WHERE {conditions}", sought)  # noqa: S608 - no text of others
    return frozenset(run_id for (run_id,) in rows)


def _status(text: str) -> RunStatus:
    """Return the status in a row. An unknown word of another version means interrupted."""
    try:
        return RunStatus(text)
    except ValueError:
        return RunStatus.INTERRUPTED


def checked_tag(tag: str) -> str:
    """Return a tag on one line.

    Raises:
        BadInput: when it is empty or too long.
    """
    if tag := _one_line(tag, "tag", TAG_LIMIT):
        return tag
    raise BadInput("The tag is empty.", hint="Type one, such as “draft”.")


def checked_title(title: str) -> str:
    """Return the title of a conversation on one line, or "".

    Raises:
        BadInput: when it is too long.
    """
    return _one_line(title, "title", TITLE_LIMIT)


def _one_line(text: str, kind: str, limit: int) -> str:
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in encodable(text)).split())
    if len(line) > limit:
        raise BadInput(f"The {kind} has {len(line)} characters; the limit is {limit}.", hint="Shorten it.")
    return line


def set_title(db: sqlite3.Connection, conversation: str, title: str) -> None:
    """Name a conversation. With "" it is called by its first question again."""
    db.execute("DELETE FROM conversation_titles WHERE conversation = ?", (conversation,))
    if title:
        db.execute("INSERT INTO conversation_titles VALUES (?, ?)", (conversation, title))


def add_tag(db: sqlite3.Connection, run_id: str, tag: str) -> None:
    """Tag a run. An existing tag that differs only in case is kept."""
    db.execute(
        "INSERT OR IGNORE INTO run_tags (run, folded_tag, tag) SELECT id, ?, ? FROM runs WHERE id = ?",
        (tag.casefold(), tag, run_id),
    )


def remove_tag(db: sqlite3.Connection, run_id: str, tag: str) -> None:
    """Remove a tag from a run, ignoring case."""
    db.execute("DELETE FROM run_tags WHERE run = ? AND folded_tag = ?", (run_id, tag.casefold()))


def _row(run: Run) -> dict[str, str | int | float | None]:
    usage = run.usage
    return {
        "id": run.id,
        "question": encodable(run.question),
        "started": run.started,
        "status": run.status,
        "seconds": run.seconds,
        "knobs": _knobs_json(run.knobs),
        "pages": len(run.pages),
        "passages": len(run.index.passages if run.index else run.passages),
        "sources": len(run.sources),
        "conversation": run.conversation,
        "follows": run.turn.follows if run.turn else "",
        "prompt_tokens": usage.prompt_tokens if usage else None,
        "completion_tokens": usage.completion_tokens if usage else None,
        "cost": usage.cost if usage else None,
        "model_usage": _model_usage_json(run.model_usage),
        "searched": None if run.live else _searched(run),
    }


def _searched(run: Run) -> str:
    """Return the text in which the history searches: the question, the answer and the titles of the sources."""
    return encodable(
        "\n".join((run.question, run.text, *(source.title for source in run.sources)))
    ).casefold()


@functools.lru_cache(256)
def _knobs_json(knobs: Knobs) -> str:
    """Return knobs as JSON. Cached, since a summary is written at every event."""
    return json.dumps(knobs.to_json())


@functools.lru_cache(1024)
def _knobs(knobs_json: str) -> Knobs | None:
    """Return the knobs in a summary, or None.

    They are None if this version does not know them. Cached, since most runs share a few.
    """
    try:
        return Knobs.parse(json.loads(knobs_json))
    except (BadInput, ValueError, TypeError):
        return None


@functools.lru_cache(256)
def _model_usage_json(model_usage: tuple[ModelUsed, ...]) -> str:
    """Return usage as JSON. Cached, since a summary is written at every event."""
    return _MODEL_USAGE.dump_json(model_usage).decode()


@functools.lru_cache(1024)
def _model_usage(text: str) -> tuple[ModelUsed, ...]:
    """Return the usage in a summary. Empty if this version cannot read it. Cached, since the history is read often."""
    try:
        return _MODEL_USAGE.validate_json(text)
    except ValidationError:
        return ()
