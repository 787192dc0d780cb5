"""The row of pages, the drawer of the history, and addresses of earlier versions."""

from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from core.runtime.registry import RunRegistry
from pages.parts.serving.moved_pages import MovedPages
from tests.pages.conftest import answered, opened, words
from tests.pages.test_history import stored

pytestmark = pytest.mark.usefixtures("whole_app")


def links(app: AppTest) -> dict[str, str]:
    """Return the query of each page link, by label."""
    return {link.proto.label: link.proto.query_string for link in app.get("page_link")}


def drawer(app: AppTest) -> AppTest:
    app = app.button(key="open_history").click().run()
    assert not app.exception
    return app


def test_four_pages_and_a_menu_are_on_every_page(registry: RunRegistry) -> None:
    for page in ("", "explain", "evaluate", "library", "runs", "handbook", "system"):
        app = opened(page)
        assert not app.exception
        assert {"Ask", "Explain", "Evaluate", "Library", "Handbook", "System"} <= set(links(app))
        buttons = [button.key for button in app.button]
        assert ("open_history" in buttons) is (page != "runs")


@pytest.mark.slow
def test_the_drawer_finds_opens_and_tags_runs(registry: RunRegistry) -> None:
    for number in (1, 2):
        stored(registry, number, f"Question {number}?")
    app = drawer(opened("handbook"))
    assert "run=run-1" in links(app).values() and "run=run-2" in links(app).values()
    app.text_input(key="history_words").set_value("2").run()
    assert "run=run-1" not in links(app).values()
    assert ":orange-background[2?]" in " ".join(links(app))
    app.checkbox(key="tick_run-2").check().run()
    app.multiselect[-1].set_value(["mills"]).run()
    assert not app.exception
    assert [run.tags for run in registry.history()] == [("mills",), ()]
    app.button(key="history_delete_confirmed").click().run()
    assert [run.id for run in registry.history()] == ["run-1"]
    assert "No run matches." in words(app)


@pytest.mark.slow
def test_drawer_is_beside_an_answer_with_its_own_export(registry: RunRegistry) -> None:
    run = answered(registry)
    app = drawer(opened(run=run.id))
    assert any("open now" in label for label in links(app))
    app.checkbox(key=f"tick_{run.id}").check().run()
    assert not app.exception
    assert app.button(key="history_ask_again").label == "Ask again"
    app = app.run()  # a page that is drawn again keeps its drawer
    assert any("open now" in label for label in links(app))
    app.query_params["run"] = "another"
    assert not any("open now" in label for label in links(app.run()))


@pytest.mark.slow
def test_pages_of_twenty_runs_are_turned(registry: RunRegistry) -> None:
    for number in range(10, 31):
        stored(registry, number, f"Question {number}?")
    app = drawer(opened("system"))
    assert len(app.checkbox) == 20
    app.session_state["drawer_page"] = 2
    assert len(app.run().checkbox) == 1


def test_an_address_of_compare_leads_to_what_if() -> None:
    async def page(request: object) -> PlainTextResponse:
        return PlainTextResponse("page")

    app = Starlette(routes=[Route("/{path:path}", page)], middleware=[Middleware(MovedPages)])
    client = TestClient(app, follow_redirects=False)
    reply = client.get("/prefix/compare?run=r1&a=own&b=rank.top_k%3A2&b=run%3Ar2")
    assert reply.status_code == 308
    target = urlsplit(reply.headers["location"])
    assert target.path == "explain"
    assert parse_qs(target.query) == {
        "view": ["what-if"], "run": ["r1"], "a": ["own"], "b": ["rank.top_k:2", "run:r2"]
    }  # fmt: skip
    assert client.get("/compare").headers["location"] == "explain?view=what-if"
    assert [client.get(path).text for path in ("/runs", "/", "/api/compare")] == ["page"] * 3
    assert client.post("/compare").text != "", "other methods are passed on"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "view"),
    [
        ("attrition", "lost"),
        ("extraction", "lost"),
        ("attribution", "evidence"),
        ("sources", "evidence"),
        ("scores", "ranking"),
        ("map", "ranking"),
    ],
)
def test_an_address_of_a_former_view_opens_its_part(registry: RunRegistry, old: str, view: str) -> None:
    app = opened("explain", run=answered(registry).id, view=old)
    assert not app.exception
    assert app.segmented_control(key="view").value == view
    assert app.segmented_control(key=f"part_of_{view}").value == old
    assert app.query_params["view"] == [view] or app.query_params["view"] == view
