"""`openquery ask`: progress on stderr, the streamed answer and its sources on stdout."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from core.analysis.answers.source_cards import (
    SNIPPET_ONLY,
    passages_of_documents,
    source_cards,
    source_context,
)
from core.analysis.progress import phase_progress
from core.analysis.run_activity import SilentModel, can_quote
from core.analysis.run_usage import RunUsage, run_usage
from core.cli.printing import print_json_line, print_note, print_status, print_text
from core.cli.progress_lines import PhaseLines, counts, detail, phase_times
from core.cli.silent_model import SilenceWatch
from core.config.knobs import Backend, Knobs, within_typed_sites
from core.config.prices import Cost, Prices
from core.config.run_knobs import Method
from core.config.settings import Settings
from core.errors import BadInput
from core.followups import research_plan
from core.model import (
    CAVEAT,
    AnswerKind,
    Notice,
    Phase,
    Severity,
    Source,
    Turn,
    snippet_numbers,
    source_numbers,
)
from core.model.passage_urls import passage_at_url
from core.pipeline import research, retrieve
from core.run import events as e
from core.run.codec import run_to_json
from core.run.reports.plan_events import PlanProposed, SectionLeftOut
from core.run.reports.sections import heading
from core.run.state import Run, RunStatus
from core.runtime.engine import Engine
from core.storage.run_schema import RUNS
from core.storage.run_store import RunStore
from core.text.markdown.citations import labelled_citations
from core.text.questions import checked_sub_questions
from core.text.sanitize import pluralize


class Output(StrEnum):
    """The form of `ask`'s output on stdout."""

    ANSWER = "answer"
    """The answer as it is written, then its sources."""
    CONTEXT = "context"
    """The sources alone, formatted by `source_context`, without an answer."""
    RUN = "run"
    """The whole run as JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions:
    """Options for asking a question and printing the result."""

    queries: Sequence[str] = ()
    """The search queries, in place of queries by the chat model."""
    verbose: bool = False
    """Print every step on stderr."""
    output: Output = Output.ANSWER
    approve: bool = False
    """Approve a plan of sub-questions without asking a person."""
    stored: bool = True
    """Store the run in the history."""


async def answer_in_terminal(question: str, knobs: Knobs, settings: Settings, options: AskOptions) -> int:
    """Answer a question in the terminal.

    Raises:
        BadInput: when a person must be asked, and there is no terminal.
        BrokenPipeError: when the reader of stdout or stderr has closed it. The run is then stopped.
    """
    with closing(RunStore(settings.folder / RUNS)) if options.stored else nullcontext() as store:
        async with Engine(settings) as engine:
            run, terminal = await ask_showing_progress(engine, store, question, knobs, options)
            print_outcome(engine, run, terminal, options.output)
        await print_stored(run, store)
    return run.error.exit_code if run.error else 0


async def print_stored(run: Run, store: RunStore | None) -> None:
    """Report on stderr whether the run is stored. Without a store nothing is printed."""
    if store is None:
        return
    await asyncio.to_thread(store.flush)
    if problem := store.unsaved(run.id):
        print_note(f"The run is not in the history. {problem}")
    else:
        if can_quote(run):
            print_note(f"Sentences of its sources answer instead: openquery runs quote {run.id}")
        print_note(f"The run is in the history: {run.id}")


def print_outcome(engine: Engine, run: Run, terminal: AnswerPrinter, output: Output) -> None:
    """Print the whole run as JSON, or the remaining lines below its answer."""
    if output is Output.RUN:
        print_json_line(run_to_json(run))
    else:
        terminal.finish(run, other_backends(engine, run))


async def ask_showing_progress(
    engine: Engine,
    store: RunStore | None,
    question: str,
    knobs: Knobs,
    options: AskOptions,
    *,
    turn: Turn | None = None,
    earlier: Run | None = None,
) -> tuple[Run, AnswerPrinter]:
    """Run a question, and return the run with the terminal that shows its progress.

    `store` receives the events of the run. `turn` and `earlier` are arguments of `research`. Raises the errors of
    `answer_in_terminal`.
    """
    output = options.output
    if knobs.run.method is Method.DEEP and output is not Output.CONTEXT and not options.approve:
        require_terminal()
    question, knobs = within_typed_sites(question, knobs)
    task = asyncio.current_task()
    ports = await engine.ports(knobs, run=earlier)
    steps = PhaseLines(
        min(knobs.embed.batch, ports.embed.batch),
        last_step="" if output is Output.CONTEXT else "Generating answer...",
    )
    terminal = AnswerPrinter(
        steps,
        ports.prices,
        verbose=options.verbose,
        stream=output is Output.ANSWER,
        closed=lambda: task and task.cancel(),
    )

    watch = SilenceWatch(terminal.show_silence)
    ports = replace(ports, quote=watch.quote)

    def listen(record: e.Record, run: Run) -> None:
        if store:
            store.append(run, record)
        watch.listen(record, run)
        terminal.show(record, run)

    watching = asyncio.ensure_future(watch.watch())
    work = retrieve if output is Output.CONTEXT else partial(research, turn=turn, earlier=earlier)
    try:
        run = await work(question, knobs, ports, listen, queries=options.queries)
        if run.plan:
            terminal.print_troubles(run)
            if sub_questions := approved(run.plan, ask=not options.approve):
                run = await research_plan(run, sub_questions, ports, listen)
        return run, terminal
    except asyncio.CancelledError:
        if terminal.pipe_error:
            raise terminal.pipe_error from None
        raise
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


def other_backends(engine: Engine, run: Run) -> tuple[Backend, ...]:
    """Return the search backends to try after a failure."""
    return engine.searches.alternative_backends(run) if run.error and run.error.part == "search" else ()


class AnswerPrinter:
    """Prints events: the answer on stdout, everything else on stderr.

    With `verbose` every step is a line. Without it, progress is one line that is rewritten, if stderr is a terminal.
    `closed` is called when stdout or stderr is a pipe without a reader. `pipe_error` is then the error, and nothing
    more is printed.
    """

    def __init__(
        self, steps: PhaseLines, prices: Prices, *, verbose: bool, stream: bool, closed: Callable[[], object]
    ) -> None:
        self._steps = steps
        self._prices = prices
        self._verbose = verbose
        self._stream = stream
        self._closed = closed
        self._compact = not verbose and sys.stderr.isatty()
        self._phase = ""
        self._silent = self._begun = self._was_written = False
        self._printed_notices: set[Notice] = set()
        self.pipe_error: BrokenPipeError | None = None

    def show(self, record: e.Record, run: Run) -> None:
        """Print the lines of an event. `run` is the state after it."""
        if self.pipe_error:
            return
        try:
            self._show(record, run)
        except BrokenPipeError as error:
            self.pipe_error = error
            self._closed()

    def _show(self, record: e.Record, run: Run) -> None:
        event = record.event
        if self._stream and event == e.PhaseStarted(Phase.ANSWER) and self._begun and not run.text:
            print_text()  # below a part of an earlier answer
        self._was_written, self._begun = self._begun, bool(run.text)
        if isinstance(event, e.TokensWritten):
            self._clear_progress()
            if self._stream:
                snippets = snippet_numbers(run.sources)
                shown = (
                    labelled_citations(event.text, source_numbers(run.sources), snippets)
                    if snippets
                    else event.text
                )
                print_text(shown, end="")
            return
        if self._stream and isinstance(event, e.ModelThought) and event.takes_back and self._was_written:
            print_text()
            self._print("What stands above was the model's reasoning. The answer follows.")
        if self._stream and event == e.PhaseStarted(Phase.ANSWER) and run.part:
            self._clear_progress()
            print_text(f"\n\n{heading(run.part)}", end="")
        elif self._stream and isinstance(event, SectionLeftOut):
            self._clear_progress()
            print_text(f"\n\n{run.sections[event.number - 1].markdown}")
        self._phase = (step := self._steps.line(event, run)) or self._phase
        is_doubt = isinstance(event, e.Note) and event.message.startswith(CAVEAT)  # printed above the answer
        if event == e.PhaseStarted(Phase.ANSWER) or is_doubt:
            self._print_notices(run)
        elif self._verbose:
            if line := detail(event):
                self._print(f"{record.at:6.2f} s  {line}")
            if step:
                self._print(step)
        if self._compact and not run.text:
            print_status(f"{self._phase} {counts(run)}".lstrip())

    def show_silence(self, silent: SilentModel | None, reads_enter: bool) -> None:
        """Print that a chat model is silent, once or as the rewritten line. None ends the silence."""
        if self.pipe_error:
            return
        try:
            self._show_silence(silent, reads_enter)
        except BrokenPipeError as error:
            self.pipe_error = error
            self._closed()

    def _show_silence(self, silent: SilentModel | None, reads_enter: bool) -> None:
        was_silent, self._silent = self._silent, silent is not None
        if silent is None:
            return
        choice = " Press Enter to quote the sources instead." if reads_enter else ""
        line = f"{silent.text}.{choice}"
        if self._compact and not self._begun:
            print_status(line)
        elif not was_silent:
            if self._begun:
                print_note("")  # below the part of the answer so far
            self._print(line)

    def finish(self, run: Run, backends: Sequence[Backend] = ()) -> None:
        """Print the end of the run and its sources, below the answer or as context.

        `backends` are alternatives for a failed search.
        """
        self._clear_progress()
        if run.text:
            print_text()
        elif not self._stream and (text := source_context(run)):
            print_text(text)
        self.print_troubles(run, backends)
        if run.sources and run.answer and run.answer.kind is not AnswerKind.NOT_FOUND:
            print_text("\nSources")
            for source in run.sources:
                mark = "*" if source.number in run.check.cited else " "
                about = f" ({SNIPPET_ONLY})" if source.snippet_only else ""
                print_text(f"{mark}[{source.number}] {source.title}{about}\n     {_where(source)}")
        self.print_figures(run)

    def print_troubles(self, run: Run, backends: Sequence[Backend] = ()) -> None:
        """Print the notices and the error of the run. `backends` are alternatives for a failed search."""
        self._clear_progress()
        self._print_notices(run)
        if run.error:
            partial = " The part written before is above." if run.text else ""
            print_note(f"openquery: {run.error}{partial}")
        if backends:
            flags = " or ".join(f"--search {backend}" for backend in backends)
            print_note(f"Another search backend may find something: {flags}.")

    def print_figures(self, run: Run) -> None:
        """Print the duration of the run, and its pages, tokens and cost."""
        if self._verbose:
            self._print(phase_times(phase_progress(run, run.seconds)))
        if run.status is RunStatus.DONE:
            self._print(_summary(run, run_usage(run.model_usage, self._prices)))

    def _print_notices(self, run: Run) -> None:
        """Print the notices that were not printed before."""
        for notice in run.notices:
            if notice not in self._printed_notices:
                self._printed_notices.add(notice)
                self._print(str(notice) if notice.severity is Severity.WARNING else f"note: {notice}")

    def _print(self, line: str) -> None:
        self._clear_progress()
        print_note(line)

    def _clear_progress(self) -> None:
        if self._compact:
            print_status()


def _summary(run: Run, usage: RunUsage) -> str:
    authors = {AnswerKind.WRITTEN: "written by {}", AnswerKind.EXTRACTIVE: "extractive: quoted sentences"}
    answer = run.answer
    by = (
        authors.get(answer.kind, "nothing relevant found").format(answer.model)
        if answer
        else passages_of_documents(source_cards(run))
    )
    tokens = (
        f" · {used.prompt_tokens}+{pluralize(used.completion_tokens, 'token')}"
        if (used := usage.tokens)
        else ""
    )
    cost = f" · cost {usage.cost_text}" if usage.cost_text else ""
    pages = f"{run.full_pages:,} of {pluralize(len(run.hits), 'page')} read"
    return f"{run.seconds:.1f} s · searched by {run.backend} · {pages} · {by}{tokens}{cost}"


def _where(source: Source) -> str:
    """Return the address to open, or the collection and file of a passage."""
    collection_and_id = passage_at_url(source.url)
    return f"{source.site} in the collection {collection_and_id[0]}" if collection_and_id else source.url


def require_terminal() -> None:
    """Raise `BadInput` without a terminal for approval."""
    if not sys.stdin.isatty():
        raise BadInput(
            "A plan has to be approved, and there is no terminal to ask on.",
            hint="Approve it in advance with --yes.",
        )


def approved(plan: PlanProposed, *, ask: bool) -> tuple[str, ...]:
    """Print a plan, and return the approved sub-questions.

    Without `ask` all are approved. Without approval the result is empty.
    """
    estimate, count = plan.estimate, len(plan.sub_questions)
    for number, text in enumerate(plan.sub_questions, 1):
        print_note(f"{number:3}. {text}")
    cost = f", {Cost(count * estimate.dollars, estimated=True)}" if estimate.dollars else ""
    print_note(
        f"By an estimate {pluralize(count * estimate.tokens, 'token')}{cost}, {count * estimate.seconds:.0f} s."
    )
    while ask:
        print_note("Research these sub-questions? [y]es, [n]o, [e]dit:")
        match sys.stdin.readline().strip().casefold()[:1]:
            case "y":
                break
            case "e":
                print_note("Type the sub-questions, one a line, and then an empty line:")
                try:
                    return checked_sub_questions([*iter(lambda: sys.stdin.readline().strip(), "")])
                except BadInput as error:
                    print_note(str(error))
            case _:
                print_note("The plan was not approved, so nothing was searched.")
                return ()
    return plan.sub_questions
