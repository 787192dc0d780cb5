"""A search backend that fails is never replaced by another without a person's choice."""

from pathlib import Path

import pytest

from core.adapters.search.ddgs_search import DefaultBackend
from core.config.access import Access
from core.config.knobs import Backend, Knobs, PlanKnobs, SearchKnobs, SearchScope
from core.pipeline import research
from core.run.state import Run, RunStatus
from core.runtime.engine import Engine
from tests.features.api.conftest import settings
from tests.services.loopback import Gate, Loopback, Reply, Request, json_reply
from tests.services.openai_server import FakeOpenAI, streamed

pytestmark = pytest.mark.slow

QUESTION = "How does chunk overlap affect retrieval?"
QUERIES = ["overlap of chunks", "passage overlap", "chunk size"]


class SearchServer(Loopback):
    """A SearXNG that finds one page for each query; `failing` names the queries that it fails."""

    def __init__(self, *failing: str, gate: Gate | None = None) -> None:
        super().__init__(self._answer)
        self.failing, self.gate = failing, gate

    async def _answer(self, request: Request) -> Reply:
        query = request.query["q"]
        if self.gate and query == QUERIES[0]:
            await self.gate.pass_through()
        if query in self.failing or "all" in self.failing:
            return json_reply({}, status=500)
        url = f"{self.url}/{query.replace(' ', '-')}"
        return json_reply({"results": [{"url": url, "title": query, "content": f"A snippet about {query}."}]})


async def ask(folder: Path, server: SearchServer, model: FakeOpenAI, **knobs: object) -> Run:
    model.chats.append(streamed("\n".join(QUERIES)))
    model.chats.append(streamed("An answer [1]."))
    made = settings(folder, searxng_url=server.url, base_url=model.base_url, chat_model="fake-chat")
    asked = Knobs(plan=PlanKnobs(queries=3), search=SearchKnobs(**knobs))  # type: ignore[arg-type]
    async with Engine(made) as engine:
        return await research(QUESTION, asked, await engine.ports(asked))


async def test_failed_first_search_leaves_others_to_the_same_backend(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    with SearchServer(QUERIES[0]) as server:
        run = await ask(tmp_path, server, fake_openai)
    assert run.status is RunStatus.DONE
    assert {reply.backend for reply in run.replies.values()} == {"searxng"}
    assert [query.text for query in run.search_faults] == [QUERIES[0]]


async def test_run_fails_when_all_searches_fail(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    with SearchServer("all") as server:
        run = await ask(tmp_path, server, fake_openai)
    assert run.status is RunStatus.FAILED
    assert run.error is not None
    assert run.error.part == "search"
    assert run.error.hint
    assert run.sources == ()


async def test_no_query_waits_for_the_first_one(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    gate = Gate()
    with SearchServer(gate=gate) as server:
        fake_openai.chats.append(streamed("\n".join(QUERIES)))
        made = settings(
            tmp_path, searxng_url=server.url, base_url=fake_openai.base_url, chat_model="fake-chat"
        )
        knobs = Knobs(plan=PlanKnobs(queries=3))

        def listen(_record: object, run: Run) -> None:
            if len(run.replies) == 2:
                gate.open()  # so the run ends only when the others did not wait for the first

        async with Engine(made) as engine:
            run = await research(QUESTION, knobs, await engine.ports(knobs), listen)
    assert len(run.replies) == 3


async def test_the_demo_library_says_so_when_nobody_chose_it(warm_folder: Path) -> None:
    async def offline() -> bool:
        return False

    async with Engine(settings(warm_folder)) as engine:
        engine._default_backend = DefaultBackend(offline)
        run = await research(QUESTION, Knobs(), await engine.ports(Knobs()))
        chosen = Knobs(search=SearchKnobs(backend=Backend.DEMO))
        other = await research(QUESTION, chosen, await engine.ports(chosen))
    assert run.backend == other.backend == "demo"
    assert [note.message for note in run.notes if "demo library was searched, not the web" in note.message]
    assert not [note.message for note in other.notes if "demo library" in note.message]


@pytest.mark.parametrize(
    ("connected", "backend", "origin", "offered"),
    [
        ("http://127.0.0.1:9", Backend.AUTO, SearchScope.WEB, {Backend.DDGS, Backend.DEMO}),
        ("http://127.0.0.1:9", Backend.DDGS, SearchScope.BOTH, {Backend.SEARXNG, Backend.DEMO}),
        ("", Backend.AUTO, SearchScope.WEB, {Backend.DEMO}),
        ("", Backend.DEMO, SearchScope.WEB, {Backend.DDGS}),
        ("http://127.0.0.1:9", Backend.AUTO, SearchScope.LIBRARY, set()),
    ],
)
async def test_other_backends_are_offered(
    tmp_path: Path, connected: str, backend: Backend, origin: SearchScope, offered: set[Backend]
) -> None:
    async with Engine(settings(tmp_path, searxng_url=connected)) as engine:
        knobs = SearchKnobs(backend=backend, origin=origin)
        assert set(engine.searches.alternative_backends(Run(knobs=Knobs(search=knobs)))) == offered


async def test_a_backend_that_found_nothing_is_not_offered_again(tmp_path: Path) -> None:
    async def offline() -> bool:
        return False

    async with Engine(settings(tmp_path)) as engine:
        engine._default_backend = DefaultBackend(offline)
        run = await research("zxqv wvut?", Knobs(), await engine.ports(Knobs()))
        assert run.error is not None
        assert run.error.part == "search"
        assert engine.searches.alternative_backends(run) == (Backend.DDGS,)


async def test_a_visitors_searxng_is_asked_alone(tmp_path: Path) -> None:
    async with Engine(settings(tmp_path)) as engine:
        visitor = Access(searxng_url="http://127.0.0.1:9")
        assert await engine.searches.resolve_backend(Backend.AUTO, visitor) is Backend.SEARXNG
