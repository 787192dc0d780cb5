"""What several commands have in their arguments."""

import argparse
import logging
import re
from datetime import timedelta

from core.config.settings import Settings

EXIT_CODES = (
    "Exit codes: 0 success (also when the sources hold no answer), 1 a check failed, 2 bad input, 3 search, 4 read, "
    "5 embed, 6 answer, 7 store, 8 limit, 9 library, 10 workers, 130 interrupted, 141 the output was closed."
)

_PERIOD = re.compile(r"([1-9]\d{0,5})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def period(text: str) -> timedelta:
    """The time that a text such as 30m, 6h or 2d names.

    Raises:
        ValueError: when it names none.
    """
    if not (match := _PERIOD.fullmatch(text)):
        raise ValueError(text)
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def add_scheduler(target: argparse._ActionsContainer) -> None:
    """Add the flag that names a Dask scheduler."""
    target.add_argument(
        "--scheduler",
        default="",
        metavar="ADDRESS",
        help="run on the workers of this Dask scheduler, such as tls://10.0.0.1:8786 (default: this machine's cores). "
        "It is trusted with everything on this machine: what it sends can run any code. tcp:// is neither encrypted "
        "nor authenticated",
    )


def worker_count(text: str) -> int:
    """A number of processes, from 1 to 64.

    Raises:
        ArgumentTypeError: when it is none.
    """
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:3]) <= 64):
        raise argparse.ArgumentTypeError(f"{text[:20]} is no number from 1 to 64")
    return int(text)


def settings_of(options: argparse.Namespace) -> Settings:
    """The settings, with the connections that the arguments name; logs below a warning are off from now on.

    Raises:
        BadInput: when they are wrong.
    """
    from core.runtime.logs import configure

    names = ("searxng_url", "chat_model", "embedding_model", "base_url")
    connections = {name: getattr(options, name, None) for name in names}
    settings = Settings.read(**{name: value for name, value in connections.items() if value is not None})
    configure(settings, level=logging.WARNING)
    return settings


def add_connections(target: argparse.ArgumentParser) -> None:
    """Add the flags of connections, which come before the settings of the environment."""
    group = target.add_argument_group("connections (default: the environment's)")
    group.add_argument("--searxng-url", metavar="URL", help="a SearXNG server")
    group.add_argument("--model", dest="chat_model", metavar="NAME", help="chat model")
    group.add_argument(
        "--embedding-model", metavar="NAME", help="embedding model; local runs inside OpenQuery"
    )
    group.add_argument("--base-url", metavar="URL", help="any OpenAI-compatible server")
