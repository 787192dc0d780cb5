"""A server that several people use: each sees their own runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.runtime.registry import RunRegistry
from pages.parts import runtime
from tests.pages.conftest import opened
from tests.runtime.waiting import finished

pytestmark = pytest.mark.slow


@pytest.fixture(params=["true", "false"])
def shared(
    request: pytest.FixtureRequest, warm_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RunRegistry]:
    """The registry of a process whose operator set OPENQUERY_SHARED, and of one that did not."""
    settings = {
        "OPENQUERY_DATA": str(warm_folder),
        "OPENQUERY_SHARED": request.param,
        "OPENQUERY_WORKERS": "1",
        "OLLAMA_HOST": "",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    runtime.close()
    yield runtime.runs()
    runtime.close()


def _ask(registry: RunRegistry, question: str) -> tuple[str, str]:
    """A new browser session that asks and waits for the answer; its id and the run's."""
    app = opened()
    app.text_input(key="question").set_value(question)
    app.session_state["knob_search_backend"] = "demo"
    app.button(key="go").click().run()
    assert not app.exception
    run_id = app.session_state["run_id"]
    finished(registry, run_id)
    registry.store.flush()
    return app.session_state["session_id"], run_id


def test_visitors_of_a_shared_server_see_their_own_runs(shared: RunRegistry) -> None:
    (anna, annas), (berta, bertas) = (
        _ask(shared, "What does BM25 reward?"),
        _ask(shared, "Why normalise vectors?"),
    )
    assert anna != berta
    questions = {annas: "What does BM25 reward?", bertas: "Why normalise vectors?"}
    for session_id, theirs in ((anna, annas), (berta, bertas)):
        history = opened("runs")
        history.session_state["session_id"] = session_id
        history.run()
        assert not history.exception
        shown = set(history.dataframe[0].value["question"])
        assert questions[theirs] in shown
        assert (questions[annas if theirs == bertas else bertas] in shown) is not shared.settings.shared
    stranger = opened("runs")
    assert bool(stranger.dataframe) is not shared.settings.shared


def test_the_address_of_a_run_shares_it(shared: RunRegistry) -> None:
    _, run_id = _ask(shared, "What does BM25 reward?")
    assert opened(run=run_id).session_state["run_id"] == run_id


def test_strangers_draft_no_questions_and_compare_no_labels(shared: RunRegistry) -> None:
    session_id, _ = _ask(shared, "What does BM25 reward?")
    drafts = opened("evaluate", view="labels", part="drafts")
    assert not drafts.exception
    assert ("drafts_start" in {button.key for button in drafts.button}) is not shared.settings.shared
    labels = opened("evaluate", {"session_id": session_id}, view="labels")
    assert "label_skip" in {button.key for button in labels.button}
    assert ("labeller" in {field.key for field in labels.text_input}) is not shared.settings.shared


def test_on_a_shared_server_only_the_operator_adds_documents(shared: RunRegistry) -> None:
    app = opened("library")
    assert not app.exception
    told = any("only its operator adds documents" in block.value for block in app.info)
    assert told is shared.settings.shared
    offered = "uploads" in {uploader.key for uploader in app.get("file_uploader")}
    assert offered is not shared.settings.shared
