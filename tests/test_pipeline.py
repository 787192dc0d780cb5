"""The whole story, told with the demo library, the local embedder and a scripted chat model."""

import asyncio
from dataclasses import replace

import pytest
from pydantic import SecretStr

from core.config.access import Access
from core.config.knobs import (
    AnswerKnobs,
    ChunkKnobs,
    Knobs,
    Length,
    PlanKnobs,
    RankKnobs,
    SearchKnobs,
    Strategy,
)
from core.config.run_knobs import RunKnobs
from core.errors import BadInput
from core.followups import answer_again, read_more, retune
from core.model import AnswerKind, Author, Phase
from core.pipeline import research, retrieve
from core.run import events as e
from core.run.fold import folded_run
from core.run.state import Run, RunStatus
from core.runtime.engine import Engine
from tests.services.loopback import Gate
from tests.services.openai_server import FakeOpenAI, failure, streamed

pytestmark = pytest.mark.slow


QUESTION = "How does chunk overlap affect retrieval?"
DEMO = Knobs(search=SearchKnobs(backend="demo"))


class Told:
    """A listener that keeps every record and lets a test wait for one."""

    def __init__(self) -> None:
        self.records: list[e.Record] = []
        self.runs: list[Run] = []

    def __call__(self, record: e.Record, run: Run) -> None:
        self.records.append(record)
        self.runs.append(run)

    def kinds(self) -> list[type[e.Event]]:
        return [type(record.event) for record in self.records]

    def count(self, kind: type[e.Event]) -> int:
        return self.kinds().count(kind)

    def phases(self) -> set[Phase]:
        return {r.event.phase for r in self.records if isinstance(r.event, e.PhaseStarted)}


def _access(server: FakeOpenAI) -> Access:
    return Access(base_url=server.base_url, api_key=SecretStr("sk-test"), chat_model="fake-chat")


async def test_question_without_key_or_server_gets_a_cited_quotation(engine: Engine) -> None:
    told = Told()
    run = await research(QUESTION, DEMO, await engine.ports(DEMO), told)
    assert run.status is RunStatus.DONE
    assert run.backend == "demo"
    assert [query.author for query in run.queries] == [Author.QUESTION]
    assert any("no chat model" in note.message.lower() for note in run.notes), "the fallback is said"
    assert run.answer is not None
    assert run.answer.kind is AnswerKind.EXTRACTIVE
    assert run.check.cited
    assert run.check.unknown == ()
    for sentence in run.check.sentences:
        assert sentence.cites, "each quoted sentence names its source"
    assert told.phases() == set(Phase)
    assert folded_run(told.records).text == run.text, "the events alone tell the whole run"


async def test_queries_of_the_caller_replace_those_of_a_model(
    engine: Engine, fake_openai: FakeOpenAI
) -> None:
    ports = await engine.ports(DEMO, _access(fake_openai))
    run = await retrieve(QUESTION, DEMO, ports, queries=["passage  boundaries", "chunk size", "Chunk Size"])
    assert [query.text for query in run.queries] == ["passage boundaries", "chunk size"]
    assert {query.author for query in run.queries} == {Author.PERSON}
    assert run.sources
    assert run.notes == ()
    assert fake_openai.requests == []
    with pytest.raises(BadInput, match="limit is 10"):
        await retrieve(QUESTION, DEMO, ports, queries=["a"] * 11)


async def test_every_passage_slices_its_article(engine: Engine) -> None:
    run = await research(QUESTION, DEMO, await engine.ports(DEMO))
    assert run.index is not None
    for passage in run.index.passages:
        for place in (passage.place, *passage.also):
            assert run.pages[place.page].text[place.start : place.end].split() == passage.text.split()


async def test_a_question_the_library_cannot_answer_gets_no_answer(engine: Engine) -> None:
    run = await research("How long do I boil an egg for a soft yolk?", DEMO, await engine.ports(DEMO))
    assert run.status is RunStatus.DONE
    assert run.answer is not None
    assert run.answer.kind is AnswerKind.NOT_FOUND
    assert run.check.citations == ()


