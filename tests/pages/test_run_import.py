"""A run's file, read in on the History page."""

import pytest

from core.export.formats import export
from core.run.codec import run_to_json
from core.run.recorded_run import RecordedRun
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
    """The id of a run that came without the texts of others."""
    recorded = registry.recorded(answered(registry).id)
    assert recorded is not None
    return registry.import_run(export(recorded, ".offsets.zip"))


def test_a_file_that_is_no_run_is_refused_with_what_to_do(registry: RunRegistry) -> None:
    app = opened("runs")
    app.file_uploader(key="import_0").set_value(("recipe.json", b'{"eggs": 3}', "application/json")).run()
    assert not app.exception
    (told,) = app.warning
    assert "recipe.json was not imported" in told.value
    assert "Export it again" in told.value
    assert registry.history() == ()


VIEWS = ("attrition", "queries", "attribution", "scores", "map", "sources", "extraction", "answers")
PLACES: list[tuple[str, str, dict[str, str | list[str]]]] = [
    *(("research", tab, {}) for tab in TABS),
    ("research", TABS[0], {"set": ["rank.top_k:2"]}),
    *(("explain", TABS[0], {"view": view}) for view in VIEWS),
    ("compare", TABS[0], {"a": "own", "b": ["rank.top_k:3"]}),
    ("compare", TABS[0], {"b": ["run:first"]}),
]


@pytest.mark.parametrize(("page", "tab", "query"), PLACES)
def test_a_run_without_the_texts_of_others_is_shown_with_what_it_has(
    registry: RunRegistry, page: str, tab: str, query: dict[str, str | list[str]]
) -> None:
    run_id = left_out(registry)
    if query.get("b") == ["run:first"]:
        query = {"b": [f"run:{registry.history()[-1].id}"]}
    app = opened(page, {"results_tabs": tab}, run=run_id, **query)
    assert not app.exception


def test_its_texts_are_fetched_again_by_a_button_and_then_it_ranks(registry: RunRegistry) -> None:
    run_id = left_out(registry)
    app = opened("research", {"results_tabs": TABS[2]}, run=run_id)
    app.button(key="fetch_texts").click().run()
    assert not app.exception
    run = registry.get(run_id)
    assert run is not None and not any(page.lacks_text for page in run.pages.values())
    assert set(app.dataframe[0].value["now"]) == {"unchanged"}
    assert not [button for button in app.button if button.key == "fetch_texts"]
