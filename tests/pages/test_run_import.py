"""A run's file, read in in the History."""

import re

import pytest

from core.features.share.formats import export
from core.model import FILLING
from core.run.codec import run_to_json
from core.run.recorded_run import RecordedRun
from core.run.state import Run
from core.runtime.registry import RunRegistry
from pages.parts.research.results_pane import TABS
from tests.pages.conftest import answered, opened, words

pytestmark = pytest.mark.slow


def test_an_exported_run_is_imported_and_opened(registry: RunRegistry) -> None:
    run = answered(registry)
    registry.store.flush()
    exported = run_to_json(run)
    registry.delete(run.id)
    app = opened("runs")
    app.file_uploader(key="import_0").set_value(("run.json", exported, "application/json")).run()
    assert not app.exception
    (line,) = registry.history()
    assert line.id != run.id
    assert line.question == run.question
    assert app.session_state["run_id"] == line.id
    assert list(opened("runs").dataframe[0].value["question"]) == [run.question]


def test_a_run_without_events_is_not_replayed(registry: RunRegistry) -> None:
    run_id = registry.import_run(RecordedRun.folded((), answered(registry)))
    app = opened(run=run_id, replay="1")
    assert not app.exception
    assert "This run has no events to replay." in words(app)
    assert "replay" not in app.query_params


def left_out(registry: RunRegistry) -> str:
    """The id of a run that came without page texts."""
    recorded = registry.recorded(answered(registry).id)
    assert recorded is not None
    return registry.import_run(export(recorded, ".offsets.zip"))


def test_file_that_is_no_run_is_refused_with_advice(registry: RunRegistry) -> None:
    app = opened("runs")
    app.file_uploader(key="import_0").set_value(("recipe.json", b'{"eggs": 3}', "application/json")).run()
    assert not app.exception
    (told,) = app.warning
    assert "recipe.json was not imported" in told.value
    assert "Export it again" in told.value
    assert registry.history() == ()


LEFT_OUT = "were left out of the file of this run"
PLACES: list[tuple[str, str, dict[str, str | list[str]], str]] = [
    *(("research", tab, {}, f"The texts of 5 of 5 pages {LEFT_OUT}.") for tab in TABS),
    *(("research", tab, {}, "The answer quotes what others wrote") for tab in TABS[:1]),
    ("research", TABS[0], {}, "Chunk Overlap"),
    ("research", TABS[0], {}, "No map: the vectors of the passages were left out of the file"),
    ("research", TABS[0], {"set": ["rank.top_k:2"]}, f"{LEFT_OUT}, so nothing can be ranked"),
    ("explain", TABS[0], {"view": "attrition"}, "5 search results"),
    ("explain", TABS[0], {"view": "attrition"}, f"{LEFT_OUT}, so no text can be traced"),
    ("explain", TABS[0], {"view": "queries"}, "Queries with 0 unique results"),
    (
        "explain",
        TABS[0],
        {"view": "attribution"},
        f"{LEFT_OUT}, so sentences of the answer cannot be compared",
    ),
    ("explain", TABS[0], {"view": "scores"}, f"{LEFT_OUT}, so the passages have no vectors"),
    ("explain", TABS[0], {"view": "map"}, f"{LEFT_OUT}, so the passages have no vectors"),
    ("explain", TABS[0], {"view": "sources"}, f"{LEFT_OUT}, so pages cannot be compared"),
    ("explain", TABS[0], {"view": "extraction"}, f"{LEFT_OUT}, so the extractors cannot be compared"),
    ("explain", TABS[0], {"view": "answers"}, "This run has one answer."),
    (
        "explain",
        TABS[0],
        {"view": "what-if", "a": "own", "b": ["rank.top_k:3"]},
        f"{LEFT_OUT}, so nothing can be ranked",
    ),
    ("explain", TABS[0], {"view": "what-if", "b": ["run:itself"]}, "6 of 6 sources in both"),
]


@pytest.mark.parametrize(("page", "tab", "query", "told"), PLACES)
def test_run_without_page_texts_shows_what_it_has(
    registry: RunRegistry, page: str, tab: str, query: dict[str, str | list[str]], told: str
) -> None:
    run_id = left_out(registry)
    if query.get("b") == ["run:itself"]:
        query = {**query, "b": [f"run:{run_id}"]}
    app = opened(page, {"results_tabs": tab}, run=run_id, **query)
    assert not app.exception
    markup = [element.proto.body for element in app.get("html")]
    shown = " ".join([words(app), *(error.value for error in app.error), *markup])
    assert told in re.sub(r"\s+", " ", shown)
    assert FILLING * 3 not in shown
    assert not re.search(r"\d words", shown), "filling characters are no words"


def test_ranking_without_queries_needs_page_texts(registry: RunRegistry, web_run: Run) -> None:
    recorded = registry.recorded(web_run.id)
    assert recorded is not None
    run_id = registry.import_run(export(recorded, ".offsets.zip"))
    app = opened("explain", run=run_id, view="queries")
    assert not app.exception
    assert f"{LEFT_OUT}, so they cannot be ranked again" in words(app)
    assert not [group for group in app.button_group if group.key == "queries_off"]
