"""Reranking in a whole run: a step after the ranking, whose failure changes nothing but a note."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.adapters.models.local_reranker import LocalReranker
from core.analysis.rankings.ranked_passages import ranked_passages
from core.analysis.rankings.score_curve import score_curve
from core.config.knobs import Knobs, RankKnobs, SearchKnobs
from core.config.settings import Settings
from core.followups import retune
from core.pipeline import research
from core.ports import RERANK_DEPTH
from core.run.state import Run, RunStatus
from core.runtime.engine import Engine
from core.runtime.engine_parts import ProbeState
from core.runtime.health import probes
from tests.services.reranker import Judge

pytestmark = pytest.mark.slow


QUESTION = "How does chunk overlap affect retrieval?"
PLAIN = Knobs(search=SearchKnobs(backend="demo"))
RERANKED = replace(PLAIN, rank=RankKnobs(rerank=True))


@pytest.fixture
async def judged(warm_folder: Path) -> AsyncIterator[tuple[Engine, Judge]]:
    with Judge() as judge:
        settings = Settings(
            data=warm_folder, ollama_url="", rerank_url=f"{judge.url}/rerank", rerank_model="short"
        )
        async with Engine(settings) as engine:
            yield engine, judge


def lengths(run: Run) -> list[int]:
    assert run.index is not None and run.ranking is not None
    return [len(run.index.passages[row].text) for row in run.ranking.order.tolist()]


async def test_model_orders_the_best_passages_and_raw_scores_stay(
    judged: tuple[Engine, Judge],
) -> None:
    engine, judge = judged
    run = await research(QUESTION, RERANKED, await engine.ports(RERANKED))
    assert run.status is RunStatus.DONE
    assert run.ranking is not None and run.ranking.rerank is not None and run.ranking.cosine is not None
    asked = sum(len(request.json["documents"]) for request in judge.requests)
    assert asked == min(RERANK_DEPTH, len(lengths(run)))
    assert lengths(run)[:asked] == sorted(lengths(run)[:asked])
    assert run.ranking.strategy == "rerank"
    assert run.ranking.reranker.startswith("short@127.0.0.1")
    scored = run.ranking.rerank[run.ranking.order[:asked]]
    assert (np.diff(scored) <= 0).all()


async def test_turning_knobs_asks_for_no_judged_passage_again(
    judged: tuple[Engine, Judge],
) -> None:
    engine, judge = judged
    ports = await engine.ports(RERANKED)
    run = await research(QUESTION, RERANKED, ports)
    before = len(judge.requests)
    for knobs in (RankKnobs(rerank=True, top_k=2), RankKnobs(rerank=True, diversity=0.4)):
        run = await retune(run, replace(RERANKED, rank=knobs), ports)
    assert len(judge.requests) == before
    assert run.ranking is not None and run.ranking.diverse is not None
    off = await retune(run, PLAIN, ports)
    assert off.ranking is not None
    assert (off.ranking.strategy, off.ranking.rerank) == ("fused", None)


async def test_too_few_scores_leave_the_order_and_say_so(judged: tuple[Engine, Judge]) -> None:
    engine, judge = judged
    judge.broken = True
    plain = await research(QUESTION, PLAIN, await engine.ports(PLAIN))
    run = await research(QUESTION, RERANKED, await engine.ports(RERANKED))
    assert run.status is RunStatus.DONE
    assert lengths(run) == lengths(plain)
    assert run.ranking is not None and run.ranking.strategy == "fused"
    [note] = [note for note in run.notes if "rerank" in note.message]
    assert "scores for" in note.message
    assert note.hint


async def test_without_a_model_a_note_says_how_to_connect(warm_folder: Path) -> None:
    async with Engine(Settings(data=warm_folder, ollama_url="")) as engine:
        run = await research(QUESTION, RERANKED, await engine.ports(RERANKED))
    assert run.status is RunStatus.DONE
    assert any("OPENQUERY_RERANK_URL" in note.hint for note in run.notes)


async def test_local_model_reranks_fifteen_passages_in_a_confined_process(
    warm_folder: Path,
) -> None:
    settings = Settings(data=warm_folder, ollama_url="", rerank_model="local")
    async with Engine(settings) as engine:
        run = await research(QUESTION, RERANKED, await engine.ports(RERANKED))
        assert run.ranking is not None and run.ranking.rerank is not None
        judged = run.ranking.rerank[run.ranking.order[: LocalReranker.depth]]
        assert np.isfinite(judged).all() and (np.diff(judged) <= 0).all()
        assert np.isnan(run.ranking.rerank).sum() == len(lengths(run)) - LocalReranker.depth
        assert run.ranking.reranker == LocalReranker.identity
        port = engine.models.reranker()
        assert port is not None
        with pytest.raises(TimeoutError):  # a call that is stopped leaves nothing for the next one to misread
            async with asyncio.timeout(0):
                await port("What is iron?", ["A metal."])
        texts = ["A cat sat on the mat.", "The mountain is 3,000 metres high.", "half \udc00"]
        scores, usage = await port("Wie hoch ist der Berg?", texts)
        assert (int(np.argmax(scores)), usage) == (1, None)


async def test_check_of_all_parts_tells_whether_the_model_answers(judged: tuple[Engine, Judge]) -> None:
    engine, judge = judged
    for broken, state in ((False, ProbeState.WORKS), (True, ProbeState.BROKEN)):
        judge.broken = broken
        [probe] = [probe for probe in await probes(engine) if probe.part == "Reranker"]
        assert probe.state is state
        assert bool(probe.hint) is broken


async def test_the_table_and_the_curve_show_the_models_scores(judged: tuple[Engine, Judge]) -> None:
    engine, _ = judged
    run = await research(QUESTION, RERANKED, await engine.ports(RERANKED))
    drawn = score_curve(run)
    assert drawn is not None
    assert drawn.name == "rerank"
    assert list(drawn.scores) == sorted(drawn.scores, reverse=True)
    assert [row.rerank for row in ranked_passages(run)][: len(drawn.scores)] == list(drawn.scores)
