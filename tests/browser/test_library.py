"""The Library in a real browser: documents in, a question, a citation that leads to the page it stands on."""

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FilePayload, expect

from tests.browser.conftest import visiting
from tests.browser.page_objects import App
from tests.browser.server import Site, serving
from tests.reading.test_pdf import pdf

MILLS = pdf(
    ["The Mills of the Valley", "An account of the water mills between the two bridges."],
    ["The wheels were built of elm, and every one of them turned two pairs of stones."],
    [
        "The mill pond at Harrow Bridge is four metres deep at the sluice.",
        "It silts up by a hand's breadth a year, and was last dredged in spring.",
    ],
)
FERRIES = pdf(
    ["The ferry at Low Marsh carried eleven carts a day before the bridge was built."],
    ["Its keeper was paid in barley, and lived in the tollhouse on the eastern bank."],
)
QUESTION = "How deep is the mill pond at Harrow Bridge?"
PDF = "application/pdf"


def upload(name: str, body: bytes, kind: str = PDF) -> FilePayload:
    return {"name": name, "mimeType": kind, "buffer": body}


@pytest.fixture(scope="package")
def library_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serving(tmp_path_factory.mktemp("library")) as site:
        yield site


@pytest.fixture
def library_app(chromium: Browser, library_site: Site) -> Iterator[App]:
    with visiting(chromium, library_site) as visitor:
        yield visitor


def add(app: App, collection: str, *files: FilePayload | Path) -> None:
    """Open a collection on the Library page and add these files to it."""
    app.open(f"/library?collection={collection}")
    if app.page.get_by_role("tab", name="Add").count():  # a collection that holds nothing has no tabs
        app.open_tab("Add")
    app.keyed("uploads").locator("input[type=file]").set_input_files(list(files))
    expect(app.page.get_by_test_id("stFileChip")).to_have_count(len(files))
    app.button("add_files").click()
    expect(app.keyed("ingest_report")).to_contain_text("Import finished")
    app.at_rest()


def test_two_pdfs_are_added_asked_and_cited_by_the_page_of_the_file(library_app: App) -> None:
    add(library_app, "book_content", upload("mills.pdf", MILLS), upload("ferries.pdf", FERRIES))
    expect(library_app.keyed("ingest_report")).to_contain_text("mills.pdf")

    library_app.open("/")
    library_app.keyed("places").get_by_role("radio", name="My documents").click()
    collections = library_app.keyed("knob_search_collections").get_by_role("combobox")
    expect(collections).to_have_attribute("placeholder", "All collections")
    box = library_app.field("question")
    box.fill(QUESTION)
    box.press("Control+Enter")
    library_app.finished()
    expect(library_app.answer).to_contain_text("four metres deep")
    library_app.answer.locator('a[href^="#src-"]').first.click()
    reader = library_app.keyed("reader_cited")
    expect(reader).to_contain_text("page 3")
    with library_app.page.context.expect_page() as opened:
        reader.get_by_role("link", name="Open").click()

    book = opened.value
    expect(book.locator(".st-key-book_head")).to_contain_text("Page 3 of 3")
    expect(book.locator(".oq-article mark")).to_contain_text("four metres deep")
    picture = book.get_by_test_id("stImage").locator("img")
    expect(picture).to_be_visible()
    assert picture.evaluate("async image => (await image.decode(), image.naturalWidth)") > 300
    expect(book.get_by_test_id("stImage")).to_contain_text("mills.pdf, page 3")
    book.locator(".st-key-previous_page button").click()
    expect(book.locator(".st-key-book_head")).to_contain_text("Page 2 of 3")
    expect(book.locator(".oq-article")).to_contain_text("built of elm")


def test_a_collection_of_any_name_is_asked_by_the_examples_made_from_its_titles(
    chromium: Browser, tmp_path: Path
) -> None:
    with serving(tmp_path) as site, visiting(chromium, site) as app:
        app.open("/")
        expect(app.button("example_1")).to_contain_text("chunk overlap")
        article = (
            b"# The Mills of the Valley\n\nThe mills of the valley ground barley for beer in the winter."
        )
        add(app, "reports", upload("mills.md", article, "text/markdown"))
        app.open("/library")
        expect(app.page.get_by_role("combobox", name="Collection")).to_have_value("reports")
        app.open("/")
        app.keyed("places").get_by_role("radio", name="My documents").click()
        expect(app.button("example_1")).to_have_text("What does “The Mills of the Valley” say?")
        expect(app.button("example_2")).to_have_count(0)
        app.button("example_1").click()
        app.finished()
        expect(app.page.get_by_text("There is no collection")).to_have_count(0)
        expect(app.answer).to_contain_text("ground barley for beer")


