"""The Ask page: questions, the tabs of a run, and what is done with an answer."""

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.config.knobs import Knobs
from core.run.state import RunStatus
from core.runtime.registry import RunRegistry
from pages.parts import runtime
from pages.parts.research.results_pane import TABS
from tests.methods.agent_runs import KNOBS, OVERLAP
from tests.pages.conftest import DEMO, answered, drawn_until, opened, words
from tests.pages.test_pages import html
from tests.runtime.waiting import finished, until
from tests.services.loopback import Gate
from tests.services.openai_server import FakeOpenAI, called, streamed
from tests.services.process import closed_port

pytestmark = pytest.mark.slow

MARKUP = (
    "<img src=x onerror=alert(1)> **overlap** [x](javascript:alert(2)) ![y](https://evil.example/p.png) "
    ":material/home: $x$ <script>alert(3)</script> chunk retrieval"
)
QUERIES = '["chunk overlap", "passage boundaries"]'


def step(app: AppTest, phase: str) -> str:
    """Return the classes of a phase's step."""
    found = re.search(rf'class="oq-step ([^"]*)" data-phase="{phase}"', html(app))
    assert found
    return found[1]


def of_tab(run_id: str, number: int) -> AppTest:
    app = opened(session={"results_tabs": TABS[number]}, run=run_id)
    assert not app.exception
    return app


@pytest.mark.parametrize(
    ("question", "told"),
    [("", "The question is empty"), ("why " * 300, "the limit is 1,000")],
    ids=["empty", "endless"],
)
def test_an_empty_or_endless_question_is_refused(registry: RunRegistry, question: str, told: str) -> None:
    app = opened()
    app.text_input(key="question").set_value(question)
    app.button(key="go").click().run()
    assert not app.exception
    assert told in words(app)
    assert "run_id" not in app.session_state


def test_markup_in_a_question_stays_words(registry: RunRegistry) -> None:
    run = answered(registry, MARKUP)
    for number in range(len(TABS)):
        app = of_tab(run.id, number)
        heading = re.search(r'<h1 class="oq-question"[^>]*>(.*?)</h1>', html(app))
        assert heading and "&lt;img src=x" in heading[1] and "&lt;script&gt;" in heading[1]
        assert not re.search("<(img|script)", html(app))
    (line,) = opened("runs").dataframe[0].value.to_dict("records")
    assert line["question"] == MARKUP


def test_every_tab_shows_its_part_of_the_run(registry: RunRegistry) -> None:
    run = answered(registry).id
    hits = html(of_tab(run, 1))
    assert hits.count('class="oq-hit full') == 5
    assert "Q1 #1" in hits
    pages = of_tab(run, 2)
    assert len([label for block in pages.expander if "characters" in (label := block.label)]) == 5
    timeline = html(of_tab(run, 3))
    assert timeline.count('class="row phase') == 7
    assert timeline.count('class="row page') == 5
    assert "extracting its text" in timeline
    assert "No prompt" in words(of_tab(run, 4))


def test_smaller_passages_are_answered_again(registry: RunRegistry) -> None:
    run = answered(registry)
    app = opened(run=run.id)
    app.slider(key="knob_chunk_size").set_value(300).run()
    drawn_until(app, lambda: "context tokens" in words(app))
    app.button(key="answer_again").click().run()
    assert not app.exception
    drawn_until(app, lambda: "answer_again" not in {button.key for button in app.button})
    again = finished(registry, run.id)
    assert again.knobs.chunk.size == 300
    assert again.text and again.index is not None
    assert max(len(passage.text) for passage in again.index.passages) <= 300


def test_a_page_is_excluded_and_included_again(registry: RunRegistry) -> None:
    run = answered(registry)
    app = opened(session={"results_tabs": TABS[2], "article_1": True}, run=run.id)

    def press() -> str:
        """Press the button of the first page; its label then."""
        (first, *_) = (button for button in app.button if (button.key or "").startswith("exclude_"))
        first.click().run()
        assert not app.exception
        return next(button.label for button in app.button if button.key == first.key)

    assert press() == "Include"
    drawn_until(app, lambda: "removed" in words(app))
    assert press() == "Exclude"
    drawn_until(app, lambda: "removed" not in words(app))


def test_a_key_typed_into_the_page_is_written_nowhere(
    registry: RunRegistry, warm_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    canary = "sk-canary-4f1c9d7a"
    app = opened(session={"connect": True})
    field = app.text_input(key="access_key")
    assert field.proto.type == field.proto.PASSWORD
    field.set_value(canary).run()
    assert app.text_input(key="access_key").value == canary
    assert canary not in str(dict(app.query_params))
    assert canary not in caplog.text
    runtime.close()
    files = [path for path in warm_folder.rglob("*") if path.is_file()]
    assert files and not [path for path in files if canary.encode() in path.read_bytes()]


def test_stop_ends_the_run_and_keeps_what_came(model_registry: RunRegistry, fake_openai: FakeOpenAI) -> None:
    gate = Gate()
    fake_openai.chats += [streamed(QUERIES), streamed("Half of an answer [1]. ", gate, "Never sent.")]
    run_id = model_registry.start("How does chunk overlap affect retrieval?", DEMO)
    until(lambda: (run := model_registry.get(run_id)) and "Half of an answer" in run.text)
    app = opened(run=run_id)
    assert "Half of an answer" in words(app)
    app.button(key="stop").click().run()
    assert finished(model_registry, run_id).status is RunStatus.STOPPED
    gate.open()
    drawn_until(app, lambda: "go" in {button.key for button in app.button})
    assert "stopped" in words(app) and "Half of an answer" in words(app)
    assert "cut" in step(app, "answer").split()


def test_the_steps_of_an_agent_grow(model_registry: RunRegistry, fake_openai: FakeOpenAI) -> None:
    gate = Gate()
    fake_openai.chats += [
        called(("search", {"query": "chunk overlap"}), text="I look for pages."),
        called(("open", {"url": OVERLAP}), ("open", {"url": "http://169.254.10.1/status"})),
        streamed("", gate),
    ]
    run_id = model_registry.start("How does chunk overlap affect retrieval?", KNOBS)
    until(lambda: (run := model_registry.get(run_id)) and len(run.steps) == 3)
    app = opened(run=run_id)
    assert not app.exception
    steps = re.findall(r'aria-label="Result of step (\d)"', html(app))
    assert steps == ["1", "2", "3"]
    assert "characters in" in words(app) and "failed" in words(app)
    gate.open()
    finished(model_registry, run_id)
    app.run()
    assert re.findall(r'aria-label="Result of step (\d)"', html(app)) == steps


def test_asking_again_elsewhere_is_refused_beyond_the_limit(
    registry: RunRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARXNG_URL", f"http://127.0.0.1:{closed_port()}")
    monkeypatch.setenv("OPENQUERY_RUNS_PER_HOUR", "2")
    runtime.close()
    runs = runtime.runs()
    failed = answered(runs, knobs=Knobs())
    person = {"email": "anna@example.org", "email_verified": True}
    for refused in (False, False, True):
        app = opened(user=person, run=failed.id)
        app.button(key="ask_with_demo").click().run()
        assert not app.exception
        shown = "".join(app.query_params["run"])
        assert (shown == failed.id) is refused
        assert ("You have asked 2 questions within an hour" in words(app)) is refused
        if not refused:
            finished(runs, shown)
