"""The entry of runs as files that leave."""

import argparse
from collections.abc import Mapping

from core.cli.shared_arguments import add_file, add_verbose
from core.runtime.features import Command, Feature


def _export(target: argparse.ArgumentParser) -> None:
    target.add_argument("run", metavar="RUN", help="the id of a run in the history, or an exported file")
    add_file(target, "--out", "the file to write", required=True)


def _open(target: argparse.ArgumentParser) -> None:
    add_file(target, "file", "a file of openquery export, .zip, .json or .html")


def _replay(target: argparse.ArgumentParser) -> None:
    from core.model import Phase

    target.add_argument("run", metavar="RUN", help="the id of a run in the history, or an exported .zip")
    target.add_argument(
        "--speed", type=float, default=1.0, metavar="X", help="2 is twice as fast (default 1)"
    )
    target.add_argument(
        "--pause-at",
        action="append",
        type=Phase,
        choices=list(Phase),
        default=[],
        metavar="PHASE",
        help=f"wait for Enter when this phase begins: {', '.join(Phase)}. May be repeated",
    )
    add_verbose(target)


COMMANDS: Mapping[str, Command] = {
    "export": Command(
        "features.share.command.export_in_terminal",
        "write a run as a file",
        _export,
        "Write a run as a file. The ending of its name says the format: .zip is the whole run, which opens in "
        "any OpenQuery; .offsets.zip the run without page texts; .html an interactive page that works offline; "
        ".excerpts.html one without full texts; .ipynb a notebook with the run beside it; .json the run; .md and "
        ".answer.html the answer with its numbered sources; .csv and .parquet the passages with their scores; .hits.parquet and "
        ".pages.parquet what was found and read; .bib, .ris and .csl.json the sources for a "
        "bibliography.",
    ),
    "open": Command(
        "features.share.command.open_in_terminal",
        "add an exported run to the history",
        _open,
        "Add the run of an exported .zip or .json file to the history, and print the address of its page. "
        "An interactive page (.html) is only checked, since a browser opens it.",
    ),
    "replay": Command(
        "features.share.command.replay_in_terminal",
        "show a run again as it happened",
        _replay,
        "Show a run again as it happened, without a network or a model: its phases and its answer, with the "
        "original timing or faster.",
    ),
}


FEATURE = Feature(name="share", commands=COMMANDS)