async def test_chat_model_plans_the_queries_and_writes_the_answer(
    engine: Engine, fake_openai: FakeOpenAI
) -> None:
    fake_openai.chats.append(streamed("chunk overlap recall\n", "passage boundaries\nchunk size cost"))
    fake_openai.chats.append(streamed("Overlap repeats text [1]. ", "It costs more passages [2][9]."))
    told = Told()
    run = await research(QUESTION, DEMO, await engine.ports(DEMO, _access(fake_openai)), told)
    assert [query.text for query in run.queries] == [
        "chunk overlap recall",
        "passage boundaries",
        "chunk size cost",
    ]
    assert run.answer is not None
    assert run.answer.kind is AnswerKind.WRITTEN
    assert run.answer.usage is not None
    assert run.check.cited == (1, 2)
    assert run.check.unknown == (9,)
    assert told.count(e.TokensWritten) >= 2, "the answer streams"
    assert fake_openai.chat_requests[1].json["messages"][-1]["content"] == run.prompt[-1].content
    assert max(len(hit.found) for hit in run.hits) > 1, "a hit remembers every query that found it"


async def test_pages_are_embedded_while_queries_are_still_being_written(
    engine: Engine, fake_openai: FakeOpenAI
) -> None:
    gate = Gate()
    fake_openai.chats.append(streamed("chunk overlap recall\n", gate, "cosine similarity\nbm25 ranking"))
    told = Told()
    going = asyncio.create_task(
        research(QUESTION, DEMO, await engine.ports(DEMO, _access(fake_openai)), told)
    )
    async with asyncio.timeout(60):
        while told.count(e.Embedded) == 0:
            await asyncio.sleep(0.01)
    assert told.count(e.QueryPlanned) == 1
    gate.open()
    run = await going
    assert run.status is RunStatus.DONE
    assert len(run.queries) == 3


async def test_turning_top_k_only_ranks(engine: Engine) -> None:
    run = await research(QUESTION, DEMO, await engine.ports(DEMO))
    told = Told()
    knobs = replace(DEMO, rank=RankKnobs(top_k=2))
    tuned = await retune(run, knobs, await engine.ports(knobs), told)
    assert told.phases() == {Phase.RANK}
    assert tuned.ranking is not None
    assert run.ranking is not None
    assert tuned.ranking.context == run.ranking.context[:2]
    assert tuned.sources == run.sources, "the answer keeps the sources it was written from"


async def test_changed_passage_size_fetches_nothing_and_embeds_new_texts(engine: Engine) -> None:
    run = await research(QUESTION, DEMO, await engine.ports(DEMO))
    smaller = replace(DEMO, chunk=ChunkKnobs(size=250))
    told = Told()
    tuned = await retune(run, smaller, await engine.ports(smaller), told)
    assert told.phases() == {Phase.CHUNK, Phase.EMBED, Phase.RANK}
    assert told.count(e.FetchStarted) == 0
    assert len(tuned.passages) > len(run.passages)
    back = await retune(tuned, DEMO, await engine.ports(DEMO))
    assert back.vectors_computed == 0, "every text was embedded before"
    assert back.ranking is not None
    assert run.ranking is not None
    assert back.ranking.order.tolist() == run.ranking.order.tolist()


@pytest.mark.parametrize("strategy", list(Strategy))
async def test_every_strategy_ranks_every_passage(engine: Engine, strategy: Strategy) -> None:
    knobs = replace(DEMO, rank=RankKnobs(strategy=strategy))
    run = await research(QUESTION, knobs, await engine.ports(knobs))
    assert run.index is not None
    assert run.ranking is not None
    assert sorted(run.ranking.order.tolist()) == list(range(len(run.index.passages)))
    assert len(run.sources) == 6


async def test_no_source_above_the_threshold_means_no_answer(engine: Engine, fake_openai: FakeOpenAI) -> None:
    knobs = replace(DEMO, plan=PlanKnobs(queries=1), rank=RankKnobs(threshold=0.999))
    run = await research(QUESTION, knobs, await engine.ports(knobs, _access(fake_openai)))
    assert run.status is RunStatus.DONE
    assert run.answer is not None
    assert run.answer.kind is AnswerKind.NOT_FOUND
    assert fake_openai.chat_requests == []


