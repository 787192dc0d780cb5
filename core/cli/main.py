"""The command line.

A command imports its modules when it runs, because the knobs alone take longer than `--version`.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import signal
import sys
from collections.abc import Coroutine, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from core.cli.arguments import COMMANDS, flags_of, parser
from core.cli.printing import print_note
from core.cli.shared_arguments import settings_of
from core.errors import OpenQueryError, disk_failure

if TYPE_CHECKING:
    from core.config.knobs import Knobs
    from core.model import AnswerFrom

Work = Coroutine[Any, Any, int]
"""A command on the event loop, with its exit code as result."""
INTERRUPTED = 130
_CORE = __name__.removesuffix(".cli.main")
PROGRAM_OPTIONS = ("-h", "--help", "--version", "--host", "--port")
"""Options without a command: those of the program, and of serving the pages."""
PIPE_CLOSED = 141
"""The exit code that shells report for SIGPIPE."""


def main(arguments: Sequence[str] | None = None, program: str = "openquery", *, harden: bool = False) -> int:
    """Run one command and return its exit code.

    Args:
        arguments: without the program's name, by default those of the process.
        program: the name in usage messages.
        harden: whether to protect this process before a command that reads settings.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may not support every character of an answer
    try:
        try:
            return _exit_code(arguments, program, harden=harden)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:  # while the arguments were read, or at the end
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the pipe. The buffer is discarded, instead of failing at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED


def with_command(arguments: Sequence[str]) -> Sequence[str]:
    """Return the arguments, with `ask` before a question.

    Arguments are a question unless they begin with a command or a program option. A word similar to a command is left
    for the parser to refuse, so that a typing error does not become a question.
    """
    first = arguments[0] if arguments else ""
    if not first or first.partition("=")[0] in PROGRAM_OPTIONS or get_close_matches(first, COMMANDS):
        return arguments
    return ["ask", *arguments]


def _exit_code(arguments: Sequence[str] | None, program: str, *, harden: bool) -> int:
    given = with_command(sys.argv[1:] if arguments is None else arguments)
    options, unknown = parser(program).parse_known_args(given)
    if unknown:  # with the usage of the command, not of the program
        options.refuse(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        module, _, function = options.runs.rpartition(".")
        if harden and module != "cli.version":  # its imports take longer than the version, which reads no key
            from core.runtime import hardening

            hardening.harden()
        outcome = getattr(import_module(f"{_CORE}.{module}"), function)(options)
        if isinstance(outcome, int):
            return outcome
        from core.runtime.event_loop import run_async

        return run_async(_interruptible(outcome))
    except OpenQueryError as error:
        print_note(f"openquery: {error}")
        return error.exit_code
    except BrokenPipeError:
        raise
    except OSError as error:
        failure = disk_failure(error)
        print_note(f"openquery: {failure}")
        return failure.exit_code
    except (KeyboardInterrupt, asyncio.CancelledError):
        print_note("openquery: interrupted.")
        return INTERRUPTED


def ask_in_terminal(options: argparse.Namespace) -> Work:
    """Answer a new question, repeat a stored run, or answer a follow-up."""
    from core.cli.ask import AskOptions, Output, answer_in_terminal

    if options.question is None and not options.since:
        options.refuse("the following arguments are required: question")
    settings = settings_of(options)
    asking = AskOptions(
        queries=options.given_queries,
        verbose=options.verbose,
        output=Output(options.output),
        approve=options.yes,
        stored=options.stored,
    )
    if options.since and options.follow:
        options.refuse("argument --since: not allowed with argument --follow")
    for name in ("since", "follow"):
        if getattr(options, name) and asking.output is Output.CONTEXT:
            options.refuse(f"argument --{name}: not allowed with argument --context")
    override = partial(_overridden, options)
    if options.since:
        from core.cli.ask_since import ask_since_in_terminal

        return ask_since_in_terminal(options.since, options.question or "", override, settings, asking)
    if options.follow:
        from core.cli.conversation import follow_in_terminal

        return follow_in_terminal(
            options.follow, options.question, override, settings, asking, answer_from=_answer_from(options)
        )
    if options.answer_from:
        options.refuse("argument --answer-from: needs --follow, the run whose pages are in hand")
    return answer_in_terminal(options.question, _knobs(settings.knobs | _given(options)), settings, asking)


def _answer_from(options: argparse.Namespace) -> AnswerFrom | None:
    from core.model import AnswerFrom

    return AnswerFrom(options.answer_from) if options.answer_from else None


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """Return the knobs in the arguments, by path."""
    return {path: value for path, value in vars(options).items() if "." in path and value is not None}


def _overridden(options: argparse.Namespace, knobs: Knobs) -> Knobs:
    """Return the knobs, overridden by the arguments."""
    from core.config.knob_changes import knob_values

    return _knobs(knob_values(knobs) | _given(options))


def _knobs(values: Mapping[str, Any]) -> Knobs:
    from core.config.knobs import Knobs
    from core.config.schema import nested

    return Knobs.parse(nested(values), lambda path: flags_of(path)[-1])


def chat_in_terminal(options: argparse.Namespace) -> int:
    """Hold a conversation, and return the exit code."""
    from core.cli.ask import AskOptions, Output
    from core.cli.conversation import converse
    from core.config.knob_changes import knob_values

    settings = settings_of(options)
    asking = AskOptions(verbose=options.verbose, output=Output(options.output), stored=options.stored)
    first = {} if options.follow else settings.knobs
    return converse(
        options.follow,
        lambda knobs: _knobs(knob_values(knobs) | first | _given(options)),
        settings,
        asking,
        _answer_from(options),
    )


async def _interruptible(work: Work) -> int:
    """Run `work`. Ctrl-C and SIGTERM cancel it, so that connections and workers are closed."""
    task = asyncio.ensure_future(work)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    return await task
