"""Rankings of stored runs compared by labels: which runs count, and what is kept in memory."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.config.knobs import RankKnobs, Strategy
from core.features.evaluate.labels.passage_labels import label
from core.features.evaluate.services.run_comparisons import RunComparisons, latest_runs
from core.model import Grade
from core.run import events as e
from core.run.fold import folded_run
from core.run.run_summary import RunSummary
from core.run.state import Run, RunStatus
from core.storage.label_store import LabelStore
from core.storage.run_store import RunStore
from tests.samples import records, until

COSINE, BM25 = RankKnobs(), RankKnobs(strategy=Strategy.BM25)


def summary(
    run_id: str, question: str, *, passages: int = 5, status: RunStatus = RunStatus.DONE
) -> RunSummary:
    return RunSummary(id=run_id, question=question, started="", status=status, seconds=1.0, passages=passages)


@pytest.fixture
def labels(tmp_path: Path) -> Iterator[LabelStore]:
    store = RunStore(tmp_path / "runs.sqlite")
    yield LabelStore(store)
    store.close()


def test_latest_run_of_each_question_with_passages_counts() -> None:
    history = (
        summary("live", "What boils?", status=RunStatus.RUNNING),
        summary("empty", "What boils?", passages=0),
        summary("new", "what  boils?"),
        summary("old", "What boils?"),
        summary("stopped", "What else?", status=RunStatus.STOPPED),
    )
    assert [one.id for one in latest_runs(history)] == ["new", "stopped"]


class TestSampleRun:
    @pytest.fixture
    def run(self) -> Run:
        return folded_run(records(*until(e.RunDone)))

    def test_a_new_label_reads_its_own_run_only(self, run: Run, labels: LabelStore) -> None:
        loaded: list[str] = []
        others = {name: replace(run, id=name, question=f"{run.question} {name}") for name in "ab"}

        def load(name: str) -> Run | None:
            loaded.append(name)
            return others.get(name)

        comparisons = RunComparisons(load, labels)
        listed = [summary(name, one.question) for name, one in others.items()]
        assert not comparisons.is_ready(listed[0], COSINE, BM25)
        sampled = [comparisons.sampled(one, COSINE, BM25) for one in listed]
        assert comparisons.is_ready(listed[0], COSINE, BM25)
        assert all(
            comparisons.sampled(one, COSINE, BM25) is kept for one, kept in zip(listed, sampled, strict=True)
        )
        assert loaded == ["a", "b"]
        runs = [one for one in sampled if one is not None]
        assert len(runs) == 2
        assert run.index is not None
        passage = run.index.passages[0]
        labels.add(
            others["a"].question, "a", label(run.pages[passage.place.page], passage.place, Grade.RELEVANT)
        )
        first = comparisons.compare(runs)
        assert loaded == ["a", "b", "a"]
        assert comparisons.compare(runs) == first
        assert loaded == ["a", "b", "a"]

    def test_ranking_of_one_question_is_graded_by_its_labels(self, run: Run, labels: LabelStore) -> None:
        comparisons = RunComparisons(lambda _: run, labels)
        sampled = comparisons.sampled(summary(run.id, run.question), COSINE, BM25)
        assert sampled is not None and run.index is not None
        best = next(one for one in run.index.passages if one.id == sampled.orders[0][0])
        labels.add(run.question, run.id, label(run.pages[best.place.page], best.place, Grade.RELEVANT))
        first, second = comparisons.graded(sampled)
        assert first.ndcg is not None and first.ndcg.high == 1
        assert set(first.order) == set(second.order)
        assert {*first.grades.values()} == {Grade.RELEVANT}
        assert comparisons.graded(sampled, unlabelled=best.id)[0].ndcg is None

    def test_a_run_that_is_gone_is_left_out(self, labels: LabelStore) -> None:
        comparisons = RunComparisons(lambda _: None, labels)
        assert comparisons.sampled(summary("a", "What boils?"), COSINE, BM25) is None
