"""One case through the whole chain: the safe client, the reading workers, the read stage; and who was called."""

import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.adapters.web.extraction_pool import ExtractionPool
from core.adapters.web.networks import AddressAllowlist
from core.adapters.web.safe_client import SafeWeb
from core.adapters.web.safe_connect import Resolve
from core.config.knobs import ReadKnobs
from core.errors import ReadFailed
from core.model import Hit, HitOrigin, Page, SkipReason, Unreadable
from core.run.events import Event, PageRead, PageSkipped
from core.stages.read import read
from tests.hostile.case import Case
from tests.loopback import TLS, LoopbackWeb

WEB, TRAP = "127.0.0.1", "127.0.0.2"
"""The address that a case may be fetched from, and one on the same machine that nothing may ever connect to."""

_called: list[tuple[str, int]] | None = None


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect" and _called is not None and isinstance(arguments[1], tuple):
        _called.append(arguments[1][:2])


sys.addaudithook(_audit)


@contextmanager
def calls() -> Iterator[list[tuple[str, int]]]:
    """Every address and port that this process connects to, or tries to, from here on."""
    global _called  # noqa: PLW0603 - a hook of the interpreter has no other place to look
    before, _called = _called, []
    try:
        yield _called
    finally:
        _called = before


def readers() -> ExtractionPool:
    """The product's own, but for less CPU time, so that the table takes no longer than it must."""
    return ExtractionPool(html_cpu_seconds=2)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a case. `reason` is None when its page was read; `forbidden` are calls beyond the web."""

    reason: SkipReason | None
    detail: str
    seconds: float
    forbidden: tuple[tuple[str, int], ...]
    visits: int
    page: Page | None = None
    request_headers: tuple[Mapping[str, str], ...] = field(default=())
    """The headers of every request that the web received."""


def knobs(case: Case) -> ReadKnobs:
    return ReadKnobs(
        page_timeout=case.patience,
        deadline=0,
        early_cut_percent=0,
        robots=case.robots,
        max_megabytes=case.megabytes,
        extractor=case.extractor,
    )


async def fetch_case(case: Case, workers: ExtractionPool) -> Outcome:
    """Serve the case, fetch and read its page as a run does, and say what became of it."""
    tls = certificate(case.certificate) if case.certificate else None
    async with LoopbackWeb(case.routes, hosts=(WEB, TRAP), tls=tls.server if tls else None) as web:
        # Names need a network: those of a test have no port that pages usually have.
        allowlist = AddressAllowlist.parse(f"{WEB}/32" if case.names else f"{WEB}:{web.port}")
        async with SafeWeb(
            allowlist=allowlist, tls=tls.client if tls else TLS, resolve=_names(case.names)
        ) as safe:
            url = case.url.replace("{port}", str(web.port)) or web.url("/")
            web.routes |= {path: make_route(web.port) for path, make_route in case.port_routes.items()}
            began = time.monotonic()
            with calls() as called:
                for _ in range(case.fetches):
                    page_events = [event async for event in _read(url, case, safe, workers)]
            seconds = time.monotonic() - began
            allowed = (WEB, web.port)
            end = page_events[-1]
            return Outcome(
                reason=end.skip.reason if isinstance(end, PageSkipped) else None,
                detail=end.skip.detail if isinstance(end, PageSkipped) else "",
                page=end.page if isinstance(end, PageRead) else None,
                seconds=seconds,
                forbidden=tuple(call for call in called if call != allowed),
                visits=len(web.requests),
                request_headers=tuple(request.headers for request in web.requests),
            )


async def _read(url: str, case: Case, safe: SafeWeb, workers: ExtractionPool) -> AsyncGenerator[Event]:
    events: list[Event] = []

    async def hits() -> AsyncGenerator[Hit]:
        yield Hit(
            key=url, url=url, title="", snippet="", found=(HitOrigin(query="", rank=1, engines=()),), score=1
        )

    try:
        async for _ in read(hits(), knobs(case), safe, workers, events.append):
            pass
    except ReadFailed:
        pass  # it says only that this one page, which is reported as well, was not read
    for event in events:
        if isinstance(event, PageRead | PageSkipped):
            yield event


def _names(names: Mapping[str, tuple[tuple[str, ...], ...]]) -> Resolve:
    """A look-up that gives a name's answers one after the other, the last one again and again."""
    lookups: dict[str, int] = {}

    async def resolve(host: str, port: int) -> list[str]:
        answers = names.get(host, ())
        if not answers:
            raise Unreadable(SkipReason.NETWORK, f"the name {host} does not resolve")
        number = lookups[host] = lookups.get(host, -1) + 1
        return list(answers[min(number, len(answers) - 1)])

    return resolve


@dataclass(frozen=True)
class Certificate:
    server: ssl.SSLContext
    client: ssl.SSLContext


def certificate(kind: str) -> Certificate:
    """A server's certificate, made on the spot: `good`, for a `wrong` name, or one that is not `trusted`."""
    with tempfile.TemporaryDirectory() as folder:
        key, chain = Path(folder, "key.pem"), Path(folder, "chain.pem")
        name = "DNS:other.example" if kind == "wrong" else f"IP:{WEB}"
        command = (
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test "
            f"-keyout {key} -out {chain} -addext subjectAltName={name}"
        )
        subprocess.run(command.split(), check=True, capture_output=True)
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(chain, key)
        client = ssl.create_default_context()
        if kind != "untrusted":
            client.load_verify_locations(chain)
        return Certificate(server, client)


def faults(case: Case, outcome: Outcome) -> list[str]:
    """What about the outcome is not as it must be."""
    deviations = []
    if outcome.forbidden:
        deviations.append(f"connected to {outcome.forbidden}")
    if outcome.reason is not case.reason:
        deviations.append(f"{outcome.reason or 'read'} ({outcome.detail}) instead of {case.reason or 'read'}")
    if case.visits is not None and outcome.visits != case.visits:
        deviations.append(f"{outcome.visits} requests instead of {case.visits}")
    if case.says not in outcome.detail:
        deviations.append(f"“{outcome.detail}” does not say “{case.says}”")
    if outcome.page and case.holds and not case.holds(outcome.page):
        deviations.append(f"read as {outcome.page.title[:80]!r}: {outcome.page.text[:200]!r}")
    if any({"cookie", "authorization", "referer"} & headers.keys() for headers in outcome.request_headers):
        deviations.append("sent a cookie, a password or where it came from")
    return deviations
