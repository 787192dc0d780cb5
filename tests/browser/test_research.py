"""The Research page as a person uses it, in a real browser."""

import base64
import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from core.run.events import Answered, Checked, Record
from core.stages.check import check
from tests.browser.page_objects import QUESTION, App
from tests.methods.agent_runs import OVERLAP
from tests.seeding import store_copy
from tests.services.loopback import Gate
from tests.services.openai_server import FakeOpenAI, called, streamed

PHASES = ("plan", "search", "read", "chunk", "embed", "rank", "answer")
TEXT = 220
"""Pixels from the left edge of the passage table to the middle of a passage's text."""
QUERIES = '["chunk overlap", "passage boundaries"]'


def done_or_running(state: str) -> re.Pattern[str]:
    return re.compile(rf"\b({state})\b")


def test_a_question_is_answered_with_every_phase_on_screen(app: App) -> None:
    app.ask()
    app.finished()
    for phase in PHASES:
        expect(app.step(phase)).to_have_class(done_or_running("done"))
    expect(app.answer.locator('a[href^="#src-"]').first).to_be_visible()
    expect(app.own("source")).to_have_count(6)
    head = app.keyed("answer_head")
    expect(head).to_contain_text("Extractive")
    expect(head).to_contain_text("Demo library")
    expect(app.keyed("map").locator(".scatterlayer")).to_be_visible()


def test_a_citation_brings_up_its_passage_marked_inside_the_article(answered: App) -> None:
    citation = answered.answer.locator('a[href^="#src-"]').first
    number = (citation.get_attribute("href") or "").removeprefix("#src-")
    citation.click()
    reader = answered.keyed("reader_cited")
    mark = reader.locator("mark")
    expect(mark).to_be_visible()
    expect(mark).to_be_in_viewport()
    article = reader.locator(".oq-article").inner_text()
    assert len(article) > 2 * len(mark.inner_text()) > 0
    expect(answered.page.locator(f"#src-{number}")).to_have_class(done_or_running("on"))
    expect(reader.get_by_role("link", name="Open")).to_have_attribute(
        "href", re.compile("/handbook\\?article=")
    )
    reader.get_by_role("button", name="Close").click()
    expect(reader).to_have_count(0)
    answered.page.locator("#src-5").click()
    expect(answered.keyed("reader_cited")).to_contain_text("Source 5")


def test_a_citation_that_is_pointed_at_or_focused_shows_its_source(answered: App) -> None:
    preview, citation = answered.preview, answered.answer.locator('a[href^="#src-"]').first
    number = (citation.get_attribute("href") or "").removeprefix("#src-")
    card = answered.page.locator(f"#src-{number}")
    passage = card.locator(".s").text_content() or ""
    expect(preview).to_be_hidden()
    citation.hover()
    expect(preview).to_be_visible()
    expect(preview.locator("b")).to_have_text(answered.source_page(card))
    expect(preview.locator("p")).to_have_text(passage)
    preview.hover()
    answered.own("question").hover()
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
    expect(answered.keyed("reader_cited")).to_contain_text(f"Source {number}")


def test_a_preview_goes_with_the_click_with_escape_on_leave_and_with_scrolling(answered: App) -> None:
    preview, mouse = answered.preview, answered.page.mouse
    citation = answered.answer.locator('a[href^="#src-"]').first

    def point() -> None:
        answered.own("question").hover()
        citation.hover()
        expect(preview).to_be_visible()

    point()
    citation.click()
    expect(answered.keyed("reader_cited").locator("mark")).to_be_visible()
    answered.at_rest()
    expect(preview).to_be_hidden()
    box = citation.bounding_box()
    assert box
    mouse.move(box["x"] + 3, box["y"] + 3)  # a hand that rests on it
    answered.drawn()
    expect(preview).to_be_hidden()
    for close in (
        lambda: answered.page.keyboard.press("Escape"),
        lambda: answered.own("question").hover(),
        lambda: mouse.wheel(0, 40),
    ):
        point()
        close()
        expect(preview).to_be_hidden()
        answered.page.evaluate("scrollTo(0, 0)")


