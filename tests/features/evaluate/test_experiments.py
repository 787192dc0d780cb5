"""Experiments over settings: what is embedded, what a failure does, what a folder keeps, what the command prints."""

import json
import re
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from numpy.typing import NDArray

from core.adapters.models.remote_embedder import RemoteEmbedder
from core.adapters.workers.jobs import InProcess
from core.cli.main import main
from core.config.knobs import Knobs
from core.errors import BadInput, EmbedFailed, RerankFailed
from core.features.evaluate.data_sets.corpus import document_pages, document_passages
from core.features.evaluate.data_sets.data_set import CorpusDocument, DataSet, Question
from core.features.evaluate.experiment import Result, run_experiment
from core.features.evaluate.experiment_state import SweepPhase, SweepProgress
from core.features.evaluate.metrics.ranking_metrics import ndcg
from core.features.evaluate.metrics.retrieval_metrics import measure_ranking
from core.features.evaluate.metrics.trec_run import run_tag
from core.features.evaluate.record_file import is_being_written
from core.features.evaluate.results import Change, Results
from core.features.evaluate.results_folder import ResultsFolder, load, read_results
from core.features.evaluate.services.experiments import Experiments
from core.features.evaluate.statistics.significance import Verdict
from core.features.evaluate.sweep import name_of, settings
from core.model import Index, RerankScores
from core.ports import RERANK_DEPTH, Embed, Rerank
from core.runtime.event_loop import TaskStatus
from core.runtime.registry import RunRegistry
from core.stages.rank import rank
from tests.services.openai_server import FakeOpenAI, failure
from tests.stages.fakes import FakeEmbed

WORDS = ("water", "sand", "iron", "wood", "glass", "stone", "paper", "silk")


class LetterEmbedder(FakeEmbed):
    """Vectors by the words of `WORDS` in a text: what it finds can be worked out by hand."""

    identity = "letters"
    batch = 4

    def __init__(self, *, fails_on: str = "") -> None:
        self.texts: list[str] = []
        self._fails_on = fails_on

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self._fails_on and any(self._fails_on in text for text in texts):
            raise EmbedFailed("The embedder refused.")
        self.texts += texts
        counts = np.array([[0.1 + text.lower().count(word) for word in WORDS] for text in texts], np.float32)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def data_set() -> DataSet:
    documents = tuple(
        CorpusDocument(
            id=word,
            text=f"All about {word}. "
            + " ".join(f"Property {n} of {word} is described here." for n in range(12)),
        )
        for word in WORDS
    )
    questions = tuple(
        Question(id=f"q-{word}", text=f"What is {word}?", judgements={word: 1}, excerpts=((word, 0, 10),))
        for word in WORDS
    )
    return DataSet(
        name="materials",
        questions=(*questions, Question(id="none", text="Why?")),
        documents=lambda: iter(documents),
    )


async def results_of(
    data: DataSet,
    tried: Sequence[Knobs],
    embed: Embed,
    *,
    rerank: Rerank | None = None,
    done: Sequence[str] = (),
) -> list[Result]:
    with InProcess() as workers:
        return [
            result async for result in run_experiment(data, tried, embed, workers, rerank=rerank, done=done)
        ]


async def run(embed: LetterEmbedder, swept: dict[str, object], done: Sequence[str] = ()) -> list[Result]:
    return await results_of(data_set(), settings(swept), embed, done=done)


async def test_sweep_embeds_each_text_once_for_each_chunking() -> None:
    embed = LetterEmbedder()
    swept = {
        "chunk": {"size": [200, 400]},
        "rank": {"strategy": ["cosine", "fused", "bm25"], "top_k": [2, 4]},
    }
    results = await run(embed, swept)
    assert len(results) == 12
    passages = {result.passages for result in results}
    assert len(passages) == 2
    assert len(embed.texts) == sum(passages) + len(data_set().questions)
    for result in results:
        assert set(result.values) == {f"q-{word}" for word in WORDS}, (
            "a question without an answer has no figure"
        )
        assert all(values["nDCG@10"] == 1 for values in result.values.values())


async def test_a_ranking_by_words_asks_no_embedder() -> None:
    embed = LetterEmbedder()
    await run(embed, {"rank": {"strategy": "bm25"}})
    assert embed.texts == []


