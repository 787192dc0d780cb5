"""The Library page: collections, what is added to them, found in them and deleted."""

import io
import zipfile

import pytest

from core.config.access import NO_ACCESS
from core.errors import LibraryFailed
from core.features.library.ingests import Address, Upload
from core.features.library.library import Library
from core.features.library.running_ingest import RunningIngest
from core.model import Collection
from core.runtime.registry import RunRegistry
from pages.parts import document_library, runtime
from tests.pages.test_pages import html
from tests.pages.test_tables import checked, click, passages
from tests.reading.office_files import docx
from tests.reading.test_pdf import pdf
from tests.runtime.waiting import finished
from tests.services.loopback import Gate, Loopback, Reply, Request

from .conftest import PATIENCE, opened, words

POND = b"# Ponds\n\nGulls nest on the island of the northern pond, where no fox can reach them in spring.\n"


def test_import_ending_while_drawn_is_reported_with_its_collection(
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


def added(collection: str, *files: Upload) -> RunningIngest:
    """Add these files to a collection, and wait until all are in it."""
    adding = document_library.library().ingests.add(collection, files, access=NO_ACCESS)
    job = runtime.runs().call(adding, timeout=PATIENCE)
    runtime.runs().call(job.wait(), timeout=PATIENCE)
    return job


@pytest.mark.slow
def test_known_file_is_already_there_and_broken_says_why(registry: RunRegistry) -> None:
    ferries = pdf(["The ferry at Low Marsh carried eleven carts a day before the bridge was built."])
    added("twice", Upload("ferries.pdf", ferries))
    job = added("twice", Upload("again.pdf", ferries), Upload("broken.pdf", b"%PDF-1.7 cut off"))
    app = opened("library", collection="twice", session={"ingesting": job})
    assert not app.exception
    assert "already" in words(app)
    assert "0 added, 1 skipped, 1 failed" in words(app)
    first = html(app).split('class="oq-hit')[1]
    assert "broken.pdf" in first, "failures come first"


@pytest.mark.slow
def test_unread_parts_of_a_document_are_shown_above_it(registry: RunRegistry) -> None:
    letter = docx("The ferry was built of oak.", more={"word/media/ferry.png": "x"})
    job = added("letters", Upload("letter.docx", letter))
    assert "1 passage · 1 picture was not read" in words(
        opened("library", collection="letters", session={"ingesting": job})
    )
    (document,) = runtime.runs().call(document_library.library().documents("letters"), timeout=PATIENCE)
    shown = opened("library", collection="letters", document=document.key)
    assert "1 picture was not read." in [
        caption.value.removeprefix(":material/info: ") for caption in shown.caption
    ]


@pytest.mark.slow
def test_zip_is_unpacked_searched_and_one_document_deleted(registry: RunRegistry) -> None:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        archive.writestr(
            "notes/ponds.md", "# Ponds\n\nCarp were kept in the upper pond for the winter table.\n"
        )
        archive.writestr("prices.csv", "crop,price\nbarley,12\nrye,9\n")
        archive.writestr("mills.txt", "The mill at the weir ground rye.\n")
    added("notes", Upload("notes.zip", body.getvalue()))

    app = opened("library", collection="notes", session={"library_tabs": "Search"})
    app.text_input(key="inside_words").set_value("Which fish were eaten in winter?").run()
    assert not app.exception
    first = words(app).index("Carp were kept in the upper pond")
    assert "The mill at the weir" not in words(app)[:first]
    assert "MiniLM-L6-v2 (built in)" in words(app)

    app = opened("library", collection="notes")
    click(app, "documents", 1, "Document")
    title = str(passages(app, "documents").iloc[1]["Document"])
    assert checked(app, "documents") == [1]
    app.text_input(key="document_words").set_value(title).run()
    assert list(passages(app, "documents")["Document"]) == [title]
    assert checked(app, "documents") == [0]
    app.text_input(key="document_words").set_value("").run()
    assert len(passages(app, "documents")) == 3
    app.button(key="delete_document").click().run()
    assert not app.exception
    assert app.text_input(key="document_words").placeholder == "Filter 2 documents …"
    assert "Select a row to open" in words(app)


@pytest.mark.slow
def test_a_collection_is_made_and_deleted(registry: RunRegistry) -> None:
    app = opened("library")
    app.text_input(key="new_collection").set_value("../etc")
    app.button(key="make_collection").click().run()
    assert "cannot be a collection's name" in words(app)
    app.text_input(key="new_collection").set_value("short_lived")
    app.button(key="make_collection").click().run()
    assert app.selectbox(key="chosen_collection").value == "short_lived"
    app.button(key="drop_collection").click().run()
    assert not app.exception
    assert app.selectbox(key="chosen_collection").value == "book_content"


@pytest.mark.slow
def test_collection_is_asked_by_examples_from_its_titles(registry: RunRegistry) -> None:
    assert "chunk overlap" in opened().button(key="example_1").label
    article = b"# The Mills of the Valley\n\nThe mills of the valley ground barley for beer in the winter."
    added("reports", Upload("mills.md", article))
    assert opened("library").selectbox(key="chosen_collection").value == "reports"
    app = opened(session={"knob_search_origin": "library"})
    assert app.button(key="example_1").label == "What does “The Mills of the Valley” say?"
    assert "example_2" not in {button.key for button in app.button}
    app.button(key="example_1").click().run()
    assert not app.exception
    run = finished(registry, app.session_state["run_id"])
    assert "ground barley for beer" in run.text
