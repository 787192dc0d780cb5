"""`openquery completion`: the script by which a shell completes commands, options and their values."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from core.cli.arguments import parser
from core.cli.printing import print_text
from core.cli.shared_arguments import CommandParser


def completion_in_terminal(options: argparse.Namespace) -> int:
    """Print the completion script of a shell."""
    print_text(completion_script(options.shell).rstrip("\n"))
    return 0


def completion_script(shell: str) -> str:
    """Return the completion script of bash, zsh or fish."""
    import shtab

    top = parser()
    for command in _with_subparsers(top):
        for action in command._actions:
            if action.type is Path:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    script: str = shtab.complete(top, shell=shell)
    return script


def _with_subparsers(parent: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield a parser with all of its arguments, and those of its commands and actions."""
    if isinstance(parent, CommandParser):
        parent.complete()
    yield parent
    for action in parent._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from _with_subparsers(child)
