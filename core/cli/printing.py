"""Printing in the terminal: all text of models, pages and files passes here."""

import re
import sys
from typing import TextIO

from core.text.sanitize import one_line

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def warn_of_unencrypted(scheduler: str) -> None:
    """Say on stderr that the connection to this Dask scheduler is open to its network, if it is; empty: there is none."""
    from core.runtime.choices.ingest_workers import UNENCRYPTED, is_encrypted

    if scheduler and not is_encrypted(scheduler):
        print_note(f"{one_line(scheduler)} {UNENCRYPTED}")


def print_text(text: str = "", *, end: str = "\n", to: TextIO | None = None) -> None:
    """Print a text on stdout or `to`, at once, without the characters that a terminal obeys."""
    print(_CONTROLS.sub("", text), end=end, file=to or sys.stdout, flush=True)


def print_note(text: str, *, end: str = "\n") -> None:
    """The same on stderr."""
    print_text(text, end=end, to=sys.stderr)


def print_json_line(body: bytes) -> None:
    """Print a JSON value on one line of stdout, at once.

    Characters that a terminal obeys, such as bidirectional marks, are written as their JSON escapes.
    """
    text = _CONTROLS.sub(lambda control: f"\\u{ord(control[0]):04x}", body.decode())
    sys.stdout.buffer.write(text.encode() + b"\n")
    sys.stdout.flush()