async def test_used_up_budget_ends_quoted_and_a_follow_up_has_more(
    engine: Engine, fake_openai: FakeOpenAI
) -> None:
    fake_openai.chats.append(streamed("chunk overlap recall", usage=(900, 2500)))
    knobs = replace(DEMO, plan=PlanKnobs(queries=1), run=RunKnobs(token_budget=6000))
    ports = await engine.ports(knobs, _access(fake_openai))
    run = await research(QUESTION, replace(knobs, plan=PlanKnobs(queries=2)), ports)
    assert run.status is RunStatus.DONE
    assert run.answer is not None and run.answer.kind is AnswerKind.EXTRACTIVE
    assert any("Raise the token budget to" in notice.hint for notice in run.notices)
    again = await answer_again(run, ports)
    assert again.answer is not None and again.answer.kind is AnswerKind.WRITTEN


async def test_answering_again_uses_the_ranking_in_hand(engine: Engine, fake_openai: FakeOpenAI) -> None:
    knobs = replace(DEMO, plan=PlanKnobs(queries=1), answer=AnswerKnobs(length=Length.SHORT))
    ports = await engine.ports(knobs, _access(fake_openai))
    run = await research(QUESTION, knobs, ports)
    tuned = await retune(run, replace(knobs, rank=RankKnobs(top_k=1)), ports)
    told = Told()
    again = await answer_again(run, ports, told, retuned=tuned)
    assert told.phases() == {Phase.ANSWER, Phase.CHECK}
    assert len(again.sources) == 1
    assert again.knobs == tuned.knobs
    assert again.status is RunStatus.DONE
    assert [version.answer for version in again.earlier_answers] == [run.answer], "the first answer is kept"
    assert again.earlier_answers[0].sources == run.sources


async def test_pages_that_were_cut_can_be_fetched_too(engine: Engine) -> None:
    run = await research(QUESTION, DEMO, await engine.ports(DEMO))
    last = run.hits[-1].key
    fewer = replace(run, pages={key: page for key, page in run.pages.items() if key != last})
    told = Told()
    more = await read_more(fewer, [last], await engine.ports(DEMO), told)
    assert set(more.pages) == set(run.pages)
    assert told.count(e.FetchStarted) == 1
    assert told.count(e.SearchStarted) == 0
    assert more.index is not None
    assert run.index is not None
    assert [p.id for p in more.index.passages] == [p.id for p in run.index.passages]


async def test_refused_key_ends_the_answer_and_keeps_earlier_results(
    engine: Engine, fake_openai: FakeOpenAI
) -> None:
    knobs = replace(DEMO, plan=PlanKnobs(queries=1))
    fake_openai.chats.append(failure(401, message="bad key sk-test"))
    run = await research(QUESTION, knobs, await engine.ports(knobs, _access(fake_openai)))
    assert run.status is RunStatus.FAILED
    assert run.error is not None
    assert (run.error.part, run.error.exit_code) == ("answer", 6)
    assert run.error.hint
    assert "sk-test" not in run.error.message + run.error.hint
    assert run.sources


async def test_stopping_keeps_what_there_is(engine: Engine, fake_openai: FakeOpenAI) -> None:
    knobs = replace(DEMO, plan=PlanKnobs(queries=1))
    gate = Gate()
    fake_openai.chats.append(streamed("The first half [1]. ", gate, "The second."))
    told = Told()
    going = asyncio.create_task(
        research(QUESTION, knobs, await engine.ports(knobs, _access(fake_openai)), told)
    )
    await gate.reached()
    async with asyncio.timeout(30):
        while not (told.runs and told.runs[-1].text):
            await asyncio.sleep(0.01)
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going
    gate.open()
    run = told.runs[-1]
    assert run.status is RunStatus.STOPPED
    assert run.text.startswith("The first half")
    assert run.sources


@pytest.mark.parametrize("question", ["", "   \n", "x" * 1001])
async def test_question_out_of_bounds_is_refused_with_advice(engine: Engine, question: str) -> None:
    with pytest.raises(BadInput) as refused:
        await research(question, DEMO, await engine.ports(DEMO))
    assert refused.value.hint


async def test_search_that_finds_nothing_says_which_part_with_advice(engine: Engine) -> None:
    run = await research("zxqv wvut qqqq", DEMO, await engine.ports(DEMO))
    assert run.status is RunStatus.FAILED
    assert run.error is not None
    assert run.error.part == "search"
    assert run.error.hint
