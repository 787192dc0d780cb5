"""Servers for tests. Each starts only when a test asks for it."""

import gc
import shutil
from asyncio import AbstractEventLoop
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings as hypothesis_settings

from core.config.settings import Settings
from core.runtime.engine import Engine
from core.runtime.event_loop import new_loop
from core.runtime.registry import RunRegistry
from tests.services import handbook_vectors
from tests.services import searxng as searxng_service
from tests.services import small_model as model_service
from tests.services.cached import CACHE, Unavailable
from tests.services.openai_server import FakeOpenAI
from tests.services.searxng import RealSearxNG, real_searxng
from tests.services.small_model import SmallModel, real_small_model

REAL_PARTS: dict[str, tuple[str, Callable[[], object]]] = {
    "searxng_process": ("SearXNG (the first time takes a minute)", searxng_service.prepare),
    "demo_cache": ("vectors of the handbook", handbook_vectors.prepare),
    "small_model": ("a small language model (the first time takes a minute)", model_service.prepare),
}


SHARED = ("chromium", "searxng_process", "small_model")
"""Servers that take seconds to start: tests that share one run in one worker."""
SECOND_BROWSER = "test_m"
"""From this file on the browser's tests have a browser of their own, in another worker. A third one would take longer
than it saves, because pages poll while they wait."""

# How many examples a property is tried with; `pytest --hypothesis-profile=thorough` tries more.
for profile, examples in {"quick": 10, "everyday": 25, "thorough": 1000}.items():
    hypothesis_settings.register_profile(profile, max_examples=examples, deadline=None, print_blob=True)
hypothesis_settings.load_profile("everyday")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are named by their argument: a zip has the time in it, and all workers must collect the same names."""
    return argname if isinstance(val, bytes) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tell pytest-xdist which tests one worker runs in a row."""
    for item in items:
        # A file stays together for its fixtures; a fault waits for a silence, and several can do so at once.
        if item.get_closest_marker("spread") is None:
            item.add_marker(pytest.mark.xdist_group(_group(item)))
    items.sort(key=_late)


def _group(item: pytest.Item) -> str:
    shared = next((name for name in SHARED if name in getattr(item, "fixturenames", ())), "")
    if shared == "chromium" and item.path.name >= SECOND_BROWSER:
        return "chromium 2"
    return shared or item.nodeid.partition("::")[0]


def _late(item: pytest.Item) -> int:
    """What takes long begins early, so that no worker is left with it at the end."""
    if set(SHARED) & set(getattr(item, "fixturenames", ())):
        return 0
    return 1 if item.get_closest_marker("slow") else 2


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], AbstractEventLoop]]:
    """Tests run on the loop that the product runs on."""
    return {"product": new_loop}


def pytest_collection_finish(session: pytest.Session) -> None:
    """Install what the collected tests need before the first of them starts its clock."""
    if session.config.option.collectonly:
        return
    gc.collect()
    gc.freeze()  # the collected tests stay to the end, and every full collection would visit them
    needed = {name for item in session.items for name in getattr(item, "fixturenames", ())}
    for name, (what, prepare) in REAL_PARTS.items():
        if name in needed:
            session.config.get_terminal_writer().line(f"Preparing {what} in {CACHE} ...")
            try:
                prepare()
            except Unavailable:
                continue  # the tests that need it will fail, and say why


def unset_settings(environment: pytest.MonkeyPatch) -> None:
    """Unset what the developer's own shell connects."""
    for field in Settings.model_fields.values():
        for name in field.validation_alias.choices:  # type: ignore[union-attr]
            environment.delenv(str(name), raising=False)
    environment.setenv("OLLAMA_HOST", "")
    # A process that reads pages takes 1.1 CPU seconds to start, so a test that needs several says so.
    environment.setenv("OPENQUERY_WORKERS", "1")


@pytest.fixture(autouse=True)
def nobody_has_set_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what the developer's own shell connects out of the tests."""
    unset_settings(monkeypatch)


@pytest.fixture(scope="session")
def demo_cache() -> Path:
    """The cache of a data folder that has embedded the demo library and the handbook's data set."""
    return handbook_vectors.prepare()


@pytest.fixture
def warm_folder(tmp_path: Path, demo_cache: Path) -> Path:
    """A data folder whose cache has the articles and vectors of the demo library, which take seconds to make."""
    shutil.copy(demo_cache, tmp_path / "cache.sqlite")
    return tmp_path


@pytest.fixture(scope="module")
def shared_warm_folder(tmp_path_factory: pytest.TempPathFactory, demo_cache: Path) -> Path:
    """A warm data folder for all tests of a module."""
    folder = tmp_path_factory.mktemp("data")
    shutil.copy(demo_cache, folder / "cache.sqlite")
    return folder


@pytest.fixture
async def engine(warm_folder: Path) -> AsyncIterator[Engine]:
    """An engine without a model server."""
    async with Engine(Settings(data=warm_folder, ollama_url="")) as engine:
        yield engine


@pytest.fixture
def runs(warm_folder: Path) -> Iterator[RunRegistry]:
    """A registry of runs without a model server."""
    runs = RunRegistry(Settings(data=warm_folder, ollama_url=""))
    yield runs
    runs.close()


@pytest.fixture
def fake_openai() -> Iterator[FakeOpenAI]:
    """A scriptable OpenAI-compatible server; tests/services/openai_server.py tells how to use it."""
    with FakeOpenAI() as server:
        yield server


@pytest.fixture(scope="session")
def searxng_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSearxNG]:
    try:
        with real_searxng(tmp_path_factory.mktemp("searxng")) as server:
            yield server
    except Unavailable as error:
        pytest.fail(f"A real SearXNG is part of these tests and cannot be had: {error}", pytrace=False)


@pytest.fixture
def searxng(searxng_process: RealSearxNG) -> RealSearxNG:
    """A real SearXNG; tests/services/searxng.py tells how to use it."""
    searxng_process.reset()
    return searxng_process


@pytest.fixture(scope="session")
def small_model() -> Iterator[SmallModel]:
    """A real small language model; tests/services/small_model.py tells how to use it."""
    try:
        with real_small_model() as server:
            yield server
    except Unavailable as error:
        pytest.fail(f"A real language model is part of these tests and cannot be had: {error}", pytrace=False)
