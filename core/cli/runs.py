"""`openquery runs`: list, show, delete and quote the runs of the history."""

import argparse
import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import closing
from datetime import datetime
from typing import Any

from core.analysis.history import matching_runs, summary_usage
from core.cli.arguments import MOST_LISTED
from core.cli.ask import AnswerPrinter
from core.cli.ask_since import print_json
from core.cli.printing import print_json_line, print_note, print_text
from core.cli.progress_lines import PhaseLines
from core.cli.shared_arguments import settings_of
from core.config.egress import EgressPolicy
from core.config.prices import Prices
from core.config.settings import Settings
from core.errors import BadInput, StoreFailed
from core.followups import answer_again, require_pages
from core.model import readable
from core.run.codec import run_to_json
from core.run.run_summary import RunSummary
from core.run.state import Run
from core.runtime.engine import Engine
from core.storage.price_file import PriceFile
from core.storage.run_schema import RUNS
from core.storage.run_store import RunStore
from core.text.sanitize import one_line, pluralize

_FIELDS = (
    *("id", "question", "started", "status", "elsewhere", "seconds"),
    *("pages", "passages", "sources", "conversation", "follows"),
)
"""The fields of a summary in JSON, besides its usage and tags."""


def runs_in_terminal(options: argparse.Namespace) -> int | Coroutine[Any, Any, int]:
    """List, show, delete or quote runs of the history, and return the exit code.

    Raises:
        BadInput: when runs are missing, too many, or not in the history.
        StoreFailed: when the history cannot be read, or a deletion cannot be committed.
    """
    settings = settings_of(options)
    if options.action == "list" and options.ids:
        raise BadInput("A list needs no run.", hint="openquery runs show RUN shows one.")
    if options.action != "list" and not options.ids:
        raise BadInput(f"No run to {options.action}.", hint="Name it by its id, which openquery runs lists.")
    if options.limit < 1:
        raise BadInput(f"--limit is {options.limit}; it must be 1 or more.", hint="The default is 20.")
    if options.action == "quote":
        return _quote(options.ids, options.as_json, settings)
    with closing(RunStore(settings.folder / RUNS)) as store:
        if store.problem:
            raise StoreFailed(store.problem)
        if options.action == "list":
            _list(store, options, _prices(settings))
        elif options.action == "show":
            for run in _stored_runs(store, options.ids):
                _show(run, options.as_json, _prices(settings))
        else:
            _delete(store, options.ids)
    return 0


def _prices(settings: Settings) -> Prices:
    return PriceFile(settings.folder, EgressPolicy.from_settings(settings)).read()


def _stored_runs(store: RunStore, ids: Sequence[str]) -> list[Run]:
    runs = {run_id: store.load(run_id) for run_id in ids}
    if missing := [run_id for run_id, run in runs.items() if run is None]:
        raise BadInput(
            f"There is no run {', '.join(map(one_line, missing))} in the history.",
            hint="openquery runs lists those that there are.",
        )
    return [run for run in runs.values() if run]


def _list(store: RunStore, options: argparse.Namespace, prices: Prices) -> None:
    runs = matching_runs(store.history(MOST_LISTED), options.words, options.statuses, options.tags)
    for run in runs[: options.limit]:
        if options.as_json:
            print_json(_fields(run, prices))
        else:
            started = f"{datetime.fromisoformat(run.started):%Y-%m-%d %H:%M}" if run.started else ""
            tags = f"  #{' #'.join(run.tags)}" if run.tags else ""
            print_text(
                f"{one_line(run.id)}  {started:16}  {run.status:<11}  {one_line(run.question, 80)}{one_line(tags)}"
            )
    if not runs:
        print_note("No run matches." if store.history(1) else "No runs yet.")
    elif len(runs) > options.limit:
        print_note(f"{options.limit} of {pluralize(len(runs), 'run')}; --limit lists more.")


def _fields(run: RunSummary, prices: Prices) -> dict[str, object]:
    usage = summary_usage(run, prices)
    return {
        **{name: getattr(run, name) for name in _FIELDS},
        "tokens": usage.tokens.total_tokens if usage.tokens else None,
        "cost": usage.cost.dollars if usage.cost else None,
        "tags": list(run.tags),
    }


def _show(run: Run, as_json: bool, prices: Prices) -> None:
    if as_json:
        print_json_line(run_to_json(run))
        return
    print_text(f"{one_line(run.id)}  {run.status}\n{run.question}\n\n{readable(run.text)}", end="")
    AnswerPrinter(PhaseLines(1), prices, verbose=False, stream=True, closed=lambda: None).finish(run)


async def _quote(ids: Sequence[str], as_json: bool, settings: Settings) -> int:
    """Answer ended runs again with quotes from their sources, and show them."""
    code = 0
    with closing(RunStore(settings.folder / RUNS)) as store:
        runs = _stored_runs(store, ids)
        for run in runs:
            if run.live:
                raise BadInput(
                    f"Run {one_line(run.id)} is under way.", hint="Quote its sources when it has ended."
                )
            require_pages(run)
        async with Engine(settings) as engine:
            for run in runs:
                ports = await engine.ports(run.knobs, run=run)
                quoted = await answer_again(
                    run, ports, lambda record, state: store.append(state, record), quoted=True
                )
                _show(quoted, as_json, ports.prices)
                code = quoted.error.exit_code if quoted.error else code
        await asyncio.to_thread(store.flush)
    return code


def _delete(store: RunStore, ids: Sequence[str]) -> None:
    for run in _stored_runs(store, ids):
        if run.live:
            raise BadInput(
                f"Run {one_line(run.id)} is under way.", hint="Stop it, or delete it when it has ended."
            )
        store.delete(run.id)
        print_note(f"Deleted: {one_line(run.id)}  {one_line(run.question, 80)}")
