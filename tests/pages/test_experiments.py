"""Experiments one after another on the Evaluate page: begun, ended by a kill, continued, deleted and restored."""

from pathlib import Path

import pytest

from core.features.evaluate.services.experiments import Experiments
from core.runtime.event_loop import TaskStatus
from core.runtime.registry import RunRegistry
from pages.parts import runtime
from tests.pages.conftest import opened, words
from tests.pages.test_evaluate import BY_WORDS, data_set, ended, html

pytestmark = pytest.mark.slow


def test_a_second_experiment_stays_and_its_deletion_is_undone(registry: RunRegistry) -> None:
    data_set(registry)
    app = opened("evaluate", view="new")
    app.selectbox(key="evaluate_data").set_value("tides.csv").run()
    app.button_group(key="evaluate_rank_strategy").set_value(["fused", "bm25"]).run()
    begun = []
    for _ in range(2):
        assert "Start 2 settings" in app.button(key="evaluate_start").label
        app.button(key="evaluate_start").click().run()
        assert not app.exception
        begun.append("".join(app.query_params["experiment"]))
        ended(registry, begun[-1])
        app.segmented_control(key="evaluate_view").set_value("new").run()
        assert app.query_params["view"] == "new"
    first, second = begun
    assert first != second
    app = opened("evaluate", experiment=second)
    assert app.query_params["experiment"] == second
    assert all(f"#pick-experiment/{name}" in html(app) for name in begun)
    app.button(key="evaluate_delete").click().run()
    assert "was deleted." in words(app)
    assert "".join(app.query_params.get("experiment", "")) != second
    app.button(key="evaluate_undo").click().run()
    assert app.query_params["experiment"] == second
    assert "was deleted." not in words(app)


def test_experiment_of_a_killed_server_is_shown_and_continued(registry: RunRegistry) -> None:
    name = registry.service(Experiments).start(data_set(registry), BY_WORDS)
    ended(registry, name)
    runtime.close()  # what a killed server leaves is read by the next one
    results = Path(registry.settings.folder, "experiments", name, "results.jsonl")
    head, first, _ = results.read_text().splitlines(keepends=True)
    results.write_text(head + first + '{"setting": "cut by a kill')
    app = opened("evaluate", experiment=name)
    assert not app.exception
    assert "stopped" in words(app)
    assert html(app).count("#pick-setting/") == 1
    assert "1 of 2: no verdict" in words(app)
    assert "evaluate_use" not in {button.key for button in app.button}
    app.button(key="evaluate_continue").click().run()
    assert not app.exception
    experiment = ended(runtime.runs(), name)
    assert (experiment.status, experiment.done) == (TaskStatus.DONE, 2)
    app = opened("evaluate", experiment=name)
    assert "no verdict" not in words(app)
