"""`GET /health` and `GET /metrics`."""

import sqlite3
import threading
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from core.config.knobs import Backend, SearchKnobs, SearchScope
from core.features.api import create_app
from core.features.api.routes.health import STARTING_SECONDS, HealthStatus, health_response
from core.features.library.services.connections import LibraryConnections
from core.runtime.engine_parts import ProbeState
from core.runtime.health import Probe
from core.runtime.health import probes as probes_of
from core.runtime.registry import RunRegistry
from tests.features.api.conftest import DEMO, QUESTION, Api, Serve, health, serving, settings
from tests.services.health import once_started
from tests.services.loopback import Loopback, Reply, Request, json_reply
from tests.services.openai_server import MODEL, FakeOpenAI, streamed
from tests.services.qdrant import FakeQdrant

pytestmark = pytest.mark.slow


def test_unconnected_machine_is_healthy_and_says_what_is_off(api: Api) -> None:
    reply = health(api)
    told = reply.json()
    assert (reply.status_code, told["status"]) == (200, "healthy")
    for name, word in {
        "llm_service": False,
        "retriever_service": True,
        "overall": True,
        "api": "operational",
        "embedder": "available",
        "demo": "operational",
        "openai": "off",
        "searxng": "off",
        "qdrant": "off",
    }.items():
        assert told["services"][name] == word
    assert "OPENROUTER_API_KEY" in told["details"]["openai"]
    assert "8-bit kernels: " in told["details"]["embedder"]
    assert datetime.fromisoformat(told["timestamp"]).tzinfo


def test_refusing_configured_model_makes_it_unhealthy(serve: Serve, fake_openai: FakeOpenAI) -> None:
    fake_openai.key = "sk-right"
    api = serve(base_url=fake_openai.base_url, openai_api_key=SecretStr("sk-wrong-key"), chat_model=MODEL)
    reply = health(api)
    assert (reply.status_code, reply.json()["status"]) == (503, "unhealthy")
    services = reply.json()["services"]
    assert (services["openai"], services["llm_service"], services["overall"]) == ("unavailable", False, False)
    assert "sk-wrong-key" not in reply.text


def test_history_that_cannot_be_kept_makes_it_degraded(warm_folder: Path) -> None:
    with closing(sqlite3.connect(warm_folder / "runs.sqlite")) as db:
        db.execute("PRAGMA user_version = 99")
    with serving(settings(warm_folder)) as api:
        told = health(api).json()
    assert (told["status"], told["services"]["history"]) == ("degraded", "failed")
    assert "was written by a newer OpenQuery" in told["details"]["history"]


def test_damaged_history_that_was_set_aside_is_told(warm_folder: Path) -> None:
    (warm_folder / "runs.sqlite").write_bytes(b"no database" * 1000)
    with serving(settings(warm_folder)) as api:
        told = health(api).json()
    assert told["status"] == "degraded"
    assert "It was set aside as" in told["details"]["history"]


def test_missing_default_collection_is_no_answer(serve: Serve) -> None:
    api = serve(origin=SearchScope.LIBRARY, collections="nowhere")
    api.runs.call(api.runs.engine.part(LibraryConnections).database.create("reports", 384))
    reply = health(api)
    assert (reply.status_code, reply.json()["status"]) == (503, "unhealthy")
    services, details = reply.json()["services"], reply.json()["details"]
    assert (services["qdrant"], services["collections"], services["retriever_service"]) == (
        "connected",
        "failed",
        False,
    )
    assert "There is no collection nowhere. The library has: reports." in details["collections"]


def test_one_missing_collection_of_two_is_degraded(serve: Serve) -> None:
    api = serve(origin=SearchScope.LIBRARY, collections="reports,nowhere")
    api.runs.call(api.runs.engine.part(LibraryConnections).database.create("reports", 384))
    told = health(api).json()
    assert (told["status"], told["services"]["overall"]) == ("degraded", True)
    assert "nowhere: " in told["details"]["collections"]


