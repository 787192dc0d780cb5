"""The command `openquery ingest` and its arguments."""

import argparse
from collections.abc import Mapping

from core.cli.shared_arguments import add_scheduler, worker_count
from core.runtime.features import Command


def _add_ingest_arguments(ingest: argparse.ArgumentParser) -> None:
    ingest.add_argument("collection", help="its name; the collection is created if it does not exist")
    ingest.add_argument(
        "sources", nargs="+", help="files, folders, web addresses or sitemaps (…/sitemap.xml)"
    )
    where = ingest.add_mutually_exclusive_group()
    where.add_argument(
        "--workers",
        type=worker_count,
        default=0,
        metavar="N",
        help="read, split and embed in so many processes of this machine, each with one core",
    )
    add_scheduler(where)


COMMANDS: Mapping[str, Command] = {
    "ingest": Command(
        "features.library.commands.ingest.ingest_in_terminal",
        "add documents to a collection",
        _add_ingest_arguments,
        "Add documents to a collection: PDF, HTML, Markdown, text, office files (DOCX, PPTX, XLSX, ODT, "
        "ODP, ODS, RTF, DOC, PPT, XLS, XLSB), EPUB, CSV, or a zip of them. A document that the collection already "
        "has is neither read nor embedded again.",
        "Output: one line a document: + added, = already there, ! failed, with the reason. Exit codes: 0 all are "
        "in the collection, 4 some failed, 9 the ingest was interrupted; the same command resumes it.",
    ),
}
