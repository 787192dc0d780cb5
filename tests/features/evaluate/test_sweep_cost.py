"""What a data set holds and what a sweep takes, before it starts."""

import asyncio
import tracemalloc
from collections.abc import Collection, Sequence
from datetime import date
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from core.config.knobs import Knobs
from core.config.prices import SHIPPED, Price, Prices
from core.errors import BadInput
from core.features.evaluate.data_sets.available import HANDBOOK_NAME, HANDBOOK_QUESTIONS
from core.features.evaluate.data_sets.corpus import document_pages, document_passages
from core.features.evaluate.data_sets.data_set import CorpusDocument, DataSet, Question
from core.features.evaluate.data_sets.load import load_data_set
from core.features.evaluate.sweep import combinations, settings
from core.features.evaluate.sweep_cost import SweepCost, SweepModels, summarize, sweep_cost
from core.model import Embeddings
from core.ports import RERANK_DEPTH, OnRetry, Rerank


def tides(text: str = "The moon pulls the water.") -> DataSet:
    return DataSet(
        name="tides",
        questions=(
            Question(id="1", text="What pulls?", judgements={"a": 1}),
            Question(id="2", text="Who shines?", judgements={"a": 0}),
        ),
        documents=lambda: iter((CorpusDocument(id="a", text=text),)),
        warnings=("Line 3 repeats line 2.",),
    )


def test_summary_counts_and_its_digest_follows_the_content() -> None:
    summary = summarize(tides())
    assert (summary.documents, summary.questions, summary.unanswerable) == (1, 2, 1)
    assert (summary.relevant, summary.warnings) == ({0: 1, 1: 1}, ("Line 3 repeats line 2.",))
    assert summary.digest == summarize(tides()).digest
    assert summary.digest != summarize(tides("The moon pulls the sea.")).digest


class TinyEmbed:
    """Vectors of seven dimensions, of a model in this process or at a host; it has `known` texts in a cache."""

    batch, languages = 8, frozenset[str]()

    def __init__(self, host: str = "", known: Collection[str] = ()) -> None:
        self.host, self.identity = host, f"tiny@{host}"
        self.known, self.embedded = known, list[str]()

    async def reads_whole(self, text: str) -> bool:
        return True

    async def __call__(self, texts: Sequence[str], on_retry: OnRetry | None = None) -> Embeddings:
        self.embedded += texts
        return Embeddings(np.ones((len(texts), 7), np.float32))

    async def cached(self, texts: Sequence[str]) -> tuple[int, int]:
        count = sum(text in self.known for text in texts)
        return count, 7 if count else 0


def cost_of(
    data: DataSet, tried: Sequence[Knobs], embed: TinyEmbed | None = None, **models: Any
) -> SweepCost:
    embed = embed or TinyEmbed()
    models = {"rerank": None, "prices": SHIPPED} | models
    return asyncio.run(
        sweep_cost(summarize(data), tried, SweepModels(embed=embed, cached=embed.cached, **models))
    )


def handbook() -> DataSet:
    return load_data_set(HANDBOOK_QUESTIONS, HANDBOOK_NAME)


def test_only_missing_texts_are_embedded_and_none_for_bm25() -> None:
    data = handbook()
    tried = settings({"chunk": {"size": [300, 800]}, "rank": {"strategy": ["cosine", "bm25"]}})
    pages = document_pages(data)
    texts = [
        passage.text
        for chunk in dict.fromkeys(knobs.chunk for knobs in tried)
        for passage in document_passages(pages, chunk)
    ]
    cost = cost_of(data, tried)
    assert cost.texts == cost.new == pytest.approx(len(texts) + len(data.questions), rel=0.05)
    assert (cost.settings, cost.chunkings) == (4, 2)
    assert cost.rankings == 4 * sum(question.answerable for question in data.questions)
    assert cost_of(data, tried, TinyEmbed(known=texts)).new == 0
    words = cost_of(data, settings({"rank": {"strategy": ["bm25"]}}))
    assert words.texts == words.new == words.tokens == 0
    assert set(cost.seconds) == {"chunk", "embed", "rerank", "rank"}
    assert cost.bounds[0] < sum(cost.seconds.values()) < cost.bounds[1]


def test_memory_follows_the_dimensions_and_hosted_embedders_get_nothing() -> None:
    data, tried = handbook(), settings({"rank": {"strategy": ["cosine"]}})
    texts = [passage.text for passage in document_passages(document_pages(data), Knobs().chunk)]
    hosted = TinyEmbed("models.example")
    unknown, known = cost_of(data, tried, hosted), cost_of(data, tried, TinyEmbed("h.example", texts[:1]))
    assert unknown.memory - known.memory == pytest.approx(4 * (1536 - 7) * len(texts), rel=0.1)
    assert hosted.embedded == []
    assert unknown.dollars is None, "no price of it is known"


def test_money_and_pairs_follow_the_prices_and_share_scores() -> None:
    day = date(2026, 11, 1)
    prices = Prices(
        rows=(
            Price(model="tiny", prompt=2, completion=0, as_of=day),
            Price(model="judge", prompt=1, completion=0, as_of=day),
        )
    )
    tried = settings({"rank": {"strategy": ["cosine"], "rerank": [True], "top_k": [4, 8]}})
    judge = SimpleNamespace(identity="judge@models.example", host="models.example", depth=RERANK_DEPTH)
    reranker = cast(Rerank, judge)
    cost = cost_of(handbook(), tried, TinyEmbed("models.example"), rerank=reranker, prices=prices)
    answerable = sum(question.answerable for question in handbook().questions)
    assert (cost.calls, cost.pairs) == (answerable, answerable * RERANK_DEPTH)
    pair_tokens = cost.pairs * 125
    assert cost.dollars == pytest.approx((2 * (cost.tokens - pair_tokens) + pair_tokens) / 1e6)


def test_sample_is_repeatable_ordered_and_holds_the_defaults() -> None:
    swept = {"chunk": {"size": list(range(100, 600, 10))}, "rank": {"top_k": [4, 6]}}
    tried, some = settings(swept), settings(swept, sample=10)
    assert some == settings(swept, sample=10)
    assert len(set(some)) == 10 and Knobs() in some
    assert sorted(some, key=tried.index) == list(some)
    assert settings(swept, sample=1000) == tried
    grid = settings(swept, sample=10, grid=True)
    sizes = {knobs.chunk.size for knobs in grid}
    assert (len(grid), sizes & {100, 500, 590}) == (10, {100, 500, 590}), "ends and default stay"
    assert set(grid) == {knobs for knobs in tried if knobs.chunk.size in sizes}


@pytest.mark.slow
def test_of_a_million_settings_only_the_sample_is_built() -> None:
    swept = {
        "chunk": {"size": list(range(100, 1100)), "overlap": list(range(50))},
        "rank": {"top_k": list(range(1, 21))},
    }
    assert combinations(swept) == 1_000_000
    tracemalloc.start()
    try:
        some = settings(swept, sample=45), settings(swept, sample=45, grid=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert all(0 < len(each) <= 45 and Knobs() in each for each in some)
    assert peak < 5_000_000
    with pytest.raises(BadInput, match="1,000,000 combinations"):
        settings(swept)
    with pytest.raises(BadInput, match=r"chunk\.size"):
        settings({"chunk": {"size": [*range(100, 1100), 9_000_000]}}, sample=2)
