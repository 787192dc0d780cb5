"""The pages run in this process, each test with its own data folder and none of the machine's settings."""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from html import unescape
from pathlib import Path

import pytest
from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.testing.v1 import AppTest, app_test

from core.config.access import NO_ACCESS, Access
from core.config.knobs import Knobs
from core.run.events import Record
from core.run.recorded_run import RecordedRun
from core.run.state import Run
from core.runtime.registry import RunRegistry
from pages.parts import runtime
from pages.parts.serving import streamlit_patches
from pages.parts.sidebar import controls
from tests.browser.small_web import SmallWeb, record_small_web
from tests.patience import Patience
from tests.runtime.waiting import finished
from tests.services.openai_server import MODEL, FakeOpenAI

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0
POLL = 0.05
"""Seconds between two drawings of a page that polls, which would else keep the work that it waits for from the CPU."""
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


@pytest.fixture
def model_registry(
    registry: RunRegistry, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> RunRegistry:
    """The registry that the pages use, with a chat model that the test scripts."""
    monkeypatch.setenv("OPENQUERY_BASE_URL", fake_openai.base_url)
    monkeypatch.setenv("OPENQUERY_CHAT_MODEL", MODEL)
    runtime.close()
    return runtime.runs()


@dataclass(frozen=True)
class SmallWebRun:
    """A run over the small web, whose servers are gone."""

    records: tuple[Record, ...]
    """All that happened in it."""
    cache: Path
    """The cache with its pages, and with the vectors of the demo library."""


@pytest.fixture(scope="session")
def recorded_web_run(tmp_path_factory: pytest.TempPathFactory, demo_cache: Path) -> SmallWebRun:
    data = tmp_path_factory.mktemp("small_web") / "data"
    data.mkdir()
    cache = shutil.copy(demo_cache, data / "cache.sqlite")
    with SmallWeb() as web, FakeOpenAI() as author:
        return SmallWebRun(record_small_web(data.parent, web, author), cache)


@pytest.fixture
def web_pages(registry: RunRegistry, warm_folder: Path, recorded_web_run: SmallWebRun) -> None:
    """The pages of the small web in the cache."""
    runtime.close()
    shutil.copy(recorded_web_run.cache, warm_folder)


@pytest.fixture
def web_run(registry: RunRegistry, recorded_web_run: SmallWebRun) -> Run:
    """A finished run over the small web, which belongs to the test. Nothing that it needs is connected."""
    runs = runtime.runs()  # a test may have restarted it with other settings
    run = runs.get(runs.import_run(RecordedRun.folded(recorded_web_run.records)))
    assert run is not None
    runs.store.flush()
    return run


class _PagesOfNavigation(PagesManager):
    """The pages that `st.navigation` names. Streamlit's tests also take the folder `pages` for pages."""

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]
        PagesManager.uses_pages_directory = False


@pytest.fixture
def whole_app(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw each page by app.py, with its navigation, as the server does. Other tests draw the page alone."""
    monkeypatch.setattr(app_test, "PagesManager", _PagesOfNavigation)


@pytest.fixture(autouse=True)
def drawn_as_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """Widgets and containers are copied as little as on the server, which takes a fifth of a page's time."""
    monkeypatch.setattr(SafeSessionState, "filtered_state", SafeSessionState.filtered_state)  # and back
    monkeypatch.setattr(DeltaGenerator, "__deepcopy__", DeltaGenerator.__deepcopy__)
    streamlit_patches.look_up_widget_values()
    streamlit_patches.copy_containers_once()
    streamlit_patches.draw_followers()


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


def words(app: AppTest) -> str:
    """Return the text of markup, Markdown and messages of the page, in one line."""
    blocks = (*app.markdown, *app.caption, *app.info, *app.success, *app.warning, *app.error)
    parts = [*(element.proto.body for element in app.get("html")), *(str(block.value) for block in blocks)]
    return " ".join(
        unescape(re.sub(r"<[^>]+>", " ", " ".join(parts))).replace("\\", "").replace("**", "").split()
    )


def drawn_until(app: AppTest, is_drawn: Callable[[], bool]) -> AppTest:
    """Draw the page again and again, as a browser that polls does, until it shows what is waited for."""
    patience = Patience(PATIENCE)
    while not is_drawn():
        assert patience.lasts(), f"the page still shows: {words(app)}"
        app.run()
        assert not app.exception
        time.sleep(POLL)
    return app
