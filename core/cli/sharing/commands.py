"""The commands that take runs out and in, from their arguments."""

import argparse
from collections.abc import Coroutine
from typing import Any

from core.cli.sharing.export import export_in_terminal, key_in_terminal, open_in_terminal
from core.cli.sharing.replay import replay_in_terminal
from core.config.settings import Settings


def share(options: argparse.Namespace, settings: Settings) -> int | Coroutine[Any, Any, int]:
    """Run `export`, `open`, `key` or `replay`, as `options.command` says. Raises as its module does."""
    match options.command:
        case "export":
            return export_in_terminal(options.run, options.out, settings)
        case "open":
            return open_in_terminal(options.file, settings, fetch_texts=options.fetch_texts)
        case "key":
            return key_in_terminal(options.action, options.file)
        case _:
            return replay_in_terminal(options.run, settings, options.speed, options.pause_at, options.verbose)
