"""The views of the Explain page over a run of the small web: what each says, and what its controls do."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from core.run.state import Run
from core.runtime.registry import RunRegistry
from pages.parts.explain.attribution_view import CELL
from pages.parts.explain.attrition_view import FLOW
from tests.browser.small_web import DROPPED, NOWHERE
from tests.pages.conftest import answered, drawn_until, opened, words
from tests.pages.test_pages import html
from tests.services.openai_server import FakeOpenAI, streamed

pytestmark = pytest.mark.slow


def view(run: Run, name: str, **query: str) -> AppTest:
    app = opened("explain", run=run.id, view=name, **query)
    assert not app.exception
    return app


def rows(app: AppTest, number: int = 0) -> list[dict[str, object]]:
    """Return the rows of one of the page's tables, if there is one."""
    tables = app.dataframe[number:]
    found: list[dict[str, object]] = tables[0].value.to_dict("records") if tables else []
    return found


def without_dams(run: Run) -> AppTest:
    """Open the view of sources, and leave the page about dams out of the ranking."""
    app = view(run, "sources")
    key = next(key for key, page in run.pages.items() if page.title.startswith("Dams"))
    app.multiselect(key="left_out").set_value([key]).run()
    assert not app.exception
    return app


@pytest.mark.parametrize(
    ("sought", "end", "told"),
    [
        (DROPPED, "LEFT_OUT", "ranked below the cut-off"),
        (NOWHERE, "NOT_IN_ANY_PAGE", "contains it"),
        ("gone", "SKIPPED", "HTTP error"),
        ("https://elsewhere.example/", "NEVER_A_HIT", "No query found this address"),
    ],
)
def test_why_not_tells_where_it_ended(
    registry: RunRegistry, web_run: Run, sought: str, end: str, told: str
) -> None:
    text = next(iter(web_run.skips)) if sought == "gone" else sought
    app = view(web_run, "attrition", why=text)
    assert f'data-outcome="{end}"' in html(app)
    assert told in words(app)
    assert html(app).count('<li class="ended"') == 1
    assert re.findall("<mark>(.*?)</mark>", html(app)) == ([DROPPED.rstrip(".")] if end == "LEFT_OUT" else [])


def test_a_chosen_loss_lists_its_items(registry: RunRegistry, web_run: Run) -> None:
    app = view(web_run, "attrition")
    flow = app.selectbox(key=FLOW)
    flow.set_value(next(option for option in flow.options if "HTTP error" in option)).run()
    (row,) = rows(app)
    assert row["item"] == "A page that is gone"
    assert 'class="on"' in html(app)


def test_a_cell_of_the_matrix_shows_both_sentences(registry: RunRegistry, web_run: Run) -> None:
    app = view(web_run, "attribution")
    lines = re.findall(r'<tr><th scope="row".*?</tr>', html(app))
    assert len(lines) == 3
    assert lines[0].count('class="cited') == 1
    assert "numbers not in the cited sources: 4711" in lines[1]
    assert "cites no source" in lines[2]
    app.session_state[CELL] = (0, 2)
    app.run()
    pair = words(app).partition("Answer sentence")[2]
    assert "kept the flood in a pond behind a gate" in pair
    assert "Most similar sentence in source 2" in pair
    assert "<mark>" in html(app)


def test_a_second_opinion_is_named_as_one(
    model_registry: RunRegistry, web_run: Run, fake_openai: FakeOpenAI
) -> None:
    app = view(web_run, "attribution")
    assert 'class="verdict"' not in html(app)
    fake_openai.chats.append(streamed("1: entailed\n2: not addressed"))
    app.button(key="ask_judge").click().run()
    assert html(app).count('class="verdict"') == 2
    assert "fake-chat: entailed" in words(app)


def test_a_query_is_switched_off(registry: RunRegistry, web_run: Run) -> None:
    app = view(web_run, "queries")
    assert len(rows(app)) == 2
    app.button_group(key="queries_off").set_value([web_run.queries[1].text]).run()
    assert not app.exception
    assert "−2 pages" in words(app) and "rank-biased overlap" in words(app)


def test_a_query_added_by_hand_is_searched_alone(registry: RunRegistry) -> None:
    run = answered(registry)
    app = view(run, "queries")
    assert len(rows(app)) == 1
    assert "One query only" in words(app)

    def search(text: str) -> None:
        app.text_input(key="new_query").set_value(text)
        app.button(key="search_more").click().run()

    search(run.question.upper())
    assert "This query was searched already" in words(app)
    search("passage boundaries")
    drawn_until(app, lambda: len(rows(app)) == 2)
    assert rows(app)[1]["query"] == "passage boundaries"
    assert len(app.button_group(key="queries_off").options) == 2


def test_near_duplicate_pages_count_once_and_one_is_left_out(registry: RunRegistry, web_run: Run) -> None:
    app = without_dams(web_run)
    assert "6 pages, 4 independent" in words(app)
    effect = words(app).partition("Ranking without pages the answer is unchanged")[2]
    assert "left" in effect and "context tokens" in effect


def test_a_limit_on_one_text_shows_its_effect(registry: RunRegistry, web_run: Run) -> None:
    app = view(web_run, "sources")
    assert re.search(r"[1-9] → 0 passages of the context that repeat another", words(app))
    app.button_group(key="duplicate_limit").set_value(3).run()
    assert re.search(r"([1-9]) → \1 passages of the context that repeat another", words(app))


def test_scores_are_reported_beside_chance(registry: RunRegistry, web_run: Run) -> None:
    assert "99th percentile of unrelated questions" in words(view(web_run, "scores"))


def test_without_a_run_the_latest_are_offered(registry: RunRegistry, web_run: Run) -> None:
    for app in (opened("explain"), opened("explain", run="no-such-run")):
        assert not app.exception
        links = {link.proto.query_string: link.proto.label for link in app.get("page_link")}
        assert web_run.question in links[f"run={web_run.id}"]
    assert "There is no run no-such-run" in words(app)


def test_figure_without_a_source_is_flagged_at_the_answer(registry: RunRegistry, web_run: Run) -> None:
    app = opened(run=web_run.id)
    assert "1 number not in the cited sources" in words(app)
    assert "4711 is not in the sources it cites: “One mill ground 4711 sacks" in words(app)
    assert "warning" in " ".join(block.value for block in app.markdown)
    count = re.search(r"(\d+) citations?", words(app))
    assert count
    told = words(view(web_run, "attribution"))
    assert re.search(rf"\d/{count[1]} citations similar to their sentence", told)
