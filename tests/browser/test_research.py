"""The Ask page as a person uses it, in a real browser."""

import base64
import json
import re
from collections.abc import Iterable
from pathlib import Path

from playwright.sync_api import expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.page_objects import QUESTION, App
from tests.services.loopback import Gate
from tests.services.openai_server import FakeOpenAI, streamed

PHASES = ("plan", "search", "read", "chunk", "embed", "rank", "answer")
TEXT = 220
"""Pixels from the left edge of the passage table to the middle of a passage's text."""
QUERIES = '["chunk overlap", "passage boundaries"]'


def done_or_running(state: str) -> re.Pattern[str]:
    return re.compile(rf"\b({state})\b")


def test_a_question_is_answered_with_every_phase_on_screen(app: App) -> None:
    app.open()
    app.use_demo_library()
    app.type_number("search_results", "4")
    expect(app.slider("search_results")).to_have_value("4")
    group = app.keyed("group_search").locator("summary")
    app.at_rest()  # a group that is drawn at the moment of the click stays open
    group.click()
    expect(app.slider("search_results")).to_have_count(0)
    app.at_rest()
    group.click()  # a closed group keeps what was typed
    expect(app.slider("search_results")).to_have_value("4")
    expect(app.changed_settings).to_contain_text("Results per query 4 was 5")
    app.field("question").fill(QUESTION)
    app.number_field("rank_top_k").fill("5")
    app.go.click()  # which ends the typing too
    app.finished()
    expect(app.slider("rank_top_k")).to_have_value("5")
    expect(app.own("tuned")).to_have_count(0)
    for phase in PHASES:
        expect(app.step(phase)).to_have_class(done_or_running("done"))
    expect(app.answer.locator('a[href^="#src-"]').first).to_be_visible()
    expect(app.own("source")).to_have_count(5)
    head = app.keyed("answer_head")
    expect(head).to_contain_text("Extractive")
    expect(head).to_contain_text("Demo library")
    expect(app.keyed("map").locator(".scatterlayer")).to_be_visible()


def test_a_citation_is_previewed_and_opens_its_passage(answered: App) -> None:
    preview, citation = answered.preview, answered.answer.locator('a[href^="#src-"]').first
    number = (citation.get_attribute("href") or "").removeprefix("#src-")
    card = answered.page.locator(f"#src-{number}")
    expect(preview).to_be_hidden()
    citation.hover()
    expect(preview).to_be_visible()
    expect(preview.locator("b")).to_have_text(answered.source_page(card))
    expect(preview.locator("p")).to_have_text(card.locator(".s").text_content() or "")
    preview.hover()
    answered.page.get_by_role("textbox", name="Question").hover()
    expect(preview).to_be_hidden()
    # The keyboard: forwards from what stands before the citations, and Escape closes it where it is.
    answered.keyed("export").get_by_role("button").focus()
    answered.page.keyboard.press("Tab")
    expect(citation).to_be_focused()
    expect(preview).to_be_visible()
    expect(citation).to_have_attribute("aria-describedby", "oq-preview")
    answered.page.keyboard.press("Escape")
    expect(preview).to_be_hidden()
    expect(citation).to_be_focused()
    answered.page.keyboard.press("Enter")
    reader = answered.keyed("reader_cited")
    expect(reader).to_contain_text(f"Source {number}")
    expect(reader.locator("mark")).to_be_in_viewport()
    article = reader.locator(".oq-article").inner_text()
    assert len(article) > 2 * len(reader.locator("mark").inner_text()) > 0
    expect(card).to_have_class(done_or_running("on"))
    expect(reader.get_by_role("link", name="Open")).to_have_attribute(
        "href", re.compile("/handbook\\?article=")
    )
    reader.get_by_role("button", name="Close").click()
    expect(reader).to_have_count(0)
    answered.at_rest()
    a_preview_goes_with_the_click_and_with_scrolling(answered)
    answered.page.locator("#src-5").click()
    expect(reader).to_contain_text("Source 5")
    answer = answered.answer.inner_text()
    answered.page.reload()
    answered.finished()
    expect(answered.answer).to_have_text(answer, use_inner_text=True)
    expect(answered.field("question")).to_have_value(QUESTION)


def a_preview_goes_with_the_click_and_with_scrolling(answered: App) -> None:
    preview, mouse = answered.preview, answered.page.mouse
    citation = answered.answer.locator('a[href^="#src-"]').first

    def point() -> None:
        answered.page.get_by_role("textbox", name="Question").hover()
        citation.hover()
        expect(preview).to_be_visible()

    point()
    citation.click()
    expect(answered.keyed("reader_cited").locator("mark")).to_be_visible()
    answered.at_rest()
    expect(preview).to_be_hidden()
    box = answered.place(citation)
    mouse.move(box["x"] + 3, box["y"] + 3)  # a hand that rests on it
    answered.drawn()
    expect(preview).to_be_hidden()
    answered.page.set_viewport_size({"width": 1500, "height": 600})  # less than the page, so that it scrolls
    for close in (
        lambda: answered.page.keyboard.press("Escape"),
        lambda: mouse.move(5, 5),
        lambda: mouse.wheel(0, 40),
    ):
        point()
        close()
        expect(preview).to_be_hidden()
        answered.page.evaluate("scrollTo(0, 0)")


