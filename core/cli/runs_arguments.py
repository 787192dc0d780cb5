"""The arguments of `openquery runs`."""

import argparse

from core.cli.shared_arguments import add_connections

MOST_LISTED = 500
"""The most runs to read, equal to the history's."""


def add_runs_arguments(runs: argparse.ArgumentParser) -> None:
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
