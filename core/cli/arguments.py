"""The commands of the command line, with their arguments. `runs` names the function of a command."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from core.cli.shared_arguments import EXIT_CODES, add_address, add_commands, add_connections, add_verbose
from core.runtime.features import Command, features

if TYPE_CHECKING:
    from core.config.schema import Parameter

MOST_LISTED = 500
"""The most runs to read, equal to the history's."""
FLAGS = {
    "run.method": ("--method",),
    "run.max_steps": ("--max-steps",),
    "run.token_budget": ("--token-budget",),
    "run.time_budget": ("--time-budget",),
    "run.dollar_budget": ("--dollar-budget",),
    "plan.queries": ("-q", "--queries"),
    "search.results": ("-r", "--results"),
    "search.backend": ("--search",),
    "search.origin": ("--origin",),
    "rank.top_k": ("-c", "--chunks"),
    "chunk.size": ("--size",),
    "chunk.overlap": ("--overlap",),
    "rank.strategy": ("--strategy",),
    "rank.threshold": ("--threshold",),
}
"""Flags of the most used knobs. Every other knob has `--group-name`."""


def flags_of(path: str) -> tuple[str, ...]:
    """Return the flags of a knob such as `rank.top_k`, the long flag last."""
    return FLAGS.get(path) or (f"--{path.replace('.', '-').replace('_', '-')}",)


def parser(program: str = "openquery") -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    top = argparse.ArgumentParser(
        prog=program,
        description="Answer questions from the web or from your documents, with citations. Without arguments, the pages "
        "are served; a question alone is asked.",
        epilog=EXIT_CODES,
    )
    top.add_argument(
        "--version",
        dest="runs",
        action="store_const",
        const="cli.version.version_in_terminal",
        help="print the version, and which stored files it would migrate",
    )
    top.set_defaults(runs="cli.serve.serve_pages", program=program, refuse=top.error)
    add_address(top, "8501, or the next free port")
    add_commands(top, COMMANDS, title="commands", metavar="COMMAND")
    return top


def _add_ask_arguments(ask: argparse.ArgumentParser) -> None:
    ask.add_argument(
        "question",
        nargs="?",
        help="up to 1,000 characters; with --since it may be left out, and is that of the run",
    )
    ask.add_argument(
        "--since",
        metavar="RUN",
        help="ask again under the settings of this run, with every page fetched anew, and print what changed since: the "
        "id of a run in the history, or the file of an exported one. With --json the changes are JSON",
    )
    _add_conversation(ask, "answer the question as a follow-up of this run")
    lengths = ask.add_mutually_exclusive_group()
    for flags, length, described in (
        (("-s", "--short"), "short", "one paragraph"),
        (("-l", "--long"), "long", "a structured report"),
    ):
        lengths.add_argument(*flags, dest="answer.length", action="store_const", const=length, help=described)
    add_verbose(ask)
    ask.add_argument(
        "--query",
        dest="given_queries",
        action="append",
        default=[],
        metavar="TEXT",
        help="search for this, in place of queries that the chat model writes; may be repeated",
    )
    ask.add_argument("--yes", action="store_true", help="approve the plan of the method deep as it is")
    outputs = ask.add_mutually_exclusive_group()
    for flag, output, described in (
        (
            "--context",
            "context",
            "print the sources that were found, as context for another program, and no answer",
        ),
        ("--json", "run", "print the whole run as JSON instead of the answer"),
    ):
        outputs.add_argument(
            flag, dest="output", action="store_const", const=output, default="answer", help=described
        )
    _add_no_store(ask, "the run")
    add_connections(ask)
    _add_knobs(ask, without="answer.length")


def _add_chat_arguments(chat: argparse.ArgumentParser) -> None:
    _add_conversation(chat, "go on with the conversation of this run")
    add_verbose(chat)
    chat.add_argument(
        "--json",
        dest="output",
        action="store_const",
        const="run",
        default="answer",
        help="print each whole run as JSON instead of its answer",
    )
    _add_no_store(chat, "the runs")
    add_connections(chat)
    _add_knobs(chat)


def _add_no_store(target: argparse.ArgumentParser, what: str) -> None:
    target.add_argument(
        "--no-store", dest="stored", action="store_false", help=f"do not keep {what} in the history"
    )


