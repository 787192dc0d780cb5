"""What a data set holds and what a sweep takes, before it starts."""

import pytest

from core.config.knobs import Knobs
from core.evaluation.data_sets.available import HANDBOOK_NAME, HANDBOOK_QUESTIONS
from core.evaluation.data_sets.corpus import document_pages, document_passages
from core.evaluation.data_sets.data_set import CorpusDocument, DataSet, Question
from core.evaluation.data_sets.load import load_data_set
from core.evaluation.sweep import settings
from core.evaluation.sweep_cost import sampled, summarize, sweep_cost


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


def test_a_summary_counts_and_its_digest_is_that_of_the_content() -> None:
    summary = summarize(tides())
    assert (summary.documents, summary.questions, summary.unanswerable) == (1, 2, 1)
    assert (summary.relevant, summary.warnings) == ({0: 1, 1: 1}, ("Line 3 repeats line 2.",))
    assert summary.digest == summarize(tides()).digest
    assert summary.digest != summarize(tides("The moon pulls the sea.")).digest


def test_texts_to_embed_are_about_those_that_there_are_and_none_for_bm25_alone() -> None:
    data = load_data_set(HANDBOOK_QUESTIONS, HANDBOOK_NAME)
    tried = settings({"chunk": {"size": [300, 800]}, "rank": {"strategy": ["cosine", "bm25"]}})
    cost, pages = sweep_cost(summarize(data), tried), document_pages(data)
    passages = sum(len(document_passages(pages, chunk)) for chunk in {knobs.chunk for knobs in tried})
    assert cost.texts == pytest.approx(passages + len(data.questions), rel=0.25)
    assert (cost.settings, cost.chunkings) == (4, 2)
    assert cost.rankings == 4 * sum(question.answerable for question in data.questions)
    words = sweep_cost(summarize(data), settings({"rank": {"strategy": ["bm25"]}}))
    assert words.texts == words.tokens == 0


def test_a_sample_is_the_same_each_time_in_order_and_has_the_defaults() -> None:
    tried = settings({"chunk": {"size": list(range(100, 600, 10))}, "rank": {"top_k": [4, 6]}})
    some = sampled(tried, 10)
    assert some == sampled(tried, 10)
    assert len(set(some)) == 10 and Knobs() in some
    assert sorted(some, key=tried.index) == list(some)
    assert sampled(tried, 1000) == tried
