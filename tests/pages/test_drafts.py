"""Test questions drafted from stored runs: decided on, worded anew, and kept as a data set."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from core.runtime.registry import RunRegistry
from tests.pages.conftest import answered, drawn_until, opened, words
from tests.pages.test_pages import html

pytestmark = pytest.mark.slow


def decisions(app: AppTest) -> list[str]:
    """Return what was decided on each draft, in the order of the table."""
    rows = re.findall(r"<tr.*?</tr>", html(app), re.DOTALL)
    cells = (re.findall(r"<td.*?</td>", row, re.DOTALL) for row in rows)
    return [re.sub("<[^>]+>", "", found[-1]).strip() for found in cells if found]


def place(app: AppTest) -> str:
    found = re.search(r'data-place="([^"]+)"', html(app))
    assert found
    return found[1]


def test_drafts_are_approved_and_become_a_data_set(registry: RunRegistry) -> None:
    answered(registry)
    app = opened("evaluate", view="labels", part="drafts")
    app.number_input(key="drafts_count").set_value(5).run()
    app.button(key="drafts_start").click().run()
    drawn_until(app, lambda: len(decisions(app)) == 5)
    assert "template" in words(app)
    places = []
    for number, (press, outcome) in enumerate(
        (("draft_approve", "approved"), ("draft_drop", "dropped"), ("draft_approve", "approved"))
    ):
        places.append(place(app))
        app.button(key=press).click().run()
        assert decisions(app)[number] == outcome
        assert place(app) not in places
    app.button(key="draft_undo").click().run()
    assert decisions(app)[2] != "approved"
    assert place(app) == places[2]
    field = next(one for one in app.text_input if (one.key or "").startswith("draft_words_"))
    field.set_value("What do people mean by overlap?").run()
    assert "What do people mean by overlap?" in words(app)
    app.text_input(key="drafts_name").set_value("from my runs").run()
    app.button(key="drafts_save").click().run()
    assert not app.exception
    assert re.search(r"The data set “from[-_ ]my[-_ ]runs\.zip”", words(app))
    offered = opened("evaluate", view="new").selectbox(key="evaluate_data").options
    assert any(re.fullmatch(r"from.my.runs\.zip", name) for name in offered)
