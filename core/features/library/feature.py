"""The entry of the document library."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from core.cli.shared_arguments import add_scheduler, worker_count
from core.runtime.features import Command, Feature, Page


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
        "features.library.command.ingest_in_terminal",
        "add documents to a collection",
        _add_ingest_arguments,
        "Add documents to a collection: PDF, HTML, Markdown, text, office files (DOCX, PPTX, XLSX, ODT, "
        "ODP, ODS, RTF, DOC, PPT, XLS, XLSB), EPUB, CSV, notebook (IPYNB), e-mail (EML, MBOX), subtitles (SRT, VTT), "
        "or a zip of them. A document that the collection already has is neither read nor embedded again.",
        "Output: one line a document: + added, = left out (it is there already, or the page only leads to another), "
        "! failed, with the reason. Exit codes: 0 none failed, 4 some failed, 9 the ingest was interrupted; the same command resumes it.",
    ),
}


if TYPE_CHECKING:
    from core.config.access import Access
    from core.runtime.engine import Engine
    from core.runtime.engine_parts import Check, EnginePart
    from core.storage.migrations import Schema


def _connect(engine: Engine) -> EnginePart:
    from core.features.library.services.connections import LibraryConnections

    return LibraryConnections(engine)


def _probes(engine: Engine, access: Access, chosen: Sequence[str]) -> Iterable[tuple[str, Check]]:
    from core.features.library.probes import library_probes

    return library_probes(engine, access, chosen)


def _databases() -> Mapping[str, Schema]:
    from core.features.library.catalogue_schema import LIBRARY, SCHEMA

    return {LIBRARY: SCHEMA}


FEATURE = Feature(
    name="library",
    commands=COMMANDS,
    connect=_connect,
    probes=_probes,
    databases=_databases,
    page=Page(file="pages/library.py", title="Library"),
)
