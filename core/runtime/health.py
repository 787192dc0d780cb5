"""Health probes of connected services, for `openquery check` and the System page."""

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

from core.adapters.models.integers import integer_products
from core.adapters.models.model_http import host_of
from core.config.access import NO_ACCESS, Access
from core.config.egress import Destination, described
from core.config.knobs import Backend, SearchKnobs
from core.errors import ChatFailed, OpenQueryError
from core.model import Document, Extractor, Unreadable
from core.runtime.engine import Engine
from core.runtime.engine_parts import Check, ProbeReport, ProbeState
from core.runtime.features import features
from core.runtime.hardening import protection
from core.runtime.static_files import REINSTALL, altered_files
from core.storage.run_store import RunStore
from core.text.display import embedder_name
from core.text.sanitize import pluralize

EGRESS = "Egress"
"""The part that reports where texts are sent."""
PROBE_SECONDS = 8.0
"""Timeout of one probe."""

_SAMPLE = Document(
    url="https://sample.example/",
    status=200,
    media_type="text/html",
    charset="utf-8",
    body=b"<title>A sample</title><article><h1>A sample</h1><p>"
    + b"One sentence after another makes an article that an extractor should find. " * 8
    + b"</p></article>",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The result of one health probe. `hint` suggests a remedy."""

    part: str
    state: ProbeState
    detail: str
    hint: str = ""
    seconds: float = 0.0
    timed_out: bool = False


async def probes(
    engine: Engine,
    store: RunStore | None = None,
    access: Access = NO_ACCESS,
    collections: Sequence[str] | None = None,
) -> tuple[Probe, ...]:
    """Run every probe concurrently, each within `PROBE_SECONDS`.

    Args:
        engine: the services.
        store: the history, or None to skip it.
        access: the visitor's own servers and keys.
        collections: the collections that questions search by default. If None, the operator's setting.
    """
    chosen = engine.settings.knobs["search.collections"] if collections is None else collections
    checks = (
        ("SearXNG", lambda: _searxng(engine)),
        ("Demo library", lambda: _demo(engine)),
        ("Chat model", lambda: _chat(engine, access)),
        ("Embedder", lambda: _embedder(engine, access)),
        ("Reranker", lambda: _reranker(engine)),
        (EGRESS, lambda: _egress(engine, access)),
        ("Article extraction", lambda: _workers(engine)),
        ("Parser isolation", lambda: _isolation(engine)),
        ("This process", _this_process),
        *(
            check
            for feature in features()
            if feature.probes
            for check in feature.probes(engine, access, chosen)
        ),
        ("Data folder", lambda: _data(engine)),
        *((("History", partial(_history, store)),) if store else ()),
        ("Page fetching", lambda: _fetching(engine)),
        ("Prices", lambda: _prices(engine)),
        ("Static files", _static_files),
    )
    return tuple(await asyncio.gather(*(_probe(part, question) for part, question in checks)))


async def chat_works(engine: Engine, access: Access = NO_ACCESS) -> bool:
    """Whether a chat model is connected and answers in time. The limit is `PROBE_SECONDS`."""
    probe = await _probe("Chat model", lambda: _chat(engine, access))
    return probe.state is ProbeState.WORKS


async def _probe(part: str, question: Check) -> Probe:
    began, timed_out = time.perf_counter(), False
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            state, detail, hint = await question()
    except TimeoutError:
        state, detail, hint = ProbeState.BROKEN, f"no answer within {PROBE_SECONDS:g} s", ""
        timed_out = True
    except OpenQueryError as error:
        state, detail, hint = ProbeState.BROKEN, error.message, error.hint
    seconds = time.perf_counter() - began
    return Probe(part=part, state=state, detail=detail, hint=hint, seconds=seconds, timed_out=timed_out)


async def _searxng(engine: Engine) -> ProbeReport:
    if not engine.settings.searxng_url:
        return ProbeState.OFF, "SEARXNG_URL is not set; searches use ddgs or the demo library", ""
    return ProbeState.WORKS, await engine.searches.searxng().healthy(), ""


async def _demo(engine: Engine) -> ProbeReport:
    reply = await engine.searches.web_search(Backend.DEMO)("cosine similarity", SearchKnobs())
    if not reply.results:
        return ProbeState.BROKEN, "docs/handbook has no articles", "Restore the folder from the repository."
    return (
        ProbeState.WORKS,
        "offline articles about retrieval, searched where no SearXNG is connected and no search engine is reachable",
        "",
    )


async def _chat(engine: Engine, access: Access) -> ProbeReport:
    try:
        checked = await engine.model_checks.check(access)
    except ChatFailed as error:
        hint = f"Set OPENQUERY_CHAT_MODEL to a model that answers. {error.hint}"
        return ProbeState.BROKEN, error.message, hint.strip()
    if checked is None:
        hint = "For written answers set OPENROUTER_API_KEY or OPENAI_API_KEY, or start Ollama."
        return ProbeState.OFF, "none; answers are extractive (quoted sentences)", hint
    server = checked.server
    if server.file:
        return ProbeState.WORKS, f"{server.model}, {await server.file.describe()}", ""
    tried = f"; {checked.tried}" if checked.tried else ""
    return ProbeState.WORKS, f"{server.model} at {host_of(server.base_url)}{tried}", ""


async def _embedder(engine: Engine, access: Access) -> ProbeReport:
    server = await engine.models.servers.embedding_server(access)
    embedder = await engine.models.embedder(access)
    vectors = (await embedder(["health check"])).vectors
    where = "remote" if server.base_url else f"inside OpenQuery, {integer_products.describe()}"
    where = await server.file.describe() if server.file else where
    return (
        ProbeState.WORKS,
        f"{embedder_name(embedder.identity)}, {pluralize(vectors.shape[1], 'dimension')}, {where}",
        "",
    )


async def _reranker(engine: Engine) -> ProbeReport:
    port = engine.models.reranker()
    if port is None:
        hint = (
            "Set OPENQUERY_RERANK_URL, or OPENQUERY_RERANK_MODEL=local for the model of the extra “rerank”."
        )
        return ProbeState.OFF, "none; passages are not reranked", hint
    await port("health check", ["relevant", "not relevant"])
    file = engine.models.servers.reranking_file()
    where = f", {await file.describe()}" if file else "" if port.host else ", inside OpenQuery"
    return ProbeState.WORKS, f"{port.identity}{where}", ""


async def egress_report(engine: Engine, access: Access = NO_ACCESS) -> str:
    """Describe which texts are sent to models off this machine, and which are withheld.

    Raises:
        OpenQueryError: when the choice of the models raises it.
    """
    chat, embed = (
        engine.models.chat_client(await engine.models.servers.chat_server(access)),
        await engine.models.embedder(access),
    )
    models = (("chat model", chat), ("embedder", embed), ("reranker", engine.models.reranker()))
    leaving = [
        f"the {role} {model.identity} ({place})"
        for role, model in models
        if model and (place := engine.egress.destination(model.host)) is not Destination.MACHINE
    ]
    report = f"Passages are sent to {' and '.join(leaving)}." if leaving else "Passages stay on this machine."
    if private := engine.egress.private:
        policy = (
            "refused where a hosted model would be given it"
            if engine.egress.refuse
            else "withheld from hosted models"
        )
        report += (
            f" {described(private)} is {policy}. After an agent has read it, a search has public words only."
        )
    return report


async def _egress(engine: Engine, access: Access) -> ProbeReport:
    return ProbeState.WORKS, await egress_report(engine, access), ""


async def _prices(engine: Engine) -> ProbeReport:
    prices = engine.prices.read()
    table = f"{prices.dated}, {pluralize(len(prices.rows), 'model')}"
    if prices.problem:
        return (
            ProbeState.BROKEN,
            prices.problem,
            f"Correct it on the System page. The prices that come with OpenQuery are used: {table}.",
        )
    return ProbeState.WORKS, table, ""


async def _workers(engine: Engine) -> ProbeReport:
    await engine.workers.start_one()
    try:
        await engine.workers(_SAMPLE, Extractor.ACCURATE)
    except Unreadable as error:
        return (
            ProbeState.BROKEN,
            f"extraction of a sample page failed: {error}",
            "Install requirements.txt again, with a current pip.",
        )
    if engine.workers.fallback:
        return (
            ProbeState.WORKS,
            f"in threads: {engine.workers.fallback}",
            "Extraction is slower and cannot be cancelled.",
        )
    return ProbeState.WORKS, pluralize(engine.workers.count, "worker process"), ""


async def _isolation(engine: Engine) -> ProbeReport:
    await engine.workers.start_one()
    if engine.workers.fallback:
        hint = "Parsers run inside this process: read only what you trust."
        return ProbeState.OFF, "worker processes do not start", hint
    confinement = engine.workers.confinement
    limit = f"{engine.memory.worker_megabytes} MB each"
    missing = f"This system does not offer: {'; '.join(confinement.missing)}." if confinement.missing else ""
    return (
        ProbeState.WORKS,
        f"own processes of {limit}, empty environment, {', '.join(confinement.in_force)}",
        missing,
    )


async def _this_process() -> ProbeReport:
    protected = protection()
    detail = ", ".join(protected.in_force) or "not protected from other processes of its user"
    if not protected.missing:
        return ProbeState.WORKS, detail, ""
    hint = f"Missing: {'; '.join(protected.missing)}. Start OpenQuery by its own programs, or call core.runtime.hardening.harden() first."
    return ProbeState.WORKS if protected.in_force else ProbeState.OFF, detail, hint


async def _data(engine: Engine) -> ProbeReport:
    if engine.cache.problem:
        return ProbeState.BROKEN, engine.cache.problem, "Set OPENQUERY_DATA to a folder that can be written."
    cached = sum(size for _entries, size in engine.cache.size().values())
    limit = engine.settings.cache_megabytes
    return ProbeState.WORKS, f"{engine.settings.folder}, {cached / 1e6:.1f} of {limit} MB cached", ""


async def _history(store: RunStore) -> ProbeReport:
    if store.problem:
        return ProbeState.BROKEN, store.problem, ""
    return ProbeState.WORKS, f"runs are stored in {store.path}", ""


async def _fetching(engine: Engine) -> ProbeReport:
    settings = engine.settings
    guard = (
        f"through the proxy {urlsplit(os.environ.get('HTTPS_PROXY', '')).hostname or 'of the environment'}, which must block private addresses"
        if settings.trust_env_proxy
        else "public addresses only"
    )
    exceptions = f"; also allowed: {settings.fetch_allowlist}" if settings.fetch_allowlist else ""
    limits = f"{settings.fetch_concurrency} concurrent fetches, {settings.per_host} per host"
    return ProbeState.WORKS, f"{guard}{exceptions}; {limits}", ""


async def _static_files() -> ProbeReport:
    if altered := await asyncio.to_thread(altered_files):
        return ProbeState.BROKEN, f"not those of the release: {', '.join(altered)}", REINSTALL
    return ProbeState.WORKS, "digests are those of the release", ""
