"""`GET /health` and `GET /metrics`: what an operator's watch asks for."""

import asyncio
import time
from collections.abc import Mapping, Sequence, Set
from datetime import UTC, datetime
from enum import StrEnum

from fastapi import APIRouter, Response
from pydantic import BaseModel

from core.config.knobs import Backend, SearchKnobs, SearchScope
from core.features.api import metrics
from core.features.api.service import Service, ServiceOf
from core.runtime.engine_parts import ProbeState
from core.runtime.health import EGRESS, Probe, probes
from core.serving.problems import documented

router = APIRouter(tags=["operation"])

PROBE_CACHE_SECONDS = 10.0
"""How long probe results are cached, in seconds."""
FIRST_ANSWER_SECONDS = 0.04
"""Seconds that a request waits for the first probes of a service that starts. After that it is "starting"."""
STARTING_SECONDS = 30.0
"""How long after the start a part that does not answer in time counts as starting."""

_SERVER, _MODEL, _PROCESS = (
    ("connected", "disconnected"),
    ("available", "unavailable"),
    ("operational", "failed"),
)
"""The states "works" and "fails" in words, for servers, models and parts of this process."""

_STATE_WORDS: Mapping[str, tuple[str, str]] = {
    "qdrant": _SERVER,
    "searxng": _SERVER,
    "openai": _MODEL,
    "embedder": _MODEL,
    "reranker": _MODEL,
}
"""The words for the state of each part. Other parts belong to this process."""

_NAMES: Mapping[str, str] = {
    "SearXNG": "searxng",
    "Demo library": "demo",
    "Chat model": "openai",
    "Embedder": "embedder",
    "Article extraction": "extraction",
    "Parser isolation": "isolation",
    "This process": "process",
    "Data folder": "data",
    "History": "history",
    "Page fetching": "fetching",
    "Static files": "static_files",
    "Qdrant": "qdrant",
}


class HealthStatus(StrEnum):
    """Whether answers can be had."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    """Answers are had, but something that is set up does not work."""
    UNHEALTHY = "unhealthy"
    """No answer can be had."""
    STARTING = "starting"
    """The parts were not asked yet, or are being loaded."""


class Health(BaseModel):
    """The reply of `GET /health`."""

    status: HealthStatus
    timestamp: datetime
    """When the parts were asked."""
    services: dict[str, str | bool]
    """By part: connected or disconnected (servers), available or unavailable (models), operational or failed (parts
    of this process), off (not set up). And three booleans: `llm_service`, whether a model writes the answers, which
    are extractive otherwise; `retriever_service`, whether passages can be found where questions look by default; `overall`, whether
    questions are answered."""
    details: dict[str, str]
    """Details of each part, and what to do about it."""


@router.get(
    "/health",
    response_model=Health,
    responses={503: {"model": Health, "description": "Unhealthy"}, **documented()},
)
async def get_health(service: ServiceOf, response: Response) -> Health:
    """Report which connected parts work. The status is 503 while the service starts, or if no answer is possible."""
    latest = await _latest_probes(service)
    health = health_response(*latest, service.own.knobs.search) if latest else _starting()
    if health.status in (HealthStatus.UNHEALTHY, HealthStatus.STARTING):
        response.status_code = 503
    return health


def _starting() -> Health:
    return Health(
        status=HealthStatus.STARTING,
        timestamp=datetime.now(UTC),
        services={"api": "operational", "llm_service": False, "retriever_service": False, "overall": False},
        details={"api": "The parts are being loaded and asked. Ask again in a few seconds."},
    )


@router.get(
    "/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}, **documented()}
)
async def get_metrics(service: ServiceOf) -> Response:
    """Return the metrics in Prometheus' text format: phase durations, failures, tokens and runs."""
    return Response(service.metrics.text(), media_type=metrics.MEDIA_TYPE)


def health_response(timestamp: datetime, results: Sequence[Probe], search: SearchKnobs) -> Health:
    """Return the health of the service, from the states of its parts.

    Questions are searched by the default knobs `search`.

    Without passages or with a model server that is set up and silent there are no answers: unhealthy. Without
    vectors words rank, and without a data folder nothing is kept: degraded.
    """
    # The names of private collections are for the operator.
    by_name = {_NAMES.get(probe.part, probe.part.lower()): probe for probe in results if probe.part != EGRESS}
    broken_parts = {name for name, probe in by_name.items() if probe.state is ProbeState.BROKEN}
    works = {name for name, probe in by_name.items() if probe.state in (ProbeState.WORKS, ProbeState.PARTLY)}
    fully = not broken_parts and not any(probe.state is ProbeState.PARTLY for probe in by_name.values())
    retrieval = _finds_passages(search, works, broken_parts)
    answers = retrieval and "openai" not in broken_parts
    status = (
        HealthStatus.UNHEALTHY if not answers else HealthStatus.HEALTHY if fully else HealthStatus.DEGRADED
    )
    return Health(
        status=status,
        timestamp=timestamp,
        services={
            "api": "operational",
            "qdrant": "off",
            **{name: _state_word(name, probe.state) for name, probe in by_name.items()},
            "llm_service": "openai" in works,
            "retriever_service": retrieval,
            "overall": answers,
        },
        details={
            name: f"{probe.detail.rstrip('.')}. {probe.hint}".strip() for name, probe in by_name.items()
        },
    )


def _finds_passages(search: SearchKnobs, works: Set[str], broken_parts: Set[str]) -> bool:
    """Whether the places where questions look can be searched and read. No backend replaces another that fails."""
    engine_part = {Backend.DEMO: "demo", Backend.DDGS: ""}.get(search.backend, "searxng")
    web = not {engine_part, "extraction"} & broken_parts and (
        search.backend is not Backend.SEARXNG or engine_part in works
    )
    library = {"qdrant", "collections"} <= works
    return {SearchScope.WEB: web, SearchScope.LIBRARY: library, SearchScope.BOTH: web or library}[
        search.origin
    ]


def _state_word(name: str, state: ProbeState) -> str:
    works, fails = _STATE_WORDS.get(name, _PROCESS)
    return {
        ProbeState.WORKS: works,
        ProbeState.PARTLY: works,
        ProbeState.BROKEN: fails,
        ProbeState.OFF: "off",
    }[state]


async def _latest_probes(service: Service) -> tuple[datetime, tuple[Probe, ...]] | None:
    """Return cached or new probe results, or None while the first ones are not there.

    Concurrent requests share one probe. The service is starting, too, if a part has timed out in its first seconds:
    everything is loaded then. Later the first request waits for the probes, since whatever it asked has been loaded.
    """
    is_starting = time.monotonic() - service.began < STARTING_SECONDS
    if service.probed is None or time.monotonic() - service.probed[0] > PROBE_CACHE_SECONDS:
        if service.probing is None or service.probing.done():
            service.probing = asyncio.create_task(_probe_all(service))
        waits = service.probed or not is_starting
        await asyncio.wait([service.probing], timeout=None if waits else FIRST_ANSWER_SECONDS)
        if service.probing.done():
            service.probing.result()
    if service.probed is None:
        return None
    _, timestamp, results = service.probed
    return None if is_starting and any(probe.timed_out for probe in results) else (timestamp, results)


async def _probe_all(service: Service) -> None:
    runs = await asyncio.to_thread(lambda: service.runs)  # the first access opens files
    probing = probes(runs.engine, runs.store, collections=service.own.knobs.search.collections)
    results = await asyncio.to_thread(runs.call, probing)
    service.probed = (time.monotonic(), datetime.now(UTC), results)
