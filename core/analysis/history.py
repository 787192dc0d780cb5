"""The history as a list: filters of runs, their days, and their changed settings."""

from collections.abc import Collection, Iterable
from datetime import date, datetime, timedelta

from core.analysis.run_usage import RunUsage, run_usage
from core.config.knob_changes import changes
from core.config.knobs import Knobs
from core.config.prices import Prices
from core.model import ModelUsage, Phase
from core.run.events import ModelUsed
from core.run.run_summary import RunSummary
from core.run.state import RunStatus
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import has_words, one_line, pluralize

_UNFINISHED = {
    RunStatus.QUEUED: "queued",
    RunStatus.RUNNING: "running",
    RunStatus.PLANNED: "its plan waits for approval",
    RunStatus.STOPPED: "stopped",
    RunStatus.FAILED: "failed",
    RunStatus.INTERRUPTED: "interrupted",
}


def matching_runs(
    runs: Iterable[RunSummary],
    words: str = "",
    statuses: Collection[str] = (),
    tags: Collection[str] = (),
    mentioned: Collection[str] = (),
) -> tuple[RunSummary, ...]:
    """Return the runs whose question or title contains every word, and those `mentioned` by id.

    A run needs one of the statuses and one of the tags. Empty means any.
    """
    return tuple(
        run
        for run in runs
        if (run.id in mentioned or has_words(run.question, words) or has_words(run.title, words))
        and (not statuses or run.status in statuses)
        and (not tags or not set(tags).isdisjoint(run.tags))
    )


def all_tags(runs: Iterable[RunSummary]) -> tuple[str, ...]:
    """Return every tag of the runs, sorted."""
    return tuple(sorted({tag for run in runs for tag in run.tags}, key=str.casefold))


def common_tags(runs: Collection[RunSummary]) -> tuple[str, ...]:
    """Return the tags of all the runs, sorted."""
    return tuple(tag for tag in all_tags(runs) if all(tag in run.tags for run in runs))


def changed_settings(run: RunSummary, defaults: Knobs) -> tuple[str, ...]:
    """Return the settings of a run that differ from the defaults, such as `top_k 3`."""
    if run.knobs is None:
        return ()
    return tuple(
        change.partition(".")[2].replace(":", " ", 1).strip() for change in changes(defaults, run.knobs)
    )


def summary_usage(run: RunSummary, prices: Prices) -> RunUsage:
    """Return a run's use of models.

    A run that an earlier version stored has a single row, of an unknown model.
    """
    unnamed = ModelUsed(Phase.ANSWER, ModelUsage(model="", tokens=run.usage)) if run.usage else None
    return run_usage(run.model_usage or filter(None, (unnamed,)), prices)


def are_comparable(runs: Collection[RunSummary]) -> bool:
    """Return whether these are two ended runs with passages."""
    return len(runs) == 2 and all(run.passages and run.status not in ("queued", "running") for run in runs)


def day_of(started: datetime | None, today: date) -> str:
    """Return the heading under which the history lists a run.

    It is the day for today and yesterday, else the month, with the year if it is another.
    """
    if started is None:
        return "Not started"
    day = started.date()
    if day >= today - timedelta(days=1):
        return "Yesterday" if day < today else "Today"
    return f"{day:%B}" if day.year == today.year else f"{day:%B %Y}"


def time_of(started: datetime | None, today: date) -> str:
    """Return the time of a run below its heading: the hour, or the day of an older run."""
    if started is None:
        return ""
    return f"{started:%H:%M}" if started.date() >= today - timedelta(days=1) else f"{started:%-d %b}"


def remarkable(run: RunSummary, words: str = "") -> str:
    """Return a short remark about a run in the history, or "".

    If the run was found by `words` outside of its title, the remark says where they are.
    """
    if not has_words(run.title, words):
        where = "a later question" if has_words(run.question, words) else "its answer or sources"
        return f"found in {where}"
    if run.status in _UNFINISHED:
        return _UNFINISHED[run.status] + (" elsewhere" if run.elsewhere else "")
    if run.tags:
        return ", ".join(run.tags)
    return pluralize(run.turns, "question") if run.turns > 1 else ""


def highlighted(text: str, words: str, limit: int) -> str:
    """Return a title as a Markdown label, with the words that were searched for highlighted."""
    sought = words.casefold().split()
    parts = (
        (markdown_label(part, limit), any(word in part.casefold() for word in sought))
        for part in one_line(text, limit).split()
    )
    return " ".join(f":orange-background[{text}]" if found else text for text, found in parts)
