"""Questions of a data set as runs: the ranking that was measured, relevant texts in it, and why they are missed."""

from dataclasses import replace

import pytest

from core.analysis.rankings.ranked_passages import ranks_by_row
from core.errors import BadInput
from core.features.evaluate.data_sets.data_set import CorpusDocument, DataSet, Question
from core.features.evaluate.metrics.retrieval_metrics import measure_ranking
from core.features.evaluate.question_runs import QuestionRuns, explanation, neighbours, relevant_texts
from core.features.evaluate.results import Results
from core.features.evaluate.sweep import knobs_of
from core.run.fold import folded_run
from core.run.importer import check_consistency
from core.run.state import RunStatus
from tests.features.evaluate.test_experiments import LetterEmbedder, data_set, run

SETTINGS = (
    "defaults",
    "rank.strategy:bm25",
    "chunk.size:150 rank.top_k:1",
    "rank.strategy:bm25 rank.top_k:1",
)


async def test_question_as_a_run_has_the_measured_ranking() -> None:
    data = data_set()
    results = await run(
        LetterEmbedder(), {"rank": {"strategy": ["bm25", "cosine"]}, "chunk": {"size": [150, 500]}}
    )
    questions = QuestionRuns(data, LetterEmbedder())
    for result in results:
        knobs = knobs_of(result.setting)
        for name, values in result.values.items():
            (recorded,) = await questions.runs(name, [result.setting])
            ranked = recorded.run
            check_consistency(ranked)
            assert ranked.status is RunStatus.DONE
            assert ranked.index is not None and ranked.ranking is not None
            question = questions.questions[name]
            assert measure_ranking(question, ranked.index, ranked.ranking, ranked.pages, knobs.rank) == values
            assert folded_run(recorded.records).sources == ranked.sources


async def test_documents_are_read_and_embedded_once_for_each_chunking() -> None:
    reads = 0

    def documents() -> object:
        nonlocal reads
        reads += 1
        return data_set().documents()

    embed = LetterEmbedder()
    questions = QuestionRuns(replace(data_set(), documents=documents), embed)  # type: ignore[arg-type]
    await questions.runs("q-iron", SETTINGS)
    embedded = len(embed.texts)
    await questions.runs("q-sand", SETTINGS)
    assert reads == 2, "once to count characters, once to read them"
    assert len(embed.texts) - embedded == len(SETTINGS), "the question alone, for each setting"


async def test_relevant_text_has_its_ranks_and_the_reason_for_its_loss() -> None:
    questions = QuestionRuns(data_set(), LetterEmbedder())
    question = questions.questions["q-iron"]
    whole, first = (recorded.run for recorded in await questions.runs("q-iron", ("defaults", "rank.top_k:1")))
    (text,) = relevant_texts(question, whole)
    assert whole.ranking is not None
    assert (text.rank, text.number) == (ranks_by_row(whole.ranking)[text.row or 0], 1)
    assert set(text.ranks) == {"bm25", "cosine", "fused"}
    assert 0 < text.share < 1
    assert explanation(text, None, 6)[0] == "It is source 1."
    third = replace(question, excerpts=(("wood", 0, 10), ("iron", 0, 10)))
    missed, found = relevant_texts(third, first)
    assert (found.number, missed.number) == (1, None)
    assert (
        explanation(missed, None, 1)[0] == f"Its passage is at rank {missed.rank}, and the context takes 1."
    )
    diluted = replace(missed, share=0.1)
    assert "Diluted: it is 10% of its passage, and 90% under the baseline." in explanation(
        diluted, replace(missed, share=0.9), 1
    )


async def test_relevant_documents_without_excerpts_count_as_a_whole() -> None:
    questions = QuestionRuns(data_set(), LetterEmbedder())
    question = replace(
        questions.questions["q-iron"], excerpts=(), judgements={"iron": 1, "sand": 0, "gone": 1}
    )
    (recorded,) = await questions.runs("q-iron", ["defaults"])
    (text,) = relevant_texts(question, recorded.run)
    assert (text.place.page, text.share) == ("iron", 1.0)
    (alone,) = relevant_texts(question, replace(recorded.run, index=None)) or (None,)
    assert alone is None


async def test_neighbours_differ_in_one_knob() -> None:
    results = await run(
        LetterEmbedder(),
        {"rank": {"strategy": ["bm25", "cosine"], "top_k": [1, 2]}, "chunk": {"size": [150, 500]}},
    )
    measured = Results(data="", embedder="", questions={}, results=tuple(results))
    near = neighbours(measured, "chunk.size:150 rank.strategy:bm25 rank.top_k:1")
    assert [(neighbour.path, neighbour.value) for neighbour in near] == [
        ("chunk.size", 500),
        ("rank.strategy", "cosine"),
        ("rank.top_k", 2),
    ]


async def test_missing_question_and_oversized_data_set_are_refused() -> None:
    questions = QuestionRuns(data_set(), LetterEmbedder())
    with pytest.raises(BadInput, match="no such question any more"):
        await questions.runs("q-gold", ["defaults"])
    text = "x" * 7_000_000
    large = DataSet(
        name="large",
        questions=(Question(id="q", text="What?"),),
        documents=lambda: (CorpusDocument(id=str(number), text=text) for number in range(1000)),
    )
    with pytest.raises(BadInput, match="too many to rank a question"):
        await QuestionRuns(large, LetterEmbedder()).runs("q", ["defaults"])
