"""`openquery ask --follow RUN` and `openquery chat`: stored follow-up questions in the terminal."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Callable, Iterator

from core.analysis.conversation import understood
from core.cli.ask import AskOptions, ask_showing_progress, print_outcome, print_stored
from core.cli.ask_since import stored_run
from core.cli.printing import print_note
from core.config.knobs import Knobs
from core.config.settings import Settings
from core.errors import OpenQueryError
from core.model import AnswerFrom
from core.run.state import Run
from core.runtime.engine import Engine
from core.runtime.event_loop import new_loop
from core.stages.conversation.follow_up import draft_follow_up
from core.storage.run_schema import RUNS
from core.storage.run_store import RunStore


class TerminalConversation:
    """A conversation in the terminal.

    Prints how each question was understood and its answer, and stores the runs.
    """

    def __init__(self, settings: Settings, options: AskOptions, answer_from: AnswerFrom | None) -> None:
        self.store = RunStore(settings.folder / RUNS)
        self.engine = Engine(settings)
        self._options, self._answer_from = options, answer_from

    async def ask(self, written: str, knobs: Knobs, earlier: Run | None) -> Run:
        """Ask a question, as a follow-up of `earlier` if given, and return its run.

        Raises:
            BadInput: when the question is empty or too long.
            BrokenPipeError: when the reader of stdout or stderr has closed it.
        """
        question, turn = written, None
        if earlier:
            ports = await self.engine.ports(knobs, run=earlier)
            draft = await draft_follow_up(
                written, earlier, self.store.load, ports, lambda _: None, knobs=knobs
            )
            draft = draft.changed(answer_from=self._answer_from, queries=self._options.queries)
            question, turn = draft.question, draft.turn
            print_note(understood(question, turn))
        store = self.store if self._options.stored else None
        run, terminal = await ask_showing_progress(
            self.engine, store, question, knobs, self._options, turn=turn, earlier=earlier
        )
        print_outcome(self.engine, run, terminal, self._options.output)
        return run

    async def print_stored(self, run: Run) -> None:
        """Report on stderr whether the run is stored."""
        await print_stored(run, self.store if self._options.stored else None)

    async def aclose(self) -> None:
        """Close the connections, the workers and the history."""
        await self.engine.aclose()
        self.store.close()


async def follow_in_terminal(
    reference: str,
    question: str,
    override: Callable[[Knobs], Knobs],
    settings: Settings,
    options: AskOptions,
    *,
    answer_from: AnswerFrom | None,
) -> int:
    """Answer a follow-up of a stored run in the terminal, and return the exit code.

    `ask_since_in_terminal` explains the arguments. Without `answer_from` the coverage decides.

    Raises:
        BadInput: for an unknown run.
    """
    conversation = TerminalConversation(settings, options, answer_from)
    try:
        earlier = stored_run(reference, conversation.store)
        run = await conversation.ask(question, override(earlier.knobs), earlier)
        await conversation.print_stored(run)
    finally:
        await conversation.aclose()
    return run.error.exit_code if run.error else 0


def converse(
    reference: str,
    override: Callable[[Knobs], Knobs],
    settings: Settings,
    options: AskOptions,
    answer_from: AnswerFrom | None,
) -> int:
    """Answer the lines of stdin as follow-ups, until an empty line or the end.

    An invalid line is reported, and the next line is read. `follow_in_terminal` explains the arguments. Without a
    `reference` the first line begins a conversation.
    """
    conversation = TerminalConversation(settings, options, answer_from)
    with asyncio.Runner(loop_factory=new_loop) as runner:
        try:
            earlier = stored_run(reference, conversation.store) if reference else None
            knobs = override(earlier.knobs if earlier else Knobs())
            for line in _lines():
                try:
                    run = runner.run(conversation.ask(line, knobs, earlier))
                except OpenQueryError as error:
                    print_note(f"openquery: {error}")
                    continue
                earlier = run if run.answer else earlier
            if earlier:
                runner.run(conversation.print_stored(earlier))
        finally:
            runner.run(conversation.aclose())
    return 0


def _lines() -> Iterator[str]:
    """Yield the lines of stdin up to an empty line, with a prompt for a person."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    while True:
        if sys.stdin.isatty():
            print_note("> ", end="")
        if not (line := sys.stdin.readline().strip()):
            return
        yield line
