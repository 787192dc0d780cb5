"""A run's file, read in on the History page."""

import pytest

from core.run.codec import run_to_json
from core.runtime.registry import RunRegistry
from tests.pages.conftest import answered, opened

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


def test_a_file_that_is_no_run_is_refused_with_what_to_do(registry: RunRegistry) -> None:
    app = opened("runs")
    app.file_uploader(key="import_0").set_value(("recipe.json", b'{"eggs": 3}', "application/json")).run()
    assert not app.exception
    (told,) = app.warning
    assert "recipe.json was not imported" in told.value
    assert "Export it again" in told.value
    assert registry.history() == ()