def test_searxng_whose_latest_search_failed_is_disconnected(serve: Serve) -> None:
    broken = True

    async def searxng(request: Request) -> Reply:
        if request.path == "/config":
            return json_reply({"version": "2026.11.1", "engines": []})
        if not request.query.get("q"):
            return json_reply({}, status=400)
        return json_reply({}, status=500) if broken else json_reply({"query": "", "results": []})

    def probe() -> tuple[ProbeState, str]:
        results = api.runs.call(probes_of(api.runs.engine))
        return next((result.state, result.detail) for result in results if result.part == "SearXNG")

    with Loopback(searxng) as server:
        api = serve(searxng_url=server.url)
        assert probe()[0] is ProbeState.WORKS
        api.post("/research", json={"question": QUESTION})
        state, detail = probe()
        assert state is ProbeState.BROKEN
        assert detail.startswith("The latest search failed: ")
        broken = False
        api.post("/research", json={"question": QUESTION})
        assert probe()[0] is ProbeState.WORKS


def test_service_that_has_just_started_says_so_at_once(warm_folder: Path) -> None:
    with serving(settings(warm_folder)) as api:
        first = api.get("/health")
        assert (first.status_code, first.json()["status"]) in ((503, "starting"), (200, "healthy"))
        assert health(api).json()["status"] == "healthy"


def test_service_is_starting_while_the_store_is_opened(warm_folder: Path) -> None:
    may_open = threading.Event()
    own = settings(warm_folder)

    def runs() -> RunRegistry:
        assert may_open.wait(30)
        return RunRegistry(own)

    app = create_app(runs, lambda: own, warm=False)
    with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 50_000)) as api:
        began = time.monotonic()
        first = api.get("/health")
        assert (first.status_code, first.json()["status"]) == (503, "starting")
        assert time.monotonic() - began < 5  # it waits for the store, which waits for this test
        may_open.set()
        assert once_started(lambda: api.get("/health")).json()["status"] == "healthy"
        app.state.service.runs.close()


def test_service_that_runs_for_a_while_is_not_starting_at_its_first_probe(warm_folder: Path) -> None:
    runs = RunRegistry(settings(warm_folder))
    app = create_app(runs, warm=False)
    app.state.service.began -= STARTING_SECONDS
    with TestClient(app, base_url="http://localhost", client=("127.0.0.1", 50_000)) as api:
        assert api.get("/health").json()["status"] == "healthy"
    runs.close()


def test_asking_often_asks_the_parts_once(serve: Serve, fake_openai: FakeOpenAI) -> None:
    with FakeQdrant() as qdrant:
        model = {"base_url": fake_openai.base_url, "openai_api_key": SecretStr("sk-key"), "chat_model": MODEL}
        api = serve(**model, qdrant_url=qdrant.url)
        first = health(api).json()
        request_counts = len(fake_openai.requests), len(qdrant.requests)
        connected = {"api": "operational", "qdrant": "connected", "openai": "available", "llm_service": True}
        assert first["services"].items() >= connected.items()
        assert min(request_counts) >= 1
        assert health(api).json() == first
        assert (len(fake_openai.requests), len(qdrant.requests)) == request_counts


def probes(**states: ProbeState) -> list[Probe]:
    parts = {"searxng": "SearXNG", "demo": "Demo library", "openai": "Chat model", "embedder": "Embedder",
             "extraction": "Article extraction", "data": "Data folder", "qdrant": "Qdrant",
             "collections": "Collections"}  # fmt: skip
    return [
        Probe(part=part, state=states.get(name, ProbeState.WORKS), detail="") for name, part in parts.items()
    ]


WEB, LIBRARY, BOTH = (SearchKnobs(origin=origin) for origin in SearchScope)


