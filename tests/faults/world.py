"""A run's whole world on loopback, whose every part a test can break."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx
from pydantic import SecretStr

from core import research
from core.adapters.cache.disk_cache import DiskCache
from core.adapters.cache.embedding_cache import CachedEmbed
from core.adapters.cache.page_cache import CachedExtract, CachedWeb
from core.adapters.cache.write_behind_cache import WriteBehindCache
from core.adapters.models.openai_chat import OpenAIChat
from core.adapters.models.remote_embedder import RemoteEmbedder
from core.adapters.search.searxng import SearxNG
from core.adapters.web.extraction_pool import ExtractionPool
from core.adapters.web.networks import AddressAllowlist
from core.adapters.web.safe_client import SafeWeb
from core.config.knobs import ChunkKnobs, EmbedKnobs, Knobs, PlanKnobs, ReadKnobs, SearchKnobs
from core.config.settings import Settings
from core.model import AnswerKind
from core.ports import Ports
from core.run.state import Run, RunStatus
from core.runtime.engine import Engine
from tests.hostile.words import LONG
from tests.loopback import TLS
from tests.services.loopback import Loopback, Reply, Request, html_reply, json_reply
from tests.services.openai_server import EMBEDDER, MODEL, FakeOpenAI

QUESTION = "What do kettles do?"
KNOBS = Knobs(
    plan=PlanKnobs(queries=1),
    search=SearchKnobs(backend="searxng"),
    read=ReadKnobs(page_timeout=3, early_cut_percent=0, robots=False, max_megabytes=1),
    chunk=ChunkKnobs(size=200),
    embed=EmbedKnobs(in_flight=1),
)
WHOLE = RunStatus.DONE, AnswerKind.WRITTEN
PATIENT, BRIEF = 10.0, 0.5
"""Seconds without a sign of life after which the adapters here give up: where all answer, and where one is silent."""


class Site(Loopback):
    """A SearXNG and three pages. What is scripted comes first, page replies by number."""

    def __init__(self) -> None:
        super().__init__(self._reply)
        self.searches: list[Reply] = []
        self.pages: dict[int, Reply] = {}

    async def _reply(self, request: Request) -> Reply:
        if request.path == "/search":
            return self.searches.pop(0) if self.searches else self.results()
        number = int(request.path.removeprefix("/page/"))
        return self.pages.get(number) or html_reply(
            f"<html><head><title>Page {number}</title></head><body><p>Page {number}. {LONG}</p></body></html>"
        )

    def results(self) -> Reply:
        rows = [
            {"url": f"{self.url}/page/{n}", "title": f"Page {n}", "content": f"Snippet {n} about kettles."}
            for n in (1, 2, 3)
        ]
        return json_reply({"results": rows})


def engine_over(site: Site, folder: Path) -> Engine:
    """An engine that searches and reads this site alone."""
    allowed = f"127.0.0.1:{site.port}"
    return Engine(
        Settings(data=folder, ollama_url="", searxng_url=site.url, fetch_allowlist=allowed, workers=1)
    )


@dataclass
class World:
    """The addresses of a run's parts, and the servers behind them."""

    site: Site
    openai: FakeOpenAI
    cache: Path
    search_url: str
    chat_url: str
    embed_url: str
    knobs: Knobs = KNOBS
    silence: float = PATIENT

    async def run(self, workers: ExtractionPool) -> Run:
        key = SecretStr("sk-test")
        cache = DiskCache(self.cache, 50)
        write_behind = WriteBehindCache(cache)
        async with (
            httpx.AsyncClient(trust_env=False) as client,
            SafeWeb(allowlist=AddressAllowlist.parse(f"127.0.0.1:{self.site.port}"), tls=TLS) as web,
        ):
            chat = OpenAIChat(MODEL, self.chat_url, key, timeout=self.silence, pause=0.01)
            embedder = RemoteEmbedder(
                EMBEDDER, self.embed_url, key, timeout=self.silence, backoff=0.01, client=client
            )
            ports = Ports(
                search=SearxNG(self.search_url, client=client, timeout=self.silence, pause=_at_once),
                web=CachedWeb(web, write_behind),
                extract=CachedExtract(workers, write_behind),
                embed=CachedEmbed(embedder, write_behind),
                chat=chat,
            )
            try:
                async with asyncio.timeout(20):
                    return await research(QUESTION, self.knobs, ports)
            finally:
                await chat.aclose()
                await write_behind.flush()
                cache.close()


async def _at_once(seconds: float) -> None:
    """A pause that does not pause."""


Arrange = Callable[[World], None]


def silent(arrange: Arrange) -> Arrange:
    """The same, where a part falls silent: nobody waits for it long."""

    def brief(world: World) -> None:
        arrange(world)
        world.silence = BRIEF

    return brief


@dataclass(frozen=True)
class FaultCase:
    """One fault: how it comes about, what the run ends as, and words that tell a person of it."""

    name: str
    arrange: Arrange
    ends: tuple[RunStatus, AnswerKind | None]
    says: str
    part: str = ""
    """Of a failed run: the part that its error names."""
    keeps: Callable[[Run], bool] = lambda run: bool(run.pages)


def trouble_messages(run: Run) -> str:
    """All that a person reads about trouble."""
    messages = [f"{note.message} {note.hint}" for note in run.notes]
    messages += [
        f"{fault.message} {fault.hint}" for fault in (*run.search_faults.values(), *run.embed_faults)
    ]
    messages += [f"{skip.reason} {skip.detail}" for skip in run.skips.values()]
    return " ".join([*messages, f"{run.error.message} {run.error.hint}" if run.error else ""])


async def check(fault: FaultCase, world: World, workers: ExtractionPool) -> None:
    fault.arrange(world)
    run = await world.run(workers)
    assert (run.status, run.answer.kind if run.answer else None) == fault.ends, trouble_messages(run)
    assert fault.says.lower() in trouble_messages(run).lower(), trouble_messages(run)
    assert fault.keeps(run)
    assert (run.error.part if run.error else "") == fault.part
    if run.error:
        assert run.error.hint, "what to do about it"
        assert run.error.part != "openquery", "a fault that was not foreseen"
    assert "sk-test" not in trouble_messages(run)
