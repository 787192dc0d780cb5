"""Printing in the terminal: all text of models, pages and files passes here."""

import re
import sys
from typing import TextIO

from core.text.sanitize import one_line

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


_UNENCRYPTED = (
    "is neither encrypted nor authenticated: who can reach it on the network can read the documents and run code on "
    "the workers and here. Use tls:// outside of a network that you trust."
)


def warn_of_unencrypted(scheduler: str) -> None:
    """Say on stderr that the connection to this Dask scheduler is open to its network, if it is; empty: there is none."""
    from core.runtime.choices.ingest_workers import is_encrypted

    if scheduler and not is_encrypted(scheduler):
        print_text(f"{one_line(scheduler)} {_UNENCRYPTED}", to=sys.stderr)


def print_text(text: str = "", *, end: str = "\n", to: TextIO | None = None) -> None:
    """Print a text on stdout or `to`, at once, without the characters that a terminal obeys."""
    print(_CONTROLS.sub("", text), end=end, file=to or sys.stdout, flush=True)
