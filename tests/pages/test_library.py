"""The Library page while documents are added."""

import pytest

from core.config.access import NO_ACCESS
from core.errors import LibraryFailed
from core.library.ingests import Address
from core.library.library import Library
from core.model import Collection
from core.runtime.registry import RunRegistry
from pages.parts import document_library, runtime
from tests.services.loopback import Gate, Loopback, Reply, Request

from .conftest import PATIENCE, opened

POND = b"# Ponds\n\nGulls nest on the island of the northern pond, where no fox can reach them in spring.\n"


def test_an_import_that_ends_while_its_page_is_drawn_is_not_reported_above_a_collection_without_it(
    registry: RunRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    read = Library.collections

    async def page(request: Request) -> Reply:
        return Reply((gate, POND), content_type="text/markdown")

    async def read_and_wait(self: Library) -> dict[str, Collection | LibraryFailed]:
        """What the library holds, told when the import that was live meanwhile has ended."""
        found = await read(self)
        gate.open()
        await job.wait()
        return found

    with Loopback(page) as site:
        monkeypatch.setenv("OPENQUERY_ALLOW", f"127.0.0.1:{site.port}")
        runtime.close()
        adding = document_library.library().ingests.add(
            "ponds", [Address(f"{site.url}/ponds.md")], access=NO_ACCESS
        )
        job = runtime.runs().call(adding, timeout=PATIENCE)
        monkeypatch.setattr(Library, "collections", read_and_wait)
        app = opened("library", collection="ponds", session={"ingesting": job})
    assert not app.exception
    assert [tab.label for tab in app.tabs] == ["Documents", "Search", "Add"]
    assert any("Import finished: 1 added" in block.value for block in app.markdown)
