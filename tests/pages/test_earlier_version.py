"""A run that an earlier version stored, on every page that shows runs."""

import os
from pathlib import Path

import pytest

from pages.parts import runtime
from pages.parts.explain.views import PARTS
from tests.pages.conftest import opened
from tests.pages.test_explain_and_compare import shown
from tests.run.earlier_version import RUN_ID, write_store

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    for name in os.environ:
        if name.startswith(("OPENQUERY_", "OPENAI_", "OPENROUTER_", "SEARXNG_", "OLLAMA_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OPENQUERY_DATA", str(tmp_path))
    monkeypatch.setenv("OLLAMA_HOST", "")
    write_store(tmp_path / "runs.sqlite")
    runtime.close()
    yield
    runtime.close()


def test_every_view_shows_it() -> None:
    app = opened("", run=RUN_ID)
    assert not app.exception
    for view in PARTS:
        app = opened("explain", run=RUN_ID, view=view)
        assert not app.exception, view
        assert "How does chunk overlap affect retrieval?" in shown(app)
    assert not opened("explain", view="what-if", run=RUN_ID).exception
    assert not opened("runs").exception