def test_the_same_file_again_is_already_there_and_a_broken_one_says_why(library_app: App) -> None:
    add(library_app, "twice", upload("ferries.pdf", FERRIES))
    add(library_app, "twice", upload("again.pdf", FERRIES), upload("broken.pdf", b"%PDF-1.7 cut off"))
    report = library_app.keyed("ingest_report")
    expect(report).to_contain_text("already")
    expect(report).to_contain_text("0 added, 1 skipped, 1 failed")
    expect(report.locator(".oq-hit").first).to_contain_text("broken.pdf")


def test_a_large_file_comes_through_and_says_what_was_left_out(library_app: App, tmp_path: Path) -> None:
    padded = tmp_path / "padded.txt"
    padded.write_bytes(b"A heron stands in the reeds." + b" " * 30_000_000)
    add(library_app, "large", padded)
    report = library_app.keyed("ingest_report")
    expect(report).to_contain_text("padded.txt")
    expect(report).to_contain_text("only the first 5,000,000 characters were read")


def test_a_zip_is_unpacked_searched_and_a_document_of_it_deleted(library_app: App) -> None:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        archive.writestr(
            "notes/ponds.md", "# Ponds\n\nCarp were kept in the upper pond for the winter table.\n"
        )
        archive.writestr("prices.csv", "crop,price\nbarley,12\nrye,9\n")
        archive.writestr("mills.txt", "The mill at the weir ground rye.\n")
    add(library_app, "notes", upload("notes.zip", body.getvalue(), "application/zip"))

    library_app.open_tab("Search")
    words = library_app.field("inside_words")
    words.fill("Which fish were eaten in winter?")
    words.press("Enter")
    first = library_app.page.locator(".oq-found .oq-hit").first
    expect(first.locator("p")).to_have_text(re.compile(r"^Ponds\s+Carp were kept in the upper pond"))
    expect(library_app.own("facts").first.locator(".who")).to_have_text("MiniLM-L6-v2 (built in)")
    expect(first.get_by_role("link")).to_be_visible()

    library_app.open_tab("Documents")
    grid = library_app.page.get_by_test_id("data-grid-canvas").first
    expect(grid).to_be_visible()
    library_app.cell(2, 120)
    title = library_app.keyed("chosen_document").locator("strong").inner_text()
    expect(library_app.checked("documents")).to_contain_text(title)
    library_app.field("document_words").fill(title)
    library_app.field("document_words").press("Enter")
    expect(library_app.keyed("documents").locator("tbody tr")).to_have_count(1)
    expect(library_app.checked("documents")).to_contain_text(title)
    expect(library_app.keyed("chosen_document")).to_contain_text(title)
    library_app.field("document_words").fill("")
    library_app.field("document_words").press("Enter")
    expect(library_app.keyed("documents").locator("tbody tr")).to_have_count(3)
    expect(library_app.checked("documents")).to_contain_text(title)
    library_app.button("ask_delete_document").click()
    library_app.button("delete_document").click()
    expect(library_app.field("document_words")).to_have_attribute("placeholder", "Filter 2 documents …")
    expect(library_app.page.get_by_text("Select a row to open")).to_be_visible()
    expect(library_app.keyed("delete_document")).to_have_count(0)


def test_a_collection_is_made_and_deleted(library_app: App) -> None:
    library_app.open("/library")
    library_app.button("ask_new").click()
    library_app.field("new_collection").fill("../etc")
    library_app.button("make_collection").click()
    expect(library_app.page.get_by_test_id("stAlert")).to_contain_text("cannot be a collection's name")

    library_app.field("new_collection").fill("short_lived")
    library_app.button("make_collection").click()
    expect(library_app.page.get_by_role("combobox", name="Collection")).to_have_value("short_lived")
    library_app.button("ask_drop").click()
    library_app.button("drop_collection").click()
    expect(library_app.page.get_by_role("combobox", name="Collection")).to_have_value("book_content")
