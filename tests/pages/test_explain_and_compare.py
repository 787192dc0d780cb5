"""The views of the tuning bench over runs with little or nothing in them: a plain word, never a traceback."""

import html
import re
import sys
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from core.analysis.handbook import chapters
from core.config.knobs import Knobs
from core.config.settings import HANDBOOK
from core.run import events as e
from core.run.state import Run
from core.runtime.registry import RunRegistry
from core.stages.check import check
from core.text.facts.named_facts import MOST_SENTENCES
from pages.parts.explain.views import PARTS, VIEW_OF
from tests.analysis.sample import run_of
from tests.pages.conftest import answered, opened, words
from tests.samples import ANSWER, records
from tests.services.openai_server import MARKDOWN_ANSWER

pytestmark = pytest.mark.slow

EXPLAINED = tuple(part for part in PARTS if part != "what-if")


def shown(app: AppTest) -> str:
    return " ".join([*(one.proto.body for one in app.get("html")), *(one.value for one in app.markdown)])


def test_pages_without_any_run_say_how_to_get_one(registry: RunRegistry) -> None:
    for view in ("lost", "what-if"):
        app = opened("explain", view=view)
        assert not app.exception
        assert "No runs yet" in shown(app)


def test_every_part_is_in_a_view_and_links_an_article() -> None:
    assert VIEW_OF.keys() == PARTS.keys(), "add the part to a view in VIEWS of pages/parts/explain/views.py"
    articles = {chapter.slug for chapter in chapters(HANDBOOK)}
    assert {name: part.article for name, part in PARTS.items() if part.article not in articles} == {}


def test_run_that_found_nothing_is_explained_too(registry: RunRegistry) -> None:
    run = answered(registry, "zxqv wvut")
    assert run.index is None
    told = {view: said(run, view) for view in EXPLAINED}
    assert "No search results were found" in told["attrition"]
    assert "One query only" in told["queries"]
    assert "There is no answer" in told["attribution"]
    assert "There is no ranking" in told["scores"]
    assert "There are no ranked passages" in told["map"]
    assert "No page was read" in told["sources"]
    assert "No page was found" in told["extraction"]
    assert "There is no answer" in told["answers"]
    assert "This run has no ranking" in shown(opened("explain", view="what-if", run=run.id))


def test_one_page_and_one_passage_are_enough(registry: RunRegistry) -> None:
    knobs = Knobs.parse(
        {"search": {"backend": "demo", "results": 1}, "chunk": {"size": 4000}, "rank": {"top_k": 1}}
    )
    run = answered(registry, "What is BM25?", knobs)
    assert len(run.pages) == 1
    for view in EXPLAINED:
        said(run, view)
    assert not opened("explain", view="what-if", run=run.id).exception


@pytest.mark.parametrize(("address", "view"), [("nonsense", "lost"), ("evidence", "evidence")])
def test_unknown_view_is_the_first_one(registry: RunRegistry, address: str, view: str) -> None:
    run = answered(registry)
    app = opened("explain", run=run.id, view=address)
    assert not app.exception
    assert app.query_params["view"] == view


def said(run: Run, view: str) -> str:
    app = opened("explain", run=run.id, view=view)
    assert not app.exception
    return shown(app)


def stored(
    registry: RunRegistry,
    *texts: str,
    snippets: bool = False,
    answers: tuple[str, ...] = ("Boats lie there [1].",),
) -> Run:
    """A finished run over pages with these texts, by vectors of words, as the store would give it back."""
    addresses = {f"https://site{number}.example/": text for number, text in enumerate(texts)}
    run = run_of(addresses, size=200)
    assert run.index is not None and run.ranking is not None
    events: list[e.Event] = [
        e.RunStarted(f"of {len(texts)}", run.question, run.knobs, "2026-01-02T03:04:05+00:00"),
        *(e.QueryPlanned(query) for query in run.queries),
        *(e.SearchAnswered(query, reply) for query, reply in run.replies.items()),
        *(e.PageRead(replace(page, snippet_only=snippets)) for page in run.pages.values()),
        *(e.PageChunked(key, run.passages) for key in list(run.pages)[:1]),
        e.Indexed(run.index),
        e.Ranked(run.ranking),
    ]
    for text in answers:
        events += [
            e.SourcesChosen(run.sources),
            e.Answered(replace(ANSWER, text=text)),
            e.Checked(check(text, range(1, len(run.sources) + 1))),
        ]
    events.append(e.RunDone())
    told = Run()
    for record in records(*events):
        told = told.apply(record)
        registry.store.append(told, record)
    return told