async def test_excerpts_are_measured_by_what_the_context_holds() -> None:
    (one, six) = await run(LetterEmbedder(), {"rank": {"top_k": [1, 6]}, "chunk": {"size": 4000}})
    assert one.values["q-sand"]["excerpt recall"] == six.values["q-sand"]["excerpt recall"] == 1
    assert one.values["q-sand"]["excerpt precision"] > six.values["q-sand"]["excerpt precision"] > 0


async def test_failed_question_is_reported_and_in_no_mean() -> None:
    (result,) = await run(LetterEmbedder(fails_on="What is iron?"), {})
    assert result.failed == {"q-iron": "The embedder refused."}
    assert set(result.values) == {f"q-{word}" for word in WORDS if word != "iron"}


async def test_passages_that_cannot_be_embedded_end_the_experiment() -> None:
    with pytest.raises(EmbedFailed):
        await run(LetterEmbedder(fails_on="iron is described"), {})


async def test_results_are_kept_and_a_killed_experiment_resumes(tmp_path: Path) -> None:
    swept = {"rank": {"strategy": ["fused", "bm25"]}}
    first, second = await run(LetterEmbedder(), swept)
    folder = ResultsFolder(tmp_path, data_set(), "letters")
    folder.add(first)
    with (tmp_path / "results.jsonl").open("a") as file:
        file.write('{"setting": "half a li')  # the process was killed here
    folder.close()
    again = ResultsFolder(tmp_path, data_set(), "letters")
    assert [result.setting for result in again.results.results] == ["defaults"]
    left = await run(LetterEmbedder(), swept, done=list(again.results.by_setting))
    assert [result.setting for result in left] == ["rank.strategy:bm25"]
    again.add(second)
    assert read_results(tmp_path).results == (first, second)
    table = load(tmp_path)
    assert len(table) == 2 * len(data_set().questions)
    assert table.groupby("setting")["nDCG@10"].mean().to_dict() == {"defaults": 1, "rank.strategy:bm25": 1}


def test_question_with_unusual_line_ends_is_on_one_line(tmp_path: Path) -> None:
    data = DataSet(
        name="marks", questions=(Question(id="q", text="Who\u2028nests?\x85"),), documents=lambda: iter(())
    )
    folder = ResultsFolder(tmp_path, data, "letters")
    folder.add(Result(setting="defaults", values={}))
    assert folder.results.questions == {"q": "Who\u2028nests?\x85"}
    assert len(folder.results.results) == 1


def test_experiment_that_another_process_measures_is_refused_and_unchanged(tmp_path: Path) -> None:
    first = ResultsFolder(tmp_path, data_set(), "letters")
    assert is_being_written(tmp_path / "results.jsonl")
    with (tmp_path / "results.jsonl").open("a") as file:
        file.write('{"setting": "half a li')  # the other process is writing it
    with pytest.raises(BadInput, match="is being measured by another OpenQuery"):
        ResultsFolder(tmp_path, data_set(), "letters")
    assert (tmp_path / "results.jsonl").read_text().endswith('{"setting": "half a li')
    first.close()
    assert not is_being_written(tmp_path / "results.jsonl")
    assert ResultsFolder(tmp_path, data_set(), "letters").results.results == ()


def status_of(runs: RunRegistry, name: str) -> TaskStatus:
    experiment = runs.service(Experiments).get(name)
    assert experiment
    return experiment.status


def test_experiment_of_another_process_cannot_be_stopped_here(runs: RunRegistry) -> None:
    folder = runs.settings.folder / "experiments" / "theirs"
    folder.mkdir(parents=True)
    plan = {"data": "materials", "swept": {}, "settings": 3, "started": "2026-01-02T03:04:05+00:00"}
    (folder / "plan.json").write_text(json.dumps(plan))
    assert status_of(runs, "theirs") is TaskStatus.STOPPED
    theirs = ResultsFolder(folder, data_set(), "letters")
    assert status_of(runs, "theirs") is TaskStatus.RUNNING
    runs.service(Experiments).resume("theirs")
    with pytest.raises(BadInput, match="another OpenQuery"):
        runs.service(Experiments).delete("theirs")
    theirs.close()
    assert status_of(runs, "theirs") is TaskStatus.STOPPED


