"""The walk of docs/tour.md: each step of the document done, and what it says about it seen.

A test walks it, and so does `python -m bench.tour`, which takes the document's pictures on the way.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from playwright.sync_api import expect

from core.analysis.rankings.null_distribution import NEAREST_DROPPED, UNRELATED_QUESTIONS
from tests.browser.page_objects import QUESTION, App
from tests.browser.server import ROOT

DOCUMENT = " ".join((ROOT / "docs" / "tour.md").read_text("utf-8").split())
DROPPED = "Overlap must be smaller than the chunk size, or the cutting window never advances."
NOWHERE = "A heron slept on one leg behind the granary while the miller was away."
ADDED = "passage boundaries at sentences"
LEFT_OUT = "Chunk Overlap"
FOLLOW_UP = "and what does it cost?"
WORDS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 36: "thirty-six", 61: "sixty-one"}
ORDINALS = {7: "seventh", 8: "eighth"}

Show = Callable[[str, str], None]
"""Called where the document has a picture: its name, and the key of the part at its top, or "" for none."""


def says(claim: str) -> None:
    """The document says this, in these words."""
    assert claim in DOCUMENT, f"docs/tour.md does not say: {claim}"


def number(text: str, pattern: str) -> int:
    """The number in what the page says."""
    found = re.search(pattern, text)
    assert found, f"the page does not say {pattern}: {text}"
    return int(found[1].replace(",", ""))


@dataclass
class Tour:
    app: App
    show: Show

    def walk(self) -> None:
        for step in (
            self.ask,
            self.attrition,
            self.why_not,
            self.queries,
            self.attribution,
            self.scores,
            self.embedding_map,
            self.sources,
            self.answer_without,
            self.extraction,
            self.compare,
            self.versions,
            self.follow_up,
        ):
            step()

    def ask(self) -> None:
        says(f"> {QUESTION}")
        app = self.app
        app.ask()
        app.finished()
        expect(app.keyed("answer_head")).to_contain_text("Extractive")
        app.answer.locator('a[href^="#src-"]').first.click()
        expect(app.keyed("reader_cited").locator("mark")).to_be_in_viewport()
        app.keyed("answer_head").get_by_role("link", name="Explain").click()

    def attrition(self) -> None:
        app = self.app
        chart = app.own("attrition")
        expect(chart).to_be_visible()
        shown = "; ".join(chart.locator(".name").all_text_contents())
        steps = ("extracted", "passages", "in the context", "cited")
        pages, passages, context, cited = (WORDS[number(shown, rf"([\d,]+) {step}")] for step in steps)
        says(
            f"{pages} pages became {passages} passages, of which {context} are in the context and {cited} were cited"
        )
        losses = chart.locator(".lost a")
        counts = [number(loss, r"([\d,]+)") for loss in losses.all_text_contents()]
        losses.nth(counts.index(max(counts))).click()
        app.keyed("flow_items").locator("canvas").first.wait_for()
        ranks = [number(row, r"rank (\d+)") for row in self._rows("flow_items")]
        assert ranks == sorted(ranks), "the passages below the cut-off are not listed best first"
        self.show("attrition", "")

    def why_not(self) -> None:
        says(f"> {DROPPED}")
        app = self.app
        outcome = app.own("trace")
        verdict = app.keyed("why_card").locator(".oq-verdict")
        self._trace(DROPPED)
        expect(outcome).to_have_attribute("data-outcome", "LEFT_OUT")
        app.keyed("reader_trace").locator("mark").wait_for()
        told = verdict.inner_text()
        rank = ORDINALS[number(told, r"Ranked (\d+)\w\w of ")]
        scores = re.search(r"with fused (\S+); the cut-off is at (\S+):", told)
        assert scores, told
        assert float(scores[1]) > float(scores[2])
        says(f"It was found, read, extracted and ranked {rank}, with a better score than the last source.")
        assert "limit per page reached" in told
        says("its page already has three passages there, the limit of the knob *Passages per page*")
        app.keyed("why_card").scroll_into_view_if_needed()
        self.show("why", "")
        self._trace(NOWHERE)
        expect(outcome).to_have_attribute("data-outcome", "NOT_IN_ANY_PAGE")
        self._trace("https://elsewhere.example/page")
        expect(outcome).to_have_attribute("data-outcome", "NEVER_A_HIT")

    def queries(self) -> None:
        says(f"add one: `{ADDED}`")
        app = self.app
        self._view("Queries")
        expect(app.keyed("explain_view")).to_contain_text("One query only")
        app.field("new_query").fill(ADDED)
        app.button("search_more").click()
        expect(app.keyed("contributions").locator("tbody tr")).to_have_count(2)
        app.at_rest()
        app.button("queries_off").nth(0).click()
        facts = app.keyed("explain_view").locator(".oq-facts").first
        expect(facts).to_contain_text("5 of 6 sources in both")
        expect(facts).to_contain_text("+1 entered")
        expect(facts).to_contain_text("−1 left")
        says("five of the six passages stay in the context, because the second query found their pages too")
        app.keyed("query_overlap").locator(".heatmaplayer").wait_for()
        self.show("queries", "")

    def attribution(self) -> None:
        app = self.app
        self._view("Attribution")
        expect(app.page.locator(".oq-matrix td a.cited").first).to_be_visible()
        app.page.locator(".oq-matrix td a").nth(1).click()
        app.keyed("reader_cell").locator("mark").wait_for()
        expect(app.own("pair")).to_be_visible()
        self.show("attribution", "")

    def scores(self) -> None:
        used = len(UNRELATED_QUESTIONS) - NEAREST_DROPPED
        says(f"compares the scores of this question with those of {WORDS[used]} unrelated questions")
        self._view("Scores")
        for chart in ("null_distribution", "score_curve"):
            self.app.keyed(chart).locator(".scatterlayer").first.wait_for()
        expect(self.app.keyed("score_curve")).to_contain_text("elbow")
        self.show("scores", "")

    def embedding_map(self) -> None:
        app = self.app
        self._view("Map")
        chart = app.keyed("embedding_map")
        chart.locator(".scatterlayer").wait_for()
        for colour in ("source", "score", "query", "topic"):
            expect(app.keyed("colour_by").get_by_role("radio", name=colour)).to_be_visible()
        app.keyed("colour_by").get_by_role("radio", name="topic").click()
        expect(chart.locator(".legend").get_by_text("other pages")).to_have_count(0)
        expect(app.keyed("neighbours").locator("canvas").first).to_be_visible()
        self.show("map", "")

    def sources(self) -> None:
        app = self.app
        self._view("Sources")
        limit = app.keyed("duplicate_limit").get_by_role("radio", name="at most 1")
        limit.click()
        expect(limit).to_be_checked()
        expect(app.own("facts").first).to_contain_text("0 → 0 passages of the context that repeat another")
        says("no article of the handbook repeats another, so here it changes nothing")
        app.field("left_out").scroll_into_view_if_needed()
        app.drawn()  # a list closes when the page scrolls below it
        app.field("left_out").click()
        app.page.get_by_role("option", name=LEFT_OUT).click()
        app.field("left_out").press("Escape")
        app.page.locator('[class*="st-key-without_"] canvas').first.wait_for()
        left = number(app.keyed("explain_view").locator(".oq-facts").nth(1).inner_text(), "−(\\d+)\\s*left")
        says(f"leave out *{LEFT_OUT}*: {WORDS[left]} of the six passages leave the context")
        self.show("sources", "duplicate_limit_head")

    def answer_without(self) -> None:
        app = self.app
        says("Then press **Answer without this page**.")
        app.page.get_by_role("button", name="Answer without this page").click()
        flow = app.page.locator(".oq-text.flow")
        expect(flow.locator("del").first).to_be_visible()
        expect(flow.locator("ins").first).to_be_visible()
        self.show("without", "without_head")
        app.keyed("version_body_b").locator("a").first.click()
        expect(app.keyed("reader_source").locator("mark")).to_be_visible()

    def extraction(self) -> None:
        app = self.app
        self._view("Extraction")
        article = app.page.locator(".oq-text.diff")
        expect(article.locator("del").first).to_be_visible()
        self.show("extraction", "")
        says("press **Rank with visible**")
        for extractor in (
            "visible",
            "accurate",
        ):  # and back, so that the next steps are those of the document
            app.keyed("extraction_by").get_by_role("radio", name=extractor).click()
            app.page.get_by_role("button", name=f"Rank with {extractor}").click()
            expect(app.page.get_by_role("button", name="In use")).to_be_visible()
            app.at_rest()

    def compare(self) -> None:
        app = self.app
        app.explain("What if")
        expect(app.keyed("varied_b_strategy")).to_contain_text("Ranking fused →")
        expect(app.keyed("side_b_rank_strategy").get_by_role("radio", name="cosine")).to_be_checked()
        for change in ("entered", "left"):
            expect(app.keyed("rank_lines").locator(".oq-legend")).to_contain_text(change)
        app.button("answer_both").click()
        app.keyed("answer_pair").locator(".oq-figures").wait_for()
        self.show("compare", "")

    def versions(self) -> None:
        app = self.app
        app.page.get_by_role("link", name="Answer", exact=True).click()
        app.finished()
        app.at_rest()
        for _ in range(3):
            app.slider("rank_top_k").press("ArrowLeft")
        expect(app.slider("rank_top_k")).to_have_value("3")
        app.button("answer_again").click()
        app.page.get_by_role("link", name="Compare with 1 earlier answer").click()
        app.own("figures").wait_for()
        expect(app.keyed("version_choice")).to_be_visible()
        self.show("versions", "")

    def follow_up(self) -> None:
        says(f"> {FOLLOW_UP}")
        app = self.app
        app.page.get_by_role("link", name="Answer", exact=True).click()
        app.finished()
        first = app.shown_run()
        app.field("follow_up_line").fill(FOLLOW_UP)
        app.field("follow_up_line").press("Enter")
        app.own("added").wait_for()
        app.at_rest()
        choice = app.keyed("answer_from").get_by_role("radio", name="The pages in hand")
        expect(choice).to_be_checked()
        says("The passages in hand cover the question, so nothing is searched or fetched.")
        self.show("draft", "follow_up")
        app.button("follow_up_ask").click()
        app.until(f"!location.search.includes('run={first}')")
        app.finished_turn()
        expect(app.keyed("answer_card")).to_contain_text("Turn 2 of 2, from the pages in hand")
        expect(app.keyed("turn_1")).to_be_visible()
        self.show("conversation", "turn_1")

    # --- on the Explain page ------------------------------------------------------------------------------

    def _view(self, name: str) -> None:
        self.app.page.mouse.wheel(0, -5000)
        self.app.explain(name)

    def _trace(self, sought: str) -> None:
        self.app.keyed("why").locator("textarea").fill(sought)
        self.app.button("trace").click()

    def _rows(self, table: str) -> Sequence[str]:
        return self.app.keyed(table).locator("tbody tr").all_text_contents()
