"""A chat model that is silent or fails, on the Ask page."""

import pytest
from streamlit.testing.v1 import AppTest

from core.model import AnswerKind
from core.run import events as e
from core.run.state import Run, RunStatus
from core.runtime.registry import RunRegistry
from tests import samples
from tests.pages.conftest import opened
from tests.runtime.waiting import finished

pytestmark = pytest.mark.slow


def waiting(seconds: float) -> AppTest:
    """The line of a run whose model has sent nothing for so long."""

    def script(seconds: float) -> None:
        from core.model import Phase
        from core.run import events as e
        from core.run.state import Run
        from pages.parts.research.status_line import status_line

        run = Run(id="run-1")
        for event in (
            e.PhaseStarted(Phase.ANSWER),
            e.ModelAsked(Phase.ANSWER, "writer@127.0.0.1:8080", silence=60.0),
        ):
            run = run.apply(e.Record(at=3.0, event=event))
        status_line(run, run, None, 3.0 + seconds)

    return AppTest.from_function(script, args=(seconds,), default_timeout=60).run()


def test_silent_model_is_told_with_a_button(registry: RunRegistry) -> None:
    app = waiting(14.2)
    assert not app.exception
    said = app.get("html")[0].proto.body
    assert "Waiting for writer (127.0.0.1:8080): nothing for 14 s, gives up at 60 s" in said
    assert [button.label for button in app.button] == ["Quote the sources instead"]


def test_briefly_silent_model_has_no_button(registry: RunRegistry) -> None:
    app = waiting(9.5)
    assert "Writing the answer …" in app.get("html")[0].proto.body
    assert not app.button


def test_failed_model_is_not_asked_by_the_first_offer(registry: RunRegistry) -> None:
    run = Run()
    failure = e.RunFailed("answer", "fake fell silent in the middle of its reply.", "Ask again.", 6)
    for record in samples.records(*samples.until(e.Ranked), failure):
        run = run.apply(record)
        registry.store.append(run, record)
    app = opened(run=run.id)
    keys = {"quote_sources", "answer_again", "answer_now"}
    offered = {button.key: button.label for button in app.button if button.key in keys}
    assert offered == {"quote_sources": "Quote the sources", "answer_again": "Write the answer again"}
    app.button(key="quote_sources").click().run()
    assert not app.exception
    quoted = finished(registry, run.id)
    assert quoted.status is RunStatus.DONE
    assert quoted.answer is not None and quoted.answer.kind is not AnswerKind.WRITTEN
    app.run()
    page = "\n".join(element.proto.body for element in app.get("html"))
    assert "start Ollama" not in page, "a model is connected, and was not waited for"