def test_a_click_on_a_cell_opens_its_passage(answered: App) -> None:
    reader, checked = answered.keyed("reader_row"), answered.checked("passages")

    def agree() -> None:
        answered.at_rest()
        rank = re.search(r"Rank (\d+)", reader.inner_text())
        assert rank
        expect(checked).to_have_count(1)
        expect(checked.locator("td").first).to_have_text(rank[1])
        expect(checked).to_contain_text(" ".join(reader.locator("mark").inner_text().split())[:40])

    answered.cell(4, TEXT)
    expect(reader).to_contain_text("Rank 4")
    agree()
    answered.page.keyboard.press("ArrowDown")
    expect(reader).to_contain_text("Rank 5")
    agree()
    passage = reader.locator("mark").inner_text()
    answered.field("filter_words").fill(max(passage.split(), key=len))
    answered.field("filter_words").press("Enter")
    expect(answered.keyed("passage_caption")).to_contain_text("shown")
    agree()
    answered.knob("rank_strategy").get_by_role("radio", name="BM25").click()
    expect(answered.own("tuned")).to_be_visible()
    agree()
    expect(reader.locator("mark")).to_have_text(passage, use_inner_text=True)
    reader.get_by_role("button", name="Close").click()
    expect(reader).to_have_count(0)
    expect(checked).to_have_count(0)
    answered.cell(1, TEXT)
    agree()
    reader.get_by_role("button", name="Close").click()
    answered.field("filter_words").fill("")
    answered.field("filter_words").press("Enter")
    expect(answered.keyed("passage_caption")).not_to_contain_text("shown")
    answered.keyed("filter_context").get_by_text("Only in context").click()
    expect(answered.keyed("passage_caption")).to_contain_text("6 of")
    answered.slider("rank_top_k").press("ArrowLeft")
    expect(answered.keyed("passage_caption")).to_contain_text("5 of")
    answered.keyed("filter_context").get_by_text("Only in context").click()
    expect(answered.keyed("passage_caption")).not_to_contain_text("shown")
    answered.at_rest()
    answered.cell(2, 16)
    agree()
    first = answered.keyed("passages").locator("tbody tr td").first
    expect(first).to_have_text("1")
    answered.cell(0, 400)
    expect(first).not_to_have_text("1")


def test_a_slider_move_sends_at_most_60_kilobytes(answered: App) -> None:
    """What the browser receives over the websocket in the script run that draws the move, with 61 passages.

    Others may draw before and after it: the rest of the page, and fragments that were drawing when it was pressed.
    """
    expect(answered.step("chunk").locator(".count")).to_contain_text("61")
    answered.at_rest()
    session = answered.page.context.new_cdp_session(answered.page)
    session.send("Network.enable")
    frames: list[bytes] = []
    session.on(
        "Network.webSocketFrameReceived",
        lambda event: frames.append(base64.b64decode(event["response"]["payloadData"])),
    )
    address = f"{answered.page.url}&set=rank.top_k%3A7"
    answered.slider("rank_top_k").press("ArrowRight")
    expect(answered.own("tuned")).to_contain_text("+1 added")
    expect(answered.step("rank").locator(".count")).to_contain_text("7")
    expect(answered.page).to_have_url(address)
    answered.at_rest()
    moves = [run for run in script_runs(frames) if any(b"oq-tuned" in frame for frame in run)]
    sizes = [sum(map(len, run)) for run in moves]
    # A slow machine may break the first run off, or draw the whole page once more when the address has the move.
    assert min(size for size in sizes if size > 20_000) < 60_000, sizes


def script_runs(frames: Iterable[bytes]) -> list[list[bytes]]:
    """The messages of each run of the script, which begins with one that names it."""
    runs: list[list[bytes]] = [[]]
    for frame in frames:
        message = ForwardMsg()
        message.ParseFromString(frame)
        if message.WhichOneof("type") == "new_session":
            runs.append([])
        runs[-1].append(frame)
    return runs


def test_a_run_is_exported_whole(answered: App) -> None:
    answered.button("export").click()
    answered.more_formats()
    with answered.page.expect_download() as coming:
        answered.button("export_json").click()
    run = json.loads(Path(coming.value.path()).read_bytes())
    assert coming.value.suggested_filename == "how-does-chunk-overlap-affect-retrieval.json"
    assert run["question"] == QUESTION
    assert len(run["pages"]) == 5
    with answered.page.expect_download() as coming:
        answered.button("export_md").click()
    assert coming.value.suggested_filename == "how-does-chunk-overlap-affect-retrieval.md"
    document = Path(coming.value.path()).read_text("utf-8")
    assert document.startswith(f"# {QUESTION}\n")
    assert "](#source-1)" in document and "\n### Source 1\n" in document
    with answered.page.expect_download() as coming:
        answered.button("export_html").click()
    assert coming.value.suggested_filename == "how-does-chunk-overlap-affect-retrieval.html"
    assert 'id="part-manifest"' in Path(coming.value.path()).read_text("utf-8")


def test_the_answer_streams_and_survives_a_reload(model_app: App, model: FakeOpenAI) -> None:
    gate = Gate()
    model.chats.append(streamed(QUERIES))
    model.chats.append(
        streamed("Overlap keeps facts whole [1]. ", gate, "It costs space [2]. Some say [Source 77].")
    )
    model_app.ask()
    expect(model_app.answer).to_contain_text("keeps facts whole")
    expect(model_app.step("answer")).to_have_class(done_or_running("running"))
    model_app.page.reload()
    expect(model_app.answer).to_contain_text("keeps facts whole")
    expect(model_app.stop).to_be_visible()
    model_app.open_tab("Search hits")
    expect(model_app.own("chip")).to_have_count(2)
    model_app.slider("rank_top_k").press("ArrowRight")
    gate.open()
    model_app.finished()
    expect(model_app.answer).to_contain_text("It costs space")
    expect(model_app.answer.locator("del")).to_have_text("[77]")
    expect(model_app.answer.locator('a[href="#src-77"]')).to_have_count(0)
    assert len(model.chats) == 0
    model_app.open_tab("Prompt")
    expect(model_app.own("prompt").first).to_contain_text("You answer questions")
