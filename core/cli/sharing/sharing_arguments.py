"""The arguments of the commands that take runs out, in and through again."""

import argparse
from pathlib import Path

from core.cli.shared_arguments import EXIT_CODES
from core.model import Phase


def add_sharing(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `export`, `open`, `replay` and `key`."""
    export = commands.add_parser(
        "export",
        help="write a run as a file",
        description="Write a run as a file. The ending of its name says the format: .zip is a bundle, which opens in any "
        "OpenQuery with every view alive; .offsets.zip one without the texts of others; .json the run; .md and .answer.html "
        "the answer with its numbered sources; .csv and .parquet the passages with their scores; .hits.parquet and "
        ".pages.parquet what was found and read; .warc.gz the pages; .bib, .ris and .csl.json the sources for a "
        "bibliography.",
        epilog=EXIT_CODES,
    )
    export.set_defaults(command="export")
    export.add_argument("run", metavar="RUN", help="the id of a run in the history, or an exported file")
    export.add_argument("--out", type=Path, required=True, metavar="FILE", help="the file to write")
    opening = commands.add_parser(
        "open",
        help="add the run of a bundle or a JSON file to the history",
        description="Add the run of a bundle or a JSON file to the history, and print the address of its page. Who has "
        "signed the file is told; a run in one file (.html) is checked alone.",
        epilog=EXIT_CODES,
    )
    opening.set_defaults(command="open")
    opening.add_argument(
        "file", type=Path, metavar="FILE", help="a file of openquery export, .zip, .json or .html"
    )
    opening.add_argument(
        "--fetch-texts",
        action="store_true",
        help="of a run without the texts of others: fetch its pages again, and tell which passages are unchanged, moved, "
        "changed or gone",
    )
    replay = commands.add_parser(
        "replay",
        help="show a run again as it happened",
        description="Show a run again as it happened, without a network or a model: its phases and its answer, with the "
        "original timing or faster.",
        epilog=EXIT_CODES,
    )
    replay.set_defaults(command="replay")
    replay.add_argument("run", metavar="RUN", help="a bundle, or the id of a run in the history")
    replay.add_argument(
        "--speed", type=float, default=1.0, metavar="X", help="2 is twice as fast (default 1)"
    )
    replay.add_argument(
        "--pause-at",
        action="append",
        type=Phase,
        choices=list(Phase),
        default=[],
        metavar="PHASE",
        help=f"wait for Enter when this phase begins: {', '.join(Phase)}. May be repeated",
    )
    replay.add_argument("-v", "--verbose", action="store_true", help="every step on stderr, one a line")
    key = commands.add_parser(
        "key",
        help="make a key that signs exported runs, or show its public key",
        description="Make a private key (Ed25519) for OPENQUERY_SIGNING_KEY, or show the public key of one, for "
        "OPENQUERY_TRUSTED_KEYS of those who receive what it signs.",
        epilog=EXIT_CODES,
    )
    key.set_defaults(command="key")
    key.add_argument("action", choices=["new", "show"])
    key.add_argument("file", type=Path, metavar="FILE", help="the file of the private key")
