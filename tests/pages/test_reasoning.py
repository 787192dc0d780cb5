"""The reasoning of a chat model on the Ask page."""

import pytest

from core.model import Phase
from core.run import events as e
from core.run.state import Run
from core.runtime.registry import RunRegistry
from tests import samples
from tests.pages.conftest import opened
from tests.pages.test_pages import html

pytestmark = pytest.mark.slow


def test_reasoning_is_folded_below_the_answer(registry: RunRegistry) -> None:
    asked = e.ModelAsked(Phase.ANSWER, "m@h")
    thought = e.ModelThought(Phase.ANSWER, "I ponder <b>Delta</b>.")
    before = samples.until(e.Prompted)
    told = (*before, asked, thought, *samples.EVENTS[len(before) : samples.EVENTS.index(e.RunDone()) + 1])
    run = Run()
    for record in samples.records(*told):
        run = run.apply(record)
        registry.store.append(run, record)
    app = opened(run=run.id)
    assert not app.exception
    folded = [block for block in app.expander if block.label == "Reasoning of the model"]
    assert [block.proto.expanded for block in folded] == [False]
    assert "I ponder &lt;b&gt;Delta&lt;/b&gt;." in html(app)