@pytest.mark.parametrize(
    ("search", "broken_parts", "status"),
    [
        (WEB, [], HealthStatus.HEALTHY),
        (WEB, ["embedder"], HealthStatus.DEGRADED),
        (WEB, ["data"], HealthStatus.DEGRADED),
        (WEB, ["demo"], HealthStatus.DEGRADED),
        (WEB, ["qdrant"], HealthStatus.DEGRADED),
        (WEB, ["searxng"], HealthStatus.UNHEALTHY),
        (WEB, ["extraction"], HealthStatus.UNHEALTHY),
        (WEB, ["openai"], HealthStatus.UNHEALTHY),
        (SearchKnobs(backend=Backend.DEMO), ["searxng"], HealthStatus.DEGRADED),
        (SearchKnobs(backend=Backend.DEMO), ["demo"], HealthStatus.UNHEALTHY),
        (LIBRARY, ["searxng"], HealthStatus.DEGRADED),
        (LIBRARY, ["qdrant"], HealthStatus.UNHEALTHY),
        (LIBRARY, ["collections"], HealthStatus.UNHEALTHY),
        (BOTH, ["qdrant"], HealthStatus.DEGRADED),
        (BOTH, ["qdrant", "searxng"], HealthStatus.UNHEALTHY),
    ],
)
def test_health_says_whether_questions_can_be_answered(
    search: SearchKnobs, broken_parts: list[str], status: HealthStatus
) -> None:
    results = probes(**dict.fromkeys(broken_parts, ProbeState.BROKEN))
    health = health_response(datetime.now(UTC), results, search)
    assert health.status is status
    assert health.services["overall"] == (status is not HealthStatus.UNHEALTHY)
    retrieval = status is not HealthStatus.UNHEALTHY or broken_parts == ["openai"]
    assert health.services["retriever_service"] == retrieval


def test_each_part_has_the_words_of_its_kind() -> None:
    parts = ("Qdrant", "SearXNG", "Chat model", "Embedder", "Demo library", "Data folder")
    words = {}
    for state in ProbeState:
        health = health_response(
            datetime.now(UTC), [Probe(part=part, state=state, detail="") for part in parts], WEB
        )
        words[state] = [
            health.services[name] for name in ("qdrant", "searxng", "openai", "embedder", "demo", "data")
        ]
        assert health.services["api"] == "operational"
    works, fails = ["connected", "available", "operational"], ["disconnected", "unavailable", "failed"]
    assert words[ProbeState.WORKS] == [word for word in works for _ in range(2)]
    assert words[ProbeState.BROKEN] == [word for word in fails for _ in range(2)]
    assert set(words[ProbeState.OFF]) == {"off"}


def measured(api: Api) -> dict[tuple[str, ...], float]:
    """Samples by name and label values."""
    reply = api.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain")
    families = text_string_to_metric_families(reply.text)
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


def test_runs_are_measured_by_phase_outcome_reason_and_tokens(serve: Serve, fake_openai: FakeOpenAI) -> None:
    api = serve()
    api.put("/config", json={"value": DEMO}).raise_for_status()
    fake_openai.chats.append(streamed("Overlap keeps facts whole [1].", usage=(300, 7)))
    api.post("/qa", json={"question": QUESTION}, headers=api.session(fake_openai)).raise_for_status()
    api.post("/research", json={"question": QUESTION, "knobs": {"search": {"backend": "searxng"}}})
    samples = measured(api)
    for phase in ("plan", "search", "read", "chunk", "embed", "rank", "answer", "check"):
        assert samples["openquery_phase_seconds_count", phase] == 1
        assert samples["openquery_phase_seconds_sum", phase] > 0
    assert samples["openquery_runs_total", "done"] == samples["openquery_runs_total", "failed"] == 1
    assert samples["openquery_failures_total", "search", "run failed"] == 1
    tokens = {key[1:]: count for key, count in samples.items() if key[0] == "openquery_tokens_total"}
    assert tokens == {("prompt", "answer"): 300, ("completion", "answer"): 7}


def test_runs_of_the_pages_are_measured_too(serve: Serve) -> None:
    api = serve()
    from core.config.knobs import Knobs

    run_id = api.runs.start(QUESTION, Knobs.parse({"search": {"backend": "demo"}}))
    api.until(run_id, "done")
    assert measured(api)["openquery_runs_total", "done"] == 1
