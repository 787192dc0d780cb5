"""The entry of watched questions."""

import argparse
from collections.abc import Mapping

from core.cli.shared_arguments import add_connections, add_file, period
from core.runtime.features import Command, Feature


def _add_watch_arguments(watch: argparse.ArgumentParser) -> None:
    add_file(watch, "file", 'questions, one a line, or {"question": "…", "knobs": {"rank.top_k": 3}}')
    schedule = watch.add_mutually_exclusive_group(required=True)
    schedule.add_argument(
        "--every", type=period, metavar="PERIOD", help="how often each is asked, such as 30m, 6h or 2d"
    )
    schedule.add_argument(
        "--once", action="store_true", help="ask each once and end, for a scheduler such as cron"
    )
    watch.add_argument(
        "--repeats",
        type=int,
        default=5,
        metavar="N",
        help="how often an unchanged question is repeated (default 5)",
    )
    watch.add_argument("--json", dest="as_json", action="store_true", help="print one JSON object a line")
    add_connections(watch)


COMMANDS: Mapping[str, Command] = {
    "watch": Command(
        "features.watch.command.watch_in_terminal",
        "ask questions on a schedule, and tell what changed beyond their own noise",
        _add_watch_arguments,
        "Ask the questions of a file again and again. Each is first repeated, to learn how much its "
        "sources and its answer differ from themselves; after that, a change is told when it exceeds this noise, with "
        "at most 5 % false alarms. What is known of the questions is kept in FILE.state.json.",
    ),
}


FEATURE = Feature(name="watch", commands=COMMANDS)
