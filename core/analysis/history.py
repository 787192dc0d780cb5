"""The history as a list: filters of runs, and their changed settings."""

from collections.abc import Collection, Iterable

from core.analysis.run_usage import RunUsage, run_usage
from core.config.knob_changes import changes
from core.config.knobs import Knobs
from core.config.prices import Prices
from core.model import ModelUsage, Phase
from core.run.events import ModelUsed
from core.storage.run_summaries import RunSummary
from core.text.sanitize import has_words


def matching_runs(
    runs: Iterable[RunSummary], words: str = "", statuses: Collection[str] = (), tags: Collection[str] = ()
) -> tuple[RunSummary, ...]:
    """Return the runs whose question contains every word.

    A run needs one of the statuses and one of the tags. Empty means any.
    """
    return tuple(
        run
        for run in runs
        if has_words(run.question, words)
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