def _add_conversation(target: argparse.ArgumentParser, described: str) -> None:
    from core.model import AnswerFrom

    target.add_argument(
        "--follow",
        metavar="RUN",
        default="",
        help=f"{described}, under its settings: the id of a run in the history, or the file of an exported one",
    )
    target.add_argument(
        "--answer-from",
        choices=[choice.value for choice in AnswerFrom],
        help="what a follow-up is answered from: the pages of the questions before it, a new search, or both (default: "
        "the pages where they cover it, else both)",
    )


def _add_completion_arguments(target: argparse.ArgumentParser) -> None:
    target.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell that reads the script")


def _add_knobs(target: argparse.ArgumentParser, without: str = "") -> None:
    from core.config.schema import parameters

    knobs = target.add_argument_group("knobs")
    for parameter in parameters():
        if parameter.path != without:
            _add_knob(knobs, parameter)


def _add_knob(group: argparse._ArgumentGroup, knob: Parameter) -> None:
    flags = flags_of(knob.path)
    bounds = "" if knob.minimum is None else f", {knob.minimum:g} to {knob.maximum:g}"
    default_and_bounds = f" (default {knob.default}{bounds})".replace("%", "%%")
    help_text = knob.description.replace("%", "%%") + default_and_bounds
    if knob.type == "boolean":
        group.add_argument(
            *flags, dest=knob.path, action=argparse.BooleanOptionalAction, default=None, help=help_text
        )
    elif knob.type == "array":
        group.add_argument(
            *flags,
            dest=knob.path,
            action="append",
            metavar="TEXT",
            help=f"{knob.description} May be repeated.",
        )
    elif knob.enum:
        choices = [value for value in knob.enum if value]
        group.add_argument(*flags, dest=knob.path, choices=choices, help=help_text)
    else:
        types: dict[str, Any] = {"integer": int, "number": float, "string": str}
        group.add_argument(
            *flags,
            dest=knob.path,
            type=types[knob.type],
            metavar="N" if knob.minimum is not None else "TEXT",
            help=help_text,
        )


def _add_runs_arguments(runs: argparse.ArgumentParser) -> None:
    """Add the arguments: an action with its runs, filters, and the form of the output."""
    from core.run.state import RunStatus

    runs.add_argument(
        "action",
        nargs="?",
        choices=["list", "show", "delete", "quote"],
        default="list",
        help="default: list; quote answers again with sentences of the sources",
    )
    runs.add_argument("ids", nargs="*", metavar="RUN", help="of all but list: ids of runs")
    filters = runs.add_argument_group("filters of the list")
    filters.add_argument("--words", default="", metavar="TEXT", help="words that the question contains")
    filters.add_argument(
        "--status",
        dest="statuses",
        action="append",
        choices=[str(status) for status in RunStatus],
        default=[],
        help="may be repeated",
    )
    filters.add_argument(
        "--tag", dest="tags", action="append", default=[], metavar="TAG", help="may be repeated"
    )
    filters.add_argument(
        "--limit", type=int, default=20, metavar="N", help="the newest N of them (default 20)"
    )
    runs.add_argument("--json", dest="as_json", action="store_true", help="print one JSON object a line")
    add_connections(runs)


COMMANDS: Mapping[str, Command] = {
    "ask": Command("cli.main.ask_in_terminal", "answer a question", _add_ask_arguments),
    "chat": Command(
        "cli.main.chat_in_terminal",
        "hold a conversation: each line is a follow-up of the one before",
        _add_chat_arguments,
        "Read questions from stdin, one a line, and answer each as a follow-up of the one before, until "
        "a line is empty. The runs are in the history.",
    ),
    "runs": Command(
        "cli.runs.runs_in_terminal",
        "list, show or delete the runs of the history",
        _add_runs_arguments,
        "List the runs of the history, newest first: those of every page, command and HTTP request. The filters "
        "are those of the history.",
    ),
    "check": Command(
        "cli.check.check_in_terminal", "report which connections and parts work", add_connections
    ),
    "completion": Command(
        "cli.completion.completion_in_terminal",
        "print the script by which a shell completes commands and options",
        _add_completion_arguments,
        "For bash: openquery completion bash > ~/.local/share/bash-completion/completions/openquery - for zsh: openquery "
        "completion zsh > a folder of $fpath, as _openquery - for fish: openquery completion fish > "
        "~/.config/fish/completions/openquery.fish",
    ),
    **{name: command for feature in features() for name, command in feature.commands.items()},
}