def test_a_row_of_the_table_brings_up_its_passage(answered: App) -> None:
    answered.cell(2, 16)
    reader = answered.keyed("reader_row")
    expect(reader.locator("mark")).to_be_visible()
    expect(reader).to_contain_text("Rank 2")
    answered.keyed("filter_context").locator("label").click()
    expect(answered.keyed("results")).to_contain_text("6 of ")
    answered.field("filter_words").fill("zzzz")
    answered.field("filter_words").press("Enter")
    expect(answered.keyed("results")).to_contain_text("0 of ")
    assert answered.answer.inner_text()


def test_a_click_on_a_cell_opens_its_passage_which_stays_checked(answered: App) -> None:
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
    expect(answered.keyed("passage_caption")).not_to_contain_text(re.compile(r"(\d+) of \1 shown"))
    agree()
    answered.keyed("knob_rank_strategy").get_by_role("radio", name="bm25").click()
    expect(answered.own("tuned")).to_be_visible()
    agree()
    expect(reader.locator("mark")).to_have_text(passage, use_inner_text=True)
    reader.get_by_role("button", name="Close").click()
    expect(reader).to_have_count(0)
    expect(checked).to_have_count(0)
    answered.cell(1, TEXT)
    agree()


def test_the_table_is_sorted_by_a_click_on_its_head(answered: App) -> None:
    first = answered.keyed("passages").locator("tbody tr td").first
    expect(first).to_have_text("1")
    answered.cell(0, 400)
    expect(first).not_to_have_text("1")


def test_a_slider_moves_the_ranking_without_fetching_anything(answered: App) -> None:
    address = f"{answered.page.url}&set=rank.top_k%3A7"
    answer = answered.answer.inner_text()
    read = answered.step("read").text_content()
    answered.slider("rank_top_k").press("ArrowRight")
    expect(answered.step("rank").locator(".count")).to_contain_text("7")
    told = answered.own("tuned")
    expect(told).to_contain_text("+1 added")
    expect(told).to_contain_text("0 vectors computed")
    expect(answered.page).to_have_url(address)
    assert answered.answer.inner_text() == answer
    assert answered.step("read").text_content() == read
    answered.button("reset").click()
    expect(answered.step("rank").locator(".count")).to_contain_text("6")
    expect(told).to_have_count(0)


def test_a_slider_move_sends_at_most_60_kilobytes(answered: App) -> None:
    """What the browser receives over the websocket in the script run that draws the move, with 61 passages.

    Others may draw before and after it: the rest of the page, and fragments that were drawing when it was pressed.
    """
    expect(answered.keyed("passage_caption")).to_contain_text("61 of 61 shown")
    answered.at_rest()
    session = answered.page.context.new_cdp_session(answered.page)
    session.send("Network.enable")
    frames: list[bytes] = []
    session.on(
        "Network.webSocketFrameReceived",
        lambda event: frames.append(base64.b64decode(event["response"]["payloadData"])),
    )
    answered.slider("rank_top_k").press("ArrowRight")
    expect(answered.own("tuned")).to_contain_text("+1 added")
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


def test_smaller_passages_are_cut_from_the_pages_in_hand_and_answered_again(answered: App) -> None:
    before = answered.step("chunk").locator(".count").inner_text()
    answered.slider("chunk_size").press("ArrowLeft")
    expect(answered.step("chunk").locator(".count")).not_to_have_text(before)
    expect(answered.own("tuned")).to_contain_text("context tokens")
    answered.button("answer_again").click()
    expect(answered.keyed("answer_again")).to_have_count(0)
    answered.finished()
    expect(answered.own("tuned")).to_have_count(0)


def test_every_tab_shows_its_part_of_the_run(answered: App) -> None:
    answered.open_tab("Search hits")
    expect(answered.page.locator(".oq-hit.full")).to_have_count(5)
    expect(answered.page.locator(".oq-hit.full").first).to_contain_text("Q1 #1")
    answered.open_tab("Pages")
    first = answered.keyed("article_1")
    expect(first).to_contain_text("characters")
    first.locator("summary").click()
    expect(first.locator(".oq-article")).to_contain_text("Chunk")
    answered.open_tab("Timeline")
    expect(answered.page.locator(".oq-gantt .row.phase")).to_have_count(7)
    expect(answered.page.locator(".oq-gantt .row.page")).to_have_count(5)
    expect(answered.page.locator(".oq-gantt .row.page b.fetch")).to_have_count(5)
    expect(answered.own("legend")).to_contain_text("extracting its text")
    answered.open_tab("Prompt")
    expect(answered.keyed("results")).to_contain_text("No prompt")