@pytest.mark.parametrize("texts", [("One passage about a boat.",), ("The same boat lies here.",) * 4])
def test_single_and_identical_passages_are_shown_in_every_view(
    registry: RunRegistry, texts: tuple[str, ...]
) -> None:
    run = stored(registry, *texts)
    assert run.index is not None and len(run.index.passages) == 1
    for view in EXPLAINED:
        said(run, view)
    assert not opened("explain", view="what-if", run=run.id).exception


MILLS = (
    "The dam of a tide mill must lie above the low-water mark.",
    "A licence for a mill is needed and lapses after 20 years.",
    "The tide waits for nobody.",
)


def test_weak_citations_are_flagged_by_sentence_of_the_markdown(
    registry: RunRegistry,
) -> None:
    run = stored(registry, *MILLS, answers=(MARKDOWN_ANSWER,))
    page = said(run, "attribution")
    table = page[page.index('<div class="oq-matrix"') : page.index("</table>")]
    rows = re.findall(r'<tr><th scope="row" dir="auto">(.*?)(?:<div|</th>)', table)
    assert rows == [html.escape(sentence.text) for sentence in run.check.sentences]
    assert "Siting rules. The dam must lie above the low-water mark." in rows
    assert not any(set("*|#`") & set(row) for row in rows)
    pairs = sum(len(sentence.cites) for sentence in run.check.sentences)
    similar, told = re.search(r"<b>(\d+)/(\d+)</b> citations similar to their sentence", page).groups()  # type: ignore[union-attr]
    assert int(told) == pairs
    weak = len(re.findall(r'<a class="cited far', table))
    assert weak == pairs - int(similar) == table.count("cited, below the threshold") / 2
    named = re.findall(r"no similar sentence in cited sources? ([\d, ]+)", table)
    assert weak == sum(len(numbers.split(",")) for numbers in named) > 0


def test_two_answers_are_compared_by_sentence_without_markdown(registry: RunRegistry) -> None:
    other = MARKDOWN_ANSWER.replace("| two |", "| three |").replace("- *Transfers* need", "- Sales need")
    run = stored(registry, *MILLS, answers=(MARKDOWN_ANSWER, other))
    page = said(run, "answers")
    lines = re.findall(r'<li class="(\w+)">(.*?)</li>', page)
    words = [
        (kind, re.sub(r"<[^>]+>", "", re.sub(r"<a .*?</a>|<b .*?</b>", "", line))) for kind, line in lines
    ]
    assert [(kind, text) for kind, text in words if kind != "common"] == [
        ("removed", "only in 1: Transfers need the consent of the port."),
        ("added", "only in 2: Sales need the consent of the port."),
        ("removed", "only in 1: Eling; 1785; two"),
        ("added", "only in 2: Eling; 1785; three"),
    ]
    assert ("common", "Woodbridge; 1793; one") in words
    assert 'href="#pick-source/a/2" aria-label="source 2"' in page
    assert "<del>Eling; 1785; two</del>" in page and "<ins>Eling; 1785; three</ins>" in page


def test_answer_of_one_large_table_is_shown_and_bounded(registry: RunRegistry) -> None:
    rows = "".join(f"| mill {number} | مطحنة {number} [1] |\n" for number in range(MOST_SENTENCES + 100))
    run = stored(registry, *MILLS, answers=(f"| mill | name |\n|---|---|\n{rows}",) * 2)
    app = opened("explain", run=run.id, view="attribution")
    assert not app.exception
    assert shown(app).count('<tr><th scope="row"') == MOST_SENTENCES
    assert "Only the first 300 of 400 sentences are compared." in [one.value for one in app.caption]
    assert "same sentences and citations" in said(run, "answers")
    assert "Cut here: the table has 400 rows and 2 columns" in shown(opened(run=run.id))


def test_an_answer_from_snippets_says_so_where_it_stands(registry: RunRegistry) -> None:
    run = stored(registry, "A snippet about a boat.", snippets=True)
    app = opened(run=run.id)
    assert not app.exception
    assert any("Snippets only" in block.value for block in app.markdown)
    whole = stored(registry, "A page about a boat.", "Another.")
    assert not any("Snippets only" in block.value for block in opened(run=whole.id).markdown)


def test_only_a_page_not_kept_can_be_fetched_again(registry: RunRegistry) -> None:
    run = stored(registry, "A page about a boat.")
    app = opened("explain", run=run.id, view="extraction")
    assert "This page is not cached" in shown(app)
    assert app.button(key="extraction_fetch_again").label == "Fetch again"


