"""Pages of a manual that repeat others or lead to them are left out of a collection, with a word in the report."""

from pathlib import Path

import pytest

from core.features.library.ingests import Folder, IngestLimits
from tests.features.library.conftest import OpenLibrary
from tests.features.library.sample_library import outcomes

pytestmark = pytest.mark.asyncio(loop_scope="package")

MOVED = '<title>Redirecting…</title><meta http-equiv="refresh" content="0; URL={0}"><p>Redirecting to <a href="{0}">{0}</a>.</p>'
UNINDEXED = '<meta name="robots" content="noindex,follow">'


def page(words: str, head: str = "") -> str:
    return f"<html><head><title>{words}</title>{head}</head><body><main><h1>{words}</h1><p>The chapter tells of {words} at length.</p></main>"


async def test_old_addresses_and_printable_copies_of_a_manual_are_left_out(
    tmp_path: Path, open_library: OpenLibrary
) -> None:
    manual = tmp_path / "manual"
    manual.mkdir()
    pages = {
        "mills.html": page("mills"),
        "weirs.html": page("weirs"),
        "locks.html": page("locks"),
        "wheels.html": MOVED.format("mills.html"),
        "print.html": page("mills, weirs and locks", UNINDEXED),
    }
    for name, html in pages.items():
        (manual / name).write_text(html)
    books = open_library(tmp_path / "data", limits=IngestLimits(folders=(manual,)))
    assert outcomes(await books.add(Folder(manual))) == {
        "manual/mills.html": "done",
        "manual/weirs.html": "done",
        "manual/locks.html": "done",
        "manual/wheels.html": "skipped: moved: the page only leads to mills.html",
        "manual/print.html": "skipped: the page asks not to be indexed, like a printable copy or an old address",
    }


async def test_pages_are_added_where_most_ask_not_to_be_indexed(
    tmp_path: Path, open_library: OpenLibrary
) -> None:
    manual = tmp_path / "manual"
    manual.mkdir()
    (manual / "a.html").write_text(page("mills", UNINDEXED))
    (manual / "b.html").write_text(page("weirs", UNINDEXED.replace("noindex,follow", "none, noindex")))
    (manual / "c.html").write_text(page("locks"))
    books = open_library(tmp_path / "data", limits=IngestLimits(folders=(manual,)))
    assert list(outcomes(await books.add(Folder(manual))).values()) == ["done", "done", "done"]
