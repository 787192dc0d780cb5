"""The pages run in this process, each test with its own data folder and none of the machine's settings."""

import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.testing.v1 import AppTest

from core.config.access import NO_ACCESS, Access
from core.config.knobs import Knobs
from core.run.recorded_run import RecordedRun
from core.run.state import Run
from core.runtime.registry import RunRegistry
from pages.parts import runtime
from pages.parts.sidebar import controls
from tests.runtime.waiting import finished

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0
DEMO = Knobs.parse({"search": {"backend": "demo"}})
_recorded: dict[tuple[str, Knobs, str], RecordedRun] = {}
"""Runs that were asked in this process, by their question, knobs and settings."""


@pytest.fixture
def registry(warm_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunRegistry]:
    """The registry that the pages use: no key, no search server, no model server."""
    for name in os.environ:
        if name.startswith(("OPENQUERY_", "OPENAI_", "OPENROUTER_", "SEARXNG_", "OLLAMA_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OPENQUERY_DATA", str(warm_folder))
    monkeypatch.setenv("OLLAMA_HOST", "")
    runtime.close()
    yield runtime.runs()
    runtime.close()


@cache
def _components() -> BidiComponentManager:
    """Streamlit's list of components, which all sessions share as they do on a server. To make one, Streamlit reads the
    metadata of every installed package; a test's session would do so each time, and take longer than the page."""
    manager = BidiComponentManager()
    manager.discover_and_register_components(start_file_watching=False)
    return manager


def opened(
    page: str = "",
    session: Mapping[str, object] | None = None,
    user: Mapping[str, object] | None = None,
    **query: str | list[str],
) -> AppTest:
    """The app on one of its pages, drawn once, in a session that holds what is given, for a `user` with these claims
    who has signed in."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
    app._bidi_component_manager = _components()
    app.user = {"is_logged_in": True, **user} if user else {}
    groups = {
        f"group_{name}": True for name in ("run", *(group for group, _, _ in controls.NEXT))
    }  # open, or their controls are not sent
    for key, held in {**groups, **(session or {})}.items():
        app.session_state[key] = held
    for name, value in query.items():
        app.query_params[name] = value
    if page:
        app.switch_page(f"pages/{page}.py")
    return app.run()


def answered(
    registry: RunRegistry,
    question: str = "How does chunk overlap affect retrieval?",
    knobs: Knobs = DEMO,
    access: Access = NO_ACCESS,
) -> Run:
    """A finished run over the demo library.

    The first one of a question, its knobs and these settings is asked; later tests get it from its events, under another
    id, which takes a tenth of the time.
    """
    key = (question, knobs, registry.settings.model_dump_json(exclude={"data"}))
    if access is NO_ACCESS and (recorded := _recorded.get(key)):
        run = registry.get(registry.import_run(recorded))
        assert run is not None
        return run
    run = finished(registry, registry.start(question, knobs, access))
    if access is NO_ACCESS:
        registry.store.flush()
        if recorded := registry.recorded(run.id):
            _recorded[key] = recorded
    return run