def test_settings_are_saved_applied_renamed_and_deleted(registry: RunRegistry) -> None:
    app = opened()
    app.slider(key="knob_rank_top_k").set_value(2)
    app.text_input(key="preset_name_main").set_value("Few")
    app.button(key="preset_save_main").click().run()
    assert not app.exception
    other = opened()
    other.selectbox(key="preset_main").set_value("Few").run()
    other.button(key="preset_apply_main").click().run()
    assert other.slider(key="knob_rank_top_k").value == 2
    other.text_input(key="preset_name_main").set_value("Very few")
    other.button(key="preset_rename_main").click().run()
    assert [preset.name for preset in registry.presets.all().presets] == ["Very few"]
    other.button(key="preset_delete_main").click().run()
    assert not other.exception
    assert registry.presets.all().presets == ()
    assert "“Very few” is deleted." in words(other)
    other.button(key="preset_undo_main").click().run()
    assert "“Very few” is saved again." in words(other)
    assert other.selectbox(key="preset_main").value == "Very few"


def test_nameless_and_damaged_presets_are_reported(registry: RunRegistry) -> None:
    registry.presets.save("good", Knobs())
    registry.presets.save("bad", Knobs())
    with registry.store.transaction("") as db:
        db.execute("UPDATE presets SET knobs = '{' WHERE name = 'bad'")
    app = opened()
    app.button(key="preset_save_main").click().run()
    assert not app.exception
    told = " ".join(block.value for block in app.caption)
    assert "The preset has no name" in told
    assert "The preset “bad” cannot be used" in told
    assert app.selectbox(key="preset_main").options == ["good"]


def test_preset_is_applied_to_one_side_of_a_comparison(registry: RunRegistry) -> None:
    run = answered(registry)
    registry.presets.save("Few", Knobs.parse({"rank": {"top_k": 2}}))
    app = opened("explain", view="what-if", run=run.id)
    app.selectbox(key="preset_side_b").set_value("Few").run()
    app.button(key="preset_apply_side_b").click().run()
    assert not app.exception
    assert app.slider(key="side_b_rank_top_k").value == 2
    assert "<b>Passages in the context</b> 6 →" in shown(app), "A keeps the knobs of the run"


def test_one_side_of_a_comparison_is_saved_as_a_preset(registry: RunRegistry) -> None:
    run = answered(registry)
    app = opened("explain", view="what-if", run=run.id, a="own", b=["rank.top_k:3"])
    app.text_input(key="preset_name_side_b").set_value("Three").run()
    app.button(key="preset_save_side_b").click().run()
    assert not app.exception
    assert "“Three” is saved." in " ".join(block.value for block in app.caption)
    assert [preset.knobs.rank.top_k for preset in registry.presets.all().presets] == [3]
    app.run()
    assert "“Three” is saved." in " ".join(block.value for block in app.caption)
    assert app.selectbox(key="preset_side_b").value == "Three"


def test_two_runs_are_compared_by_an_address(registry: RunRegistry) -> None:
    one = answered(registry)
    two = answered(registry, "What is BM25?")
    app = opened("explain", view="what-if", run=one.id, b=[f"run:{two.id}", "rank.top_k:3"])
    assert not app.exception
    assert app.selectbox(key="side_b_run").value == two.id
    assert app.slider(key="side_b_rank_top_k").value == 3
    assert two.text.split()[0] not in one.text
    gone = opened("explain", view="what-if", run=one.id, b=["run:gone"])
    assert not gone.exception
    assert "run:gone (no such run with a ranking)" in plain_words(gone.warning[0].value)


def test_two_runs_of_one_question_show_new_text(registry: RunRegistry) -> None:
    before = {"https://a.example/": "A red boat is on the river.", "https://b.example/": "Boats cost money."}
    after = {"https://a.example/": "A red boat is <b>not</b> on the river.", "https://c.example/": "Lamps."}
    runs = [
        replace(run_of(texts, answer="A boat [1]."), id=f"run-{number}")
        for number, texts in enumerate((before, after), 1)
    ]
    for run in runs:
        registry.store.save(run)
    app = opened("explain", view="what-if", run="run-1", a="own", b="run:run-2")
    assert not app.exception
    told = shown(app)
    assert "3 sources: 1 new, 1 gone, 1 changed; 3 pages: 1 new, 1 gone, 1 changed" in told
    assert "A red boat is &lt;b&gt;not&lt;/b&gt; on the river." in told
    other = replace(runs[1], id="run-3", question="Another question?")
    registry.store.save(other)
    assert "What is new" not in shown(opened("explain", view="what-if", run="run-1", a="own", b="run:run-3"))


def test_map_needing_a_package_says_which_and_shows_the_other(
    registry: RunRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "umap", None)  # as if it were not installed
    app = opened("explain", run=answered(registry).id, view="map")
    app.session_state["projection"] = "UMAP"
    app.run()
    assert not app.exception
    assert "pip install -r requirements-umap.txt" in plain_words(app.info[0].value)
    assert "of the variance" in shown(app)


def plain_words(markdown: str) -> str:
    """Without what keeps words from being read as Markdown."""
    return markdown.replace("\\", "")
