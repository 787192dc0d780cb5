"""The service on loopback, through a real server, asked by real clients."""

import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from core.adapters.certificates import trusted_certificates
from core.config.settings import Settings
from core.features.api import create_app
from core.runtime.registry import RunRegistry
from tests.patience import Patience
from tests.services.health import once_started
from tests.services.loopback import Loopback, Reply, Request, json_reply
from tests.services.openai_server import MODEL, FakeOpenAI

PATIENCE = 60.0

QUESTION = "How does chunk overlap affect retrieval?"


def settings(folder: Path, **more: Any) -> Settings:
    """Settings of a machine on which nothing is connected, whatever the developer's own shell says."""
    nothing: dict[str, Any] = {
        "openrouter_api_key": None,
        "openai_api_key": None,
        "base_url": "",
        "chat_model": "",
        "searxng_url": "",
        "ollama_url": "",
        "api_tokens": None,
        "shared": False,
        "workers": 1,
        "query_seconds": 60,
    }
    return Settings(**{**nothing, "data": folder, **more})


class Api:
    """A running service. `get`, `post` … ask it; `runs` is what is behind it."""

    def __init__(self, url: str, runs: RunRegistry) -> None:
        self.url = url
        self.runs = runs
        self.client = httpx.Client(
            base_url=url, timeout=PATIENCE, trust_env=False, verify=trusted_certificates(httpx)
        )
        self.get, self.post, self.put, self.delete = (
            self.client.get,
            self.client.post,
            self.client.put,
            self.client.delete,
        )

    def connect(self, **servers: Any) -> dict[str, str]:
        """The header of a new session with these servers."""
        return {"X-OpenQuery-Session": self.post("/connect", json=servers).json()["session"]}

    def session(self, model: FakeOpenAI) -> dict[str, str]:
        """The header of a session in which this model writes and the demo library is searched."""
        header = self.connect(base_url=model.base_url, api_key="sk-of-a-visitor", model=MODEL)
        self.put("/config", json={"value": DEMO}, headers=header).raise_for_status()
        return header

    def until(self, run_id: str, status: str) -> dict[str, Any]:
        """The run once it has this status."""
        patience = Patience(PATIENCE)
        while (run := self.get(f"/runs/{run_id}").json()).get("status") != status:
            assert patience.lasts(str(run)), f"the run never was {status}: {run}"
            time.sleep(0.02)
        return run


class Visitor(Api):
    """A caller with a session in which `model` writes and the demo library is searched."""

    def __init__(self, api: Api, model: FakeOpenAI) -> None:
        super().__init__(api.url, api.runs)
        self.model = model
        self.client.headers.update(self.session(model))


DEMO = {"search.backend": "demo", "plan.queries": 1}


@contextmanager
def serving(service_settings: Settings) -> Iterator[Api]:
    """A server of its own thread, on a free port."""
    runs = RunRegistry(service_settings)
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(create_app(runs, warm=False), log_level="warning", timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    api = Api(f"http://127.0.0.1:{listening.getsockname()[1]}", runs)
    try:
        patience = Patience(PATIENCE)
        while not server.started:
            assert patience.lasts(), "the server never started"
            time.sleep(0.01)
        yield api
    finally:
        api.client.close()
        server.should_exit = True
        thread.join(PATIENCE)
        runs.close()


def health(api: Api) -> httpx.Response:
    """`GET /health`, once the parts have been asked."""
    return once_started(lambda: api.get("/health"))


@pytest.fixture(scope="package")
def shared_api(tmp_path_factory: pytest.TempPathFactory, demo_cache: Path) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("api")
    shutil.copy(demo_cache, folder / "cache.sqlite")
    with serving(settings(folder)) as api:
        health(api)
        yield api


@pytest.fixture
def api(shared_api: Api) -> Api:
    """The service with the demo library, as every test finds it."""
    shared_api.put("/config", json={"value": DEMO}).raise_for_status()
    return shared_api


@pytest.fixture
def visitor(api: Api, fake_openai: FakeOpenAI) -> Iterator[Visitor]:
    caller = Visitor(api, fake_openai)
    yield caller
    caller.client.close()


Serve = Callable[..., Api]


@pytest.fixture
def serve(warm_folder: Path) -> Iterator[Serve]:
    """Start a service with settings of one's own."""
    with ExitStack() as stack:
        yield lambda **more: stack.enter_context(serving(settings(warm_folder, **more)))


@pytest.fixture
def fake_searxng_without_results() -> Iterator[str]:
    """The address of a search server that answers every query with nothing."""

    async def nothing(_request: Request) -> Reply:
        return json_reply({"query": "", "results": [], "unresponsive_engines": []})

    with Loopback(nothing) as server:
        yield server.url
