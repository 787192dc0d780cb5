"""The views of the tuning bench over runs with little or nothing in them: a plain word, never a traceback."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core.knobs import Knobs
from core.run import Run
from core.runs import Runs
from tests.pages.conftest import answered, opened

VIEWS = ("attrition", "queries", "evidence", "scores", "map", "sources")


def shown(app: AppTest) -> str:
    return " ".join([*(one.proto.body for one in app.get("html")), *(one.value for one in app.markdown)])


def test_without_any_run_the_pages_say_how_to_get_one(registry: Runs) -> None:
    for page in ("explain", "compare"):
        app = opened(page)
        assert not app.exception
        assert "There is no run yet" in shown(app)


def test_a_run_that_found_nothing_is_explained_all_the_same(registry: Runs) -> None:
    run = answered(registry, "zxqv wvut")
    assert run.index is None
    told = {view: said(run, view) for view in VIEWS}
    assert "No search result came in" in told["attrition"]
    assert "One query only" in told["queries"]
    assert "There is no answer" in told["evidence"]
    assert "There is no ranking" in told["scores"]
    assert "There are no passages" in told["map"]
    assert "No page was read" in told["sources"]
    assert "This run has no ranking" in shown(opened("compare", run=run.id))


def test_one_page_and_one_passage_are_enough(registry: Runs) -> None:
    knobs = Knobs.parse(
        {"search": {"backend": "demo", "results": 1}, "chunk": {"size": 4000}, "rank": {"top_k": 1}}
    )
    run = answered(registry, "What is BM25?", knobs)
    assert len(run.pages) == 1
    for view in VIEWS:
        said(run, view)
    assert not opened("compare", run=run.id).exception


@pytest.mark.parametrize("address", ["nonsense", "evidence"])
def test_a_view_that_does_not_exist_is_the_first_one(registry: Runs, address: str) -> None:
    run = answered(registry)
    app = opened("explain", run=run.id, view=address)
    assert not app.exception
    assert app.query_params["view"] == (address if address in VIEWS else "attrition")


def said(run: Run, view: str) -> str:
    app = opened("explain", run=run.id, view=view)
    assert not app.exception
    return shown(app)