def test_experiment_killed_in_its_first_line_begins_again(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text('{"data": "mate')
    assert ResultsFolder(tmp_path, data_set(), "letters").results.results == ()


async def test_text_in_two_documents_is_found_at_its_excerpt() -> None:
    twin = "Water boils at a hundred degrees in every kitchen of the town."
    data = DataSet(
        name="twins",
        questions=(
            Question(
                id="q", text="When does water boil?", judgements={"b": 1}, excerpts=(("b", 0, len(twin)),)
            ),
        ),
        documents=lambda: iter((CorpusDocument(id="a", text=twin), CorpusDocument(id="b", text=twin))),
    )
    (result,) = await results_of(data, settings({}), LetterEmbedder())
    assert result.values["q"]["excerpt recall"] == result.values["q"]["excerpt precision"] == 1


async def test_a_folder_of_other_questions_is_not_continued(tmp_path: Path) -> None:
    ResultsFolder(tmp_path, data_set(), "letters")
    with pytest.raises(BadInput, match="has results of materials with letters"):
        ResultsFolder(tmp_path, data_set(), "another embedder")


def graded(setting: str, figures: Sequence[float]) -> Result:
    return Result(
        setting=setting,
        values={f"q-{word}": {"nDCG@10": figure} for word, figure in zip(WORDS, figures, strict=True)},
    )


def test_comparison_counts_wins_and_names_the_largest_losses(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path, data_set(), "letters")
    folder.add(graded("before", [0.5] * 8))
    folder.add(graded("better", [0.9] * 8))
    folder.add(graded("mixed", [0.6, 0.6, 0.6, 0.1, 0.5, 0.5, 0.5, 0.5]))
    better, mixed = folder.results.compare("before", "nDCG@10")
    assert (better.setting, better.wins, better.losses) == ("better", 8, 0)
    assert better.p_value == pytest.approx(2 / 256 * 2), "exact, and twice for two comparisons"
    assert (mixed.wins, mixed.losses) == (3, 1)
    assert (better.verdict, mixed.verdict) == (Verdict.BETTER, Verdict.NO_DIFFERENCE)
    first, *_, last = folder.results.changes("before", "mixed", "nDCG@10")
    assert (first, last) == (Change("q-wood", 0.5, 0.1), Change("q-iron", 0.5, 0.6))
    folder.add(replace(graded("few", [0.9] * 8), values=dict([*graded("few", [0.9] * 8).values.items()][:5])))
    (few,) = folder.results.compare("before", "nDCG@10", others={"few"})
    assert (few.p_value, few.verdict) == (2 / 32, Verdict.TOO_FEW)
    with pytest.raises(BadInput, match="There is no setting 'after'"):
        folder.results.compare("after", "nDCG@10")


def test_every_combination_is_a_setting_named_by_its_changes() -> None:
    tried = settings({"chunk": {"size": [300, 500]}, "rank": {"strategy": ["bm25", "fused"]}})
    assert [name_of(knobs) for knobs in tried] == [
        "chunk.size:300 rank.strategy:bm25",
        "chunk.size:300",
        "rank.strategy:bm25",
        "defaults",
    ]


@pytest.mark.parametrize(
    ("swept", "message"),
    [
        (
            {"rank": {"top_k": list(range(50)), "diversity": [n / 1000 for n in range(1000)]}},
            "50,000 combinations",
        ),
        ({"rank": {"strategy": []}}, "0 combinations"),
        ({"rank": {"strategies": ["bm25"]}}, "rank.strategies is no setting that can be swept"),
        ({"search": {"results": [5, 10]}}, "search.results is no setting that can be swept"),
        ({"rank": {"top_k": [5, 500]}}, "rank.top_k"),
        ({"rank": 3}, "rank is no group of settings"),
    ],
)
def test_a_sweep_that_cannot_be_run_is_refused(swept: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        settings(swept)


def _check_runs(folder: Path, results: Results) -> None:
    """Check that the figures of the results follow from the files of runs."""
    judgements = defaultdict[str, dict[str, int]](dict)
    for line in (folder / "qrels.txt").read_text().splitlines():
        question, iteration, document, grade = line.split(" ")
        assert iteration == "0"
        judgements[unquote(question)][unquote(document)] = int(grade)
    for result in results.results:
        lines = (folder / f"{run_tag(result.setting)}.run").read_text().splitlines()
        ranked = defaultdict[str, list[str]](list)
        for line in lines:
            question, q0, document, rank, score, tag = line.split(" ")
            ranked[unquote(question)].append(unquote(document))
            assert (q0, tag, float(score)) == (
                "Q0",
                run_tag(result.setting),
                pytest.approx(1 / int(rank), abs=1e-6),
            )
            assert len(ranked[unquote(question)]) == int(rank)
        for question, values in result.values.items():
            assert values["nDCG@10"] == pytest.approx(ndcg(ranked[question][:10], judgements[question], 10))
    assert len(list(folder.iterdir())) == len(results.results) + 1


def test_a_setting_becomes_one_word() -> None:
    assert run_tag("chunk.size:300 rank.strategy:bm25") == "chunk.size_300_rank.strategy_bm25"
    assert run_tag("../..") == "defaults"
    long = [run_tag("rank.x:" + "1" * 200 + end) for end in "ab"]
    assert len(set(long)) == 2 and max(map(len, long)) < 140


def test_the_command_measures_the_handbook_and_compares(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENQUERY_DATA", str(tmp_path / "data"))
    sweep = tmp_path / "sweep.toml"
    sweep.write_text('[rank]\nstrategy = ["bm25"]\ntop_k = [1, 6]\n')
    runs = tmp_path / "runs"
    command = ["eval", "run", "--knobs", str(sweep), "--out", str(tmp_path / "out"), "--trec", str(runs)]
    assert main(command) == 0
    _check_runs(runs, read_results(tmp_path / "out"))
    printed = capsys.readouterr()
    assert "75 questions with an answer, 10 without" in printed.err
    assert "rank.strategy:bm25 rank.top_k:1\n    nDCG@10 0." in printed.out
    assert main(command) == 0
    assert capsys.readouterr().out == printed.out, "nothing is computed again"
    assert main(["eval", "compare", str(tmp_path / "out"), "--metric", "excerpt recall"]) == 0
    compared = capsys.readouterr()
    assert "better: rank.strategy:bm25" in compared.out or "worse: rank.strategy:bm25" in compared.out
    assert "Holm's correction for 1 comparison." in compared.err
    assert main(["eval", "compare", str(tmp_path / "out"), "--metric", "recall"]) == BadInput.exit_code
    assert "no 'recall'. They have nDCG@10, recall@10, " in capsys.readouterr().err


async def test_settings_that_change_one_knob_are_measured_first() -> None:
    embed, swept = (
        LetterEmbedder(),
        {"chunk": {"size": [300, 500]}, "rank": {"strategy": ["fused", "bm25"], "top_k": [6, 3]}},
    )
    measured = await run(embed, swept)
    changed = [0 if result.setting == "defaults" else len(result.setting.split()) for result in measured]
    assert changed[:4] == [0, 1, 1, 1]
    assert min(changed[4:]) == 2
    passages = {"chunk.size:300" in result.setting: result.passages for result in measured}
    assert len(embed.texts) == sum(passages.values()) + len(data_set().questions), "each text once"


def test_remaining_time_is_that_of_texts_to_embed() -> None:
    progress = SweepProgress()
    progress.begin(total=100, done=0)
    assert progress.seconds_left is None
    progress.enter(SweepPhase.EMBED)
    progress.texts = 100
    progress.enter(SweepPhase.RANK)
    progress.embedding, progress.began = 10.0, time.monotonic() - 11
    progress.questions = 50
    progress.plan_texts(900)
    assert progress.seconds_left == pytest.approx(900 * 10 / 100 + 50 * 1 / 50, abs=1)
    progress.plan_texts(0)
    assert progress.seconds_left == pytest.approx(1, abs=0.5)


def test_unfinished_folder_has_no_verdict_and_no_p_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planned = ["defaults", "rank.strategy:bm25", "rank.top_k:3"]
    folder = ResultsFolder(tmp_path, data_set(), "letters", planned)
    names = [question.id for question in data_set().questions]
    for place, setting in enumerate(planned[:2]):
        figures = {name: {"nDCG@10": 0.1 * place + 0.01 * number} for number, name in enumerate(names)}
        folder.add(Result(setting=setting, values=figures))
    folder.close()
    assert main(["eval", "compare", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "2 of 3 settings measured: no verdict. 1 setting may still be better." in printed.out
    assert not re.search(r"\bp [=<.]|better:|worse:|Holm", printed.out + printed.err)
    again = ResultsFolder(tmp_path, data_set(), "letters", [*planned, "rank.top_k:9"])
    with pytest.raises(BadInput, match="measured by another OpenQuery"):
        ResultsFolder(tmp_path, data_set(), "letters", planned)
    again.add(Result(setting="rank.top_k:3", values={}, failed={names[0]: "The model is gone."}))
    again.close()
    results = read_results(tmp_path)
    assert (len(results.results), results.planned, results.is_part) == (3, 4, True)


def test_file_of_an_earlier_version_is_compared_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = ResultsFolder(tmp_path, data_set(), "letters", ["defaults", "rank.top_k:3", "rank.top_k:9"])
    for setting, figure in (("defaults", 0.1), ("rank.top_k:3", 0.2)):
        values = {question.id: {"nDCG@10": figure} for question in data_set().questions}
        folder.add(Result(setting=setting, values=values))
    folder.close()
    path = tmp_path / "results.jsonl"
    path.write_text(path.read_text().replace(', "settings": 3}', "}"))
    assert main(["eval", "compare", str(tmp_path)]) == 0
    assert "does not say how many settings there are" in capsys.readouterr().err


def test_the_command_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep = tmp_path / "sweep.toml"
    sweep.write_text("rank = [")
    assert main(["eval", "run", "--knobs", str(sweep)]) == BadInput.exit_code
    assert "cannot be read as TOML" in capsys.readouterr().err
    assert main(["eval", "compare", str(tmp_path)]) == BadInput.exit_code
    assert "has no results" in capsys.readouterr().err


class PrefersShort:
    """A reranker that likes short passages, or fails for one question."""

    identity = "short"
    host = ""
    depth = RERANK_DEPTH

    def __init__(self, *, fails_on: str = "") -> None:
        self.asked: list[str] = []
        self._fails_on = fails_on

    async def __call__(self, question: str, texts: Sequence[str]) -> RerankScores:
        self.asked.append(question)
        if question == self._fails_on:
            raise RerankFailed("The reranker refused.")
        return RerankScores(np.array([-len(text) for text in texts], np.float32))


async def test_sweep_over_reranking_asks_once_for_the_same_passages() -> None:
    reranker = PrefersShort(fails_on="What is iron?")
    tried = settings({"rank": {"rerank": [False, True], "top_k": [1, 2]}, "chunk": {"size": 4000}})
    results = await results_of(data_set(), tried, LetterEmbedder(), rerank=reranker)
    plain, _, reranked, _ = results
    assert sorted(reranker.asked) == sorted([*(f"What is {word}?" for word in WORDS), "What is iron?"]), (
        "a second time only where it failed"
    )
    assert plain.values["q-water"]["nDCG@10"] == 1
    assert reranked.values["q-water"]["nDCG@10"] < 1, "water's document is among the longest"
    assert reranked.failed == {"q-iron": "The reranker refused."}
    assert set(reranked.values) == {f"q-{word}" for word in WORDS if word != "iron"}


async def test_reranking_without_a_model_is_refused_before_embedding() -> None:
    embed = LetterEmbedder()
    with pytest.raises(BadInput, match=r"rank\.rerank needs a reranking model"):
        await run(embed, {"rank": {"rerank": [False, True]}})
    assert embed.texts == []


@pytest.mark.parametrize("command", ["run", "answers", "freeze"])
def test_commands_refuse_reranking_without_a_model_and_leave_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("OPENQUERY_DATA", str(tmp_path / "data"))
    (tmp_path / "knobs.toml").write_text("[rank]\nrerank = true\n")
    out = tmp_path / "out.zip"
    code = main(["eval", command, "--knobs", str(tmp_path / "knobs.toml"), "--out", str(out)])
    assert code == BadInput.exit_code
    printed = capsys.readouterr()
    assert "Set OPENQUERY_RERANK_URL" in printed.err
    assert printed.out == ""
    assert not out.exists()


class SpeaksEnglish(LetterEmbedder):
    languages = frozenset(("en",))


async def test_experiment_ranks_by_page_languages_like_a_run() -> None:
    """Cosine counts for passages in a language that the embedder supports, whatever the question's is."""
    english = "This is what there is to be said of it, and that was all of it. It was not there for long. "
    documents = (
        CorpusDocument(id="by meaning", text=f"{english}Sand: sandbanks and sandy sandstone."),
        CorpusDocument(id="by words", text=f"{english}Kum nedir: sand. Iron, iron, iron, iron."),
        CorpusDocument(id="by two words", text=f"{english}Kum: sand. Iron, iron, iron, iron."),
        *(
            CorpusDocument(id=f"filler {n}", text=f"{english}Sandy iron and sandbanks, {n}.")
            for n in range(10)
        ),
    )
    text = "Kum nedir ve nerede sand bulunur?"
    data = DataSet(
        name="tongues",
        questions=(Question(id="q", text=text, judgements={"by meaning": 1}),),
        documents=lambda: iter(documents),
    )
    pages = document_pages(data)
    assert {page.article.language for page in pages.values()} == {"en"}
    embed = SpeaksEnglish()
    (result,) = await results_of(data, settings({}), embed)
    knobs = Knobs()
    passages = document_passages(pages, knobs.chunk)
    index = Index(
        passages=passages,
        vectors=(await embed([passage.text for passage in passages])).vectors,
        question=(await embed([text])).vectors[0],
        embedder=embed.identity,
        embedder_languages=("en",),
    )
    product = rank(text, index, knobs.rank, pages)
    without = rank(text, index, knobs.rank)
    expected, other = (
        measure_ranking(data.questions[0], index, one, pages, knobs.rank) for one in (product, without)
    )
    assert expected["nDCG@10"] != other["nDCG@10"], "the languages decide here"
    assert dict(result.values["q"]) == expected


async def test_a_limit_of_near_identical_passages_is_measured() -> None:
    twins = [
        CorpusDocument(id=name, text=f"Water flows past the old mill and the new bridge of the town. {name}!")
        for name in "ab"
    ]
    data = DataSet(
        name="twins",
        questions=(Question(id="q", text="Where flows water?", judgements={"a": 1}),),
        documents=lambda: iter(twins),
    )
    tried = settings({"rank": {"per_cluster": [0, 1]}})
    one, both = [  # the default setting comes first
        result.values["q"]["context tokens"] for result in await results_of(data, tried, LetterEmbedder())
    ]
    assert both == pytest.approx(2 * one, rel=0.1)


async def test_model_failing_on_every_tenth_call_loses_no_question(
    fake_openai: FakeOpenAI,
) -> None:
    embed = RemoteEmbedder("test-embed", fake_openai.base_url, None, backoff=0.001)
    embed.batch = 4
    for _ in range(20):
        fake_openai.embeddings.extend([*[None] * 9, failure(503)])
    progress, tried = SweepProgress(), settings({"chunk": {"size": [100, 200, 300]}})
    with InProcess() as workers:
        results = [
            result async for result in run_experiment(data_set(), tried, embed, workers, progress=progress)
        ]
    assert len(results) == 3 and not any(result.failed for result in results)
    calls = len(fake_openai.embedding_requests)
    assert calls >= 20
    assert progress.retries == calls // 10
    assert (progress.questions, progress.total) == (3 * len(WORDS), 3 * len(WORDS))
    assert progress.texts >= sum(result.passages for result in results)
    assert progress.seconds_left == 0


async def test_progress_counts_what_an_earlier_start_measured() -> None:
    tried, progress = settings({"rank": {"strategy": ["bm25", "fused"]}}), SweepProgress()
    with InProcess() as workers:
        done = [name_of(tried[0])]
        found = run_experiment(data_set(), tried, LetterEmbedder(), workers, done=done, progress=progress)
        assert len([result async for result in found]) == 1
    assert (progress.earlier, progress.questions, progress.total) == (
        len(WORDS),
        2 * len(WORDS),
        2 * len(WORDS),
    )