def test_reloading_a_finished_run_shows_it_again(answered: App) -> None:
    answer = answered.answer.inner_text()
    answered.page.reload()
    answered.finished()
    expect(answered.answer).to_have_text(answer, use_inner_text=True)
    expect(answered.field("question")).to_have_value(QUESTION)


def test_looking_at_another_page_and_back_keeps_the_run(answered: App) -> None:
    answered.page.get_by_role("link", name="History").click()
    expect(answered.listed(QUESTION).first).to_be_attached()
    answered.page.get_by_role("link", name="Research").click()
    answered.finished()
    expect(answered.page).to_have_url(re.compile(r"\?run="))


def test_an_empty_or_endless_question_is_refused_with_a_reason(app: App) -> None:
    app.open()
    app.go.click()
    expect(app.page.locator(".stAlert")).to_contain_text("The question is empty")
    app.field("question").fill("why " * 300)
    app.go.click()
    expect(app.page.locator(".stAlert")).to_contain_text("the limit is 1,000")


@pytest.mark.parametrize(
    ("path", "heading"), [("/runs", "History"), ("/handbook", "Handbook"), ("/system", "System")]
)
def test_every_page_can_be_the_first(app: App, path: str, heading: str) -> None:
    app.open(path)
    expect(app.page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    expect(app.page.get_by_role("link", name="Research")).to_be_visible()


def test_the_handbook_opens_the_article_that_its_address_names(app: App) -> None:
    app.open("/handbook?article=chunk-overlap")
    expect(app.page.get_by_role("heading", name="Chunk Overlap", exact=True)).to_be_visible()
    app.page.get_by_role("link", name="Previous: Chunk Size").click()
    expect(app.page.get_by_role("heading", name="Chunk Size", exact=True)).to_be_visible()
    app.page.get_by_role("link", name="Next: Chunk Overlap").click()
    expect(app.page.get_by_role("heading", name="Chunk Overlap", exact=True)).to_be_visible()


def test_a_run_is_exported_whole(answered: App) -> None:
    answered.button("export").click()
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


def test_a_great_table_scrolls_inside_its_card_and_reads_from_its_own_side(
    app: App, demo_records: tuple[Record, ...]
) -> None:
    rows = "".join(f"| {number} | {'wide' * 30} | مطحنة المد [1] |\n" for number in range(150))
    text = f"| number | word | الاسم |\n|---|---|---|\n{rows}\nهذه جملة [1]."

    def changed(record: Record) -> Record:
        match record.event:
            case Answered(answer=answer):
                return replace(record, event=Answered(replace(answer, text=text)))
            case Checked():
                return replace(record, event=Checked(check(text, range(1, 2))))
            case _:
                return record

    app.open(f"/?run={store_copy(app.site.folder, map(changed, demo_records))}")
    app.finished()
    table = app.answer.locator("table")
    expect(table.locator("tbody tr")).to_have_count(150)
    width, height, inside = table.evaluate("one => [one.offsetWidth, one.clientHeight, one.scrollHeight]")
    assert width <= table.evaluate("one => one.closest('.st-key-answer_card').clientWidth")
    assert 100 < height < 1000 < inside
    assert app.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    line = app.answer.locator("p").last
    right, edge = line.evaluate(
        """one => {
            const words = document.createRange();
            words.selectNodeContents(one);
            return [words.getBoundingClientRect().right, one.getBoundingClientRect().right];
        }"""
    )
    assert abs(right - edge) < 2, "the sentence begins at the right"


def test_markup_in_a_question_stays_words(app: App) -> None:
    hostile = (
        "<img src=x onerror=alert(1)> **overlap** [x](javascript:alert(2)) ![y](https://evil.example/p.png) "
        ":material/home: $x$ <script>alert(3)</script> chunk retrieval"
    )
    app.ask(hostile)
    app.finished()
    expect(app.own("question")).to_have_text(hostile)
    for name in ("Search hits", "Pages", "Timeline", "Prompt"):
        app.open_tab(name)
    app.page.get_by_role("link", name="History").click()
    expect(app.listed(hostile[:100])).to_have_count(1)


# --- with a chat model ------------------------------------------------------------------------------------


def test_the_answer_streams_and_survives_a_reload(model_app: App, model: FakeOpenAI) -> None:
    gate = Gate()
    model.chats.append(streamed(QUERIES))
    model.chats.append(
        streamed("Overlap keeps facts whole [1]. ", gate, "It costs space [2]. Some say [77].")
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


def test_stop_ends_the_run_and_keeps_what_came(model_app: App, model: FakeOpenAI) -> None:
    gate = Gate()
    asked = len(model.chat_requests)
    model.chats.append(streamed(QUERIES))
    model.chats.append(streamed("Half of an answer [1]. ", gate, "Never sent."))
    model_app.ask()
    expect(model_app.answer).to_contain_text("Half of an answer")
    assert len(model.chat_requests) == asked + 2
    model_app.stop.click()
    expect(model_app.keyed("answer_head")).to_contain_text("stopped")
    expect(model_app.go).to_be_visible()
    expect(model_app.answer).to_contain_text("Half of an answer")
    expect(model_app.step("answer")).to_have_class(done_or_running("cut"))
    gate.open()


def test_an_answer_cannot_act(model_app: App, model: FakeOpenAI) -> None:
    hostile = (
        "Seen [1]. ![p](https://evil.example/p.png?d=1) [click](javascript:alert(1)) <img src=x onerror=alert(2)>\n\n"
        "[1]: https://evil.example\n\nwww.evil.example https://evil.example/x me@evil.example\n\n"
        "<script>alert(3)</script> :red[loud] :smile: $\\frac{1}{2}$\n\n```mermaid\ngraph TD; A-->B\n```\n"
    )
    model.chats.append(streamed(QUERIES))
    model.chats.append(streamed(hostile))
    model_app.ask()
    model_app.finished()
    body = model_app.answer
    expect(body.locator('a[href="#src-1"]').first).to_be_visible()
    expect(body.locator("a:not([href^='#src-'])")).to_have_count(0)
    for element in ("img", "script", "iframe", "svg.flowchart", ".katex"):
        expect(body.locator(element)).to_have_count(0)
    expect(body).to_contain_text("<script>alert(3)</script>")
    expect(body).to_contain_text(":red[loud]")


def test_a_key_typed_into_the_page_is_written_nowhere(model_app: App) -> None:
    canary = "sk-canary-4f1c9d7a"
    model_app.open()
    model_app.keyed("group_access").locator("summary").click()
    field = model_app.field("access_key")
    expect(field).to_have_attribute("type", "password")
    field.fill(canary)
    field.press("Enter")
    expect(field).to_have_value(canary)
    assert canary not in model_app.page.url
    assert canary not in model_app.site.log.read_text("utf-8")
    folder = model_app.site.log.parent / "data"
    assert not [path for path in folder.rglob("*") if path.is_file() and canary.encode() in path.read_bytes()]


def test_a_page_is_excluded_with_one_click_and_the_ranking_follows(answered: App) -> None:
    answered.open_tab("Pages")
    answered.keyed("article_1").locator("summary").click()
    answered.page.get_by_role("button", name="Exclude").click()
    expect(answered.own("tuned")).to_contain_text("removed")
    expect(answered.page.get_by_role("button", name="Include")).to_be_visible()
    answered.page.get_by_role("button", name="Include").click()
    expect(answered.own("tuned")).to_have_count(0)


def test_the_steps_of_an_agent_grow_and_open_with_the_keyboard(model_app: App, model: FakeOpenAI) -> None:
    gate = Gate()
    model.chats += [
        called(("search", {"query": "chunk overlap"}), text="I look for pages."),
        called(("open", {"url": OVERLAP}), ("open", {"url": "http://169.254.10.1/status"})),
        streamed("", gate),
    ]
    model_app.open()
    model_app.use_demo_library()
    model_app.keyed("knob_run_method").get_by_text("agent").click()
    model_app.at_rest()
    model_app.field("question").fill(QUESTION)
    model_app.field("question").press("Control+Enter")
    rows = model_app.own("tool-calls").locator("li")
    expect(rows).to_have_count(3)
    expect(rows.nth(2)).to_contain_text("failed")
    rows.nth(1).locator("summary").focus()
    model_app.page.keyboard.press("Enter")
    expect(rows.nth(1).get_by_role("region", name="Result of step 2")).to_contain_text("characters in")
    gate.open()
    model_app.finished()
    expect(rows).to_have_count(3)
