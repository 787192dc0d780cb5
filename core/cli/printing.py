"""Printing in the terminal. All text of models, pages and files must be printed here."""

import re
import shutil
import sys
from typing import TextIO

from core.config.clusters import UNENCRYPTED, is_encrypted
from core.text.sanitize import one_line

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def warn_of_unencrypted(scheduler: str) -> None:
    """Warn on stderr of an unencrypted Dask connection.

    "" means that there is no scheduler.
    """
    if scheduler and not is_encrypted(scheduler):
        print_note(f"{one_line(scheduler)} {UNENCRYPTED}")


def print_text(text: str = "", *, end: str = "\n", to: TextIO | None = None) -> None:
    """Print a text on stdout or `to`, at once, without terminal control characters."""
    print(_CONTROLS.sub("", text), end=end, file=to or sys.stdout, flush=True)


def print_note(text: str, *, end: str = "\n") -> None:
    """Print a text on stderr, without control characters."""
    print_text(text, end=end, to=sys.stderr)


def print_status(text: str = "") -> None:
    """Rewrite the status line of a terminal on stderr, or remove it, as before any other line.

    Nothing is written elsewhere.
    """
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r\033[K{one_line(_CONTROLS.sub('', text), width)}")
        sys.stderr.flush()


def print_json_line(body: bytes) -> None:
    """Print a JSON value on one line.

    Terminal control characters, such as bidirectional marks, are written as JSON escapes.
    """
    text = _CONTROLS.sub(lambda control: f"\\u{ord(control[0]):04x}", body.decode())
    sys.stdout.buffer.write(text.encode() + b"\n")
    sys.stdout.flush()
