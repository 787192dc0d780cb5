"""The Library in a real browser: documents in, a question, a citation that leads to the page it stands on."""

from pathlib import Path

from playwright.sync_api import expect

from tests.browser.page_objects import App
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


def add(app: App, collection: str, *files: Path) -> None:
    """Open a collection on the Library page and add these files to it."""
    app.open(f"/library?collection={collection}")
    if app.page.get_by_role("tab", name="Add").count():  # a collection that holds nothing has no tabs
        app.open_tab("Add")
    app.keyed("uploads").locator("input[type=file]").set_input_files(list(files))
    expect(app.page.get_by_test_id("stFileChip")).to_have_count(len(files))
    app.button("add_files").click()
    expect(app.keyed("ingest_report")).to_contain_text("Import finished")
    app.at_rest()


def test_pdf_is_added_asked_and_cited_by_page(app: App, tmp_path: Path) -> None:
    large = b"A heron stands in the reeds." + b" " * 30_000_000
    files = {"mills.pdf": MILLS, "ferries.pdf": FERRIES, "padded.txt": large}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    add(app, "book_content", *(tmp_path / name for name in files))
    report = app.keyed("ingest_report")
    for told in ("mills.pdf", "padded.txt", "only the first 5,000,000 characters were read"):
        expect(report).to_contain_text(told)

    app.open("/")
    app.search_in("My documents")
    expect(app.button("example_1")).to_be_visible()
    collections = app.keyed("knob_search_collections").get_by_role("combobox")
    expect(collections).to_have_attribute("placeholder", "All collections")
    box = app.field("question")
    box.fill(QUESTION)
    box.press("Control+Enter")
    app.finished()
    expect(app.answer).to_contain_text("four metres deep")
    app.answer.locator('a[href^="#src-"]').first.click()
    reader = app.keyed("reader_cited")
    expect(reader).to_contain_text("page 3")
    with app.page.context.expect_page() as opened:
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
