"""`openquery ask --since RUN`: ask a stored run's question again, and print the changes."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

import orjson

from core.analysis.change_document import change_document, change_lines
from core.analysis.run_changes import RunChanges, run_changes
from core.cli.ask import AskOptions, Output, ask_showing_progress, other_backends, print_stored
from core.cli.printing import print_json_line, print_text
from core.cli.run_files import run_of_file
from core.config.knobs import Knobs
from core.config.settings import Settings
from core.errors import BadInput
from core.run.repeat import repeat
from core.run.state import Run
from core.runtime.engine import Engine
from core.stages.rank import require_texts
from core.storage.run_schema import RUNS
from core.storage.run_store import RunStore
from core.text.sanitize import json_without_surrogates


async def ask_since_in_terminal(
    reference: str, question: str, override: Callable[[Knobs], Knobs], settings: Settings, options: AskOptions
) -> int:
    """Ask the question of a run again, print the changes, and return the exit code.

    The new run is stored.

    Args:
        reference: the id of a run in the history, or the path of an exported run.
        question: another question, or "" for the run's question.
        override: a function from the run's knobs to the knobs to use.
        settings: the history's folder, and the connections.
        options: without queries, the queries of the run are repeated. The output `RUN` is `change_document`.

    Raises:
        BadInput: for an unknown run.
        BrokenPipeError: when the reader of stdout or stderr has closed it.
    """
    with closing(RunStore(settings.folder / RUNS)) as store:
        before = stored_run(reference, store)
        require_texts(before.passages, before.pages)
        again = repeat(before, question, override(before.knobs))
        asking = replace(options, queries=options.queries or again.queries, output=Output.RUN)
        kept_in = store if options.stored else None
        async with Engine(settings) as engine:
            run, terminal = await ask_showing_progress(engine, kept_in, again.question, again.knobs, asking)
            others = other_backends(engine, run)
        terminal.print_troubles(run, others)
        if not run.error:
            _print_changes(run_changes(before, run), options.output)
            if options.output is not Output.RUN:
                terminal.print_figures(run)
        await print_stored(run, kept_in)
    return run.error.exit_code if run.error else 0


def _print_changes(changes: RunChanges, output: Output) -> None:
    if output is Output.RUN:
        print_json(change_document(changes))
    else:
        print_text("\n".join([*change_lines(changes)] or ["Nothing changed."]))


def stored_run(reference: str, store: RunStore) -> Run:
    """Return the run of an id in the history, or of a file.

    Raises:
        BadInput: for a live or unknown run.
        StoreFailed: when the history cannot be read.
        OSError: when the file cannot be read.
    """
    run = store.load(reference) or run_of_file(reference).run
    if run.live:
        raise BadInput("This run is still under way.", hint="Ask again when it has ended.")
    return run


def print_json(value: object) -> None:
    """Print a JSON value on one line of stdout."""
    print_json_line(orjson.dumps(json_without_surrogates(value)))
