"""`GET /health` and `GET /metrics`."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from core.api.routes.health import HealthStatus, health_response
from core.runtime.health import Probe, ProbeState
from tests.api.conftest import DEMO, QUESTION, Api, Serve
from tests.services.openai_server import MODEL, FakeOpenAI, streamed

pytestmark = pytest.mark.slow


def test_a_machine_with_nothing_connected_is_healthy_and_says_what_is_off(api: Api) -> None:
    reply = api.get("/health")
    health = reply.json()
    assert (reply.status_code, health["status"], health["overall"]) == (200, "healthy", True)
    assert (health["llm_service"], health["retriever_service"]) == (False, True)
    for name, said in {
        "api": "healthy",
        "embedder": "healthy",
        "openai": "off",
        "searxng": "off",
        "qdrant": "off",
    }.items():
        assert health["services"][name] == said
    assert "OPENROUTER_API_KEY" in health["details"]["openai"]
    assert datetime.fromisoformat(health["timestamp"]).tzinfo


def test_a_model_that_is_set_up_and_refuses_makes_it_unhealthy(serve: Serve, fake_openai: FakeOpenAI) -> None:
    fake_openai.key = "sk-right"
    api = serve(base_url=fake_openai.base_url, openai_api_key=SecretStr("sk-wrong-key"), chat_model=MODEL)
    reply = api.get("/health")
    assert (reply.status_code, reply.json()["status"]) == (503, "unhealthy")
    assert (reply.json()["services"]["openai"], reply.json()["llm_service"]) == ("unhealthy", False)
    assert "sk-wrong-key" not in reply.text


def test_asking_often_asks_the_parts_once(serve: Serve, fake_openai: FakeOpenAI) -> None:
    api = serve(base_url=fake_openai.base_url, openai_api_key=SecretStr("sk-key"), chat_model=MODEL)
    first = api.get("/health").json()
    asked = len(fake_openai.requests)
    assert first["llm_service"]
    assert asked >= 1
    assert api.get("/health").json() == first
    assert len(fake_openai.requests) == asked


def probes(**states: ProbeState) -> list[Probe]:
    parts = {"searxng": "SearXNG", "demo": "Demo library", "openai": "Chat model", "embedder": "Embedder",
             "extraction": "Article extraction", "data": "Data folder"}  # fmt: skip
    return [
        Probe(part=part, state=states.get(name, ProbeState.WORKS), detail="") for name, part in parts.items()
    ]


@pytest.mark.parametrize(
    ("broken", "status"),
    [
        ([], HealthStatus.HEALTHY),
        (["embedder"], HealthStatus.DEGRADED),
        (["data"], HealthStatus.DEGRADED),
        (["searxng"], HealthStatus.DEGRADED),
        (["searxng", "demo"], HealthStatus.UNHEALTHY),
        (["extraction"], HealthStatus.UNHEALTHY),
        (["openai"], HealthStatus.UNHEALTHY),
    ],
)
def test_health_is_whether_answers_can_be_had(broken: list[str], status: HealthStatus) -> None:
    health = health_response(datetime.now(UTC), probes(**dict.fromkeys(broken, ProbeState.BROKEN)))
    assert health.status is status
    assert health.overall == (status is not HealthStatus.UNHEALTHY)


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
    found = measured(api)
    for phase in ("plan", "search", "read", "chunk", "embed", "rank", "answer", "check"):
        assert found["openquery_phase_seconds_count", phase] == 1
        assert found["openquery_phase_seconds_sum", phase] > 0
    assert found["openquery_runs_total", "done"] == found["openquery_runs_total", "failed"] == 1
    assert found["openquery_failures_total", "search", "run failed"] == 1
    tokens = {key[1:]: count for key, count in found.items() if key[0] == "openquery_tokens_total"}
    assert tokens == {("prompt", "answer"): 300, ("completion", "answer"): 7}


def test_runs_of_the_pages_are_measured_too(serve: Serve) -> None:
    api = serve()
    from core.config.knobs import Knobs

    run_id = api.runs.start(QUESTION, Knobs.parse({"search": {"backend": "demo"}}))
    api.until(run_id, "done")
    assert measured(api)["openquery_runs_total", "done"] == 1
