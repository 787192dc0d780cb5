"""Arguments that several commands share."""

from __future__ import annotations

import argparse
import logging
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from core.config.settings import Settings
    from core.runtime.features import Command

EXIT_CODES = (
    "Exit codes: 0 success (also when the sources hold no answer), 1 a check failed, 2 bad input, 3 search, 4 read, "
    "5 embed, 6 answer, 7 store, 8 limit, 9 library, 10 workers, 130 interrupted, 141 the output was closed."
)

LAST_PORT = 65_535
_SHOWN_USAGE = 12
"""The most lines of a usage that is printed with an error."""
_PERIOD = re.compile(r"([1-9]\d{0,5})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


class CommandParser(argparse.ArgumentParser):
    """A parser of one command, which adds the arguments before its first parsing.

    The arguments come from models of knobs, phases or statuses. Their imports take most of the time of a command
    without such arguments.
    """

    def __init__(self, *, add_arguments: Callable[[CommandParser], object], **options: Any) -> None:
        super().__init__(**options)
        self._add_arguments: Callable[[CommandParser], object] | None = add_arguments

    def complete(self) -> None:
        """Add the arguments, unless they were added."""
        add, self._add_arguments = self._add_arguments, None
        if add is not None:
            add(self)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse the known arguments, and return the others."""
        self.complete()
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and exit. A usage of many lines would hide it, so it is named in place of printed."""
        if self.format_usage().count("\n") > _SHOWN_USAGE:
            self.exit(2, f"{self.prog}: error: {message}\nAll options: {self.prog} --help\n")
        super().error(message)


def add_commands(target: argparse.ArgumentParser, commands: Mapping[str, Command], **options: Any) -> None:
    """Add a parser for each command, by name. `options` are those of the command group."""
    group = target.add_subparsers(parser_class=CommandParser, **options)
    for name, command in commands.items():
        parser = group.add_parser(
            name,
            help=command.help,
            description=command.description,
            epilog=command.epilog or EXIT_CODES,
            add_arguments=command.add_arguments,
        )
        parser.set_defaults(runs=command.runs, refuse=parser.error)


def add_file(
    target: argparse._ActionsContainer, flag: str, described: str, metavar: str = "FILE", **options: Any
) -> None:
    """Add an argument that is a path."""
    target.add_argument(flag, type=Path, metavar=metavar, help=described, **options)


def add_verbose(target: argparse.ArgumentParser) -> None:
    """Add the flag that prints every step."""
    target.add_argument("-v", "--verbose", action="store_true", help="every step on stderr, one a line")


def port(text: str) -> int:
    """Parse the number of a port.

    Raises:
        ArgumentTypeError: for any other text.
    """
    if text.isdecimal() and int(text) <= LAST_PORT:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a port from 0 to {LAST_PORT}")


def period(text: str) -> timedelta:
    """Parse a period such as 30m, 6h or 2d.

    Raises:
        ArgumentTypeError: for any other text.
    """
    if not (match := _PERIOD.fullmatch(text)):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no period; write a number and a unit, such as 30m, 6h or 2d"
        )
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def add_scheduler(target: argparse._ActionsContainer) -> None:
    """Add the flag of a Dask scheduler."""
    target.add_argument(
        "--scheduler",
        default="",
        metavar="ADDRESS",
        help="run on the workers of this Dask scheduler, such as tls://10.0.0.1:8786 (default: this machine's cores). "
        "It is trusted with everything on this machine: what it sends can run any code. tcp:// is neither encrypted "
        "nor authenticated",
    )


def worker_count(text: str) -> int:
    """Parse a number of processes, from 1 to 64.

    Raises:
        ArgumentTypeError: for any other text.
    """
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:3]) <= 64):
        raise argparse.ArgumentTypeError(f"{text[:20]} is no number from 1 to 64")
    return int(text)


def settings_of(options: argparse.Namespace) -> Settings:
    """Return the settings with the connections in the arguments.

    Logging is limited to warnings from now on.

    Raises:
        BadInput: when the settings are wrong.
    """
    from core.config.settings import Settings
    from core.runtime.logs import configure

    names = ("searxng_url", "chat_model", "embedding_model", "base_url")
    connections = {name: getattr(options, name, None) for name in names}
    settings = Settings.read(**{name: value for name, value in connections.items() if value is not None})
    configure(settings, level=logging.WARNING)
    return settings


def add_connections(target: argparse.ArgumentParser) -> None:
    """Add the flags of connections."""
    group = target.add_argument_group("connections (default: the environment's)")
    group.add_argument("--searxng-url", metavar="URL", help="a SearXNG server")
    group.add_argument("--model", dest="chat_model", metavar="NAME", help="chat model")
    group.add_argument(
        "--embedding-model", metavar="NAME", help="embedding model; local runs inside OpenQuery"
    )
    group.add_argument("--base-url", metavar="URL", help="any OpenAI-compatible server")


def add_address(target: argparse.ArgumentParser, default_port: str) -> None:
    """Add the address to listen on."""
    target.add_argument("--host", metavar="ADDRESS", help="address to listen on (default 127.0.0.1)")
    target.add_argument("--port", type=port, metavar="N", help=f"port to listen on (default {default_port})")
