"""Compare two rankings over stored runs, from one user's labels.

Rankings and grades of runs are kept in memory, so a new label costs only the work for its question.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

from cachetools import LRUCache

from core.config.knobs import RankKnobs
from core.features.evaluate.labels.graded_ranking import GradedRanking
from core.features.evaluate.labels.label_samples import DEPTH, Sample, in_random_order, sample
from core.features.evaluate.labels.label_verdict import LabelVerdict, compare
from core.features.evaluate.labels.passage_labels import passage_grades, place_labels
from core.model import Index, Label
from core.run.run_summary import RunSummary
from core.run.state import Run
from core.stages.rank import rank
from core.storage.label_store import LabelStore
from core.text.sanitize import folded_question

KEPT = 5_000
"""The most samples and run grades in memory, each with some ten passage ids."""

Version = tuple[str, float]
"""A run's id and its seconds, which grow with every follow-up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledRun:
    """A run with its sampled passages for labelling."""

    run: str
    version: Version
    sample: Sample
    """The sample, under the folded question."""
    orders: tuple[tuple[str, ...], tuple[str, ...]]
    """The ids of passages among the first of either ranking, as ordered by the first and second ranking."""


class RunComparisons:
    """Compare rankings of stored runs.

    Every method may be called from any thread, and raises StoreFailed when the store cannot be read.
    """

    def __init__(self, load: Callable[[str], Run | None], labels: LabelStore) -> None:
        """`load` reads a run by its id. It should be fast for recently read runs."""
        self._load = load
        self._labels = labels
        self._samples: LRUCache[tuple[Version, RankKnobs, RankKnobs], SampledRun | None] = LRUCache(KEPT)
        self._grades: LRUCache[tuple[Version, tuple[Label, ...]], Mapping[str, int]] = LRUCache(KEPT)
        self._lock = Lock()

    def is_ready(self, summary: RunSummary, first: RankKnobs, second: RankKnobs) -> bool:
        """Whether `sampled` has its result in memory."""
        with self._lock:
            return (_version(summary), first, second) in self._samples

    def sampled(self, summary: RunSummary, first: RankKnobs, second: RankKnobs) -> SampledRun | None:
        """Return the run ranked under both settings, without a reranking model. None if it has no passages."""
        key = (_version(summary), first, second)
        with self._lock:
            if key in self._samples:
                return self._samples[key]
        sampled_run = self._sample(summary, first, second)
        with self._lock:
            self._samples[key] = sampled_run
        return sampled_run

    def compare(self, runs: Sequence[SampledRun], user: str = "") -> LabelVerdict:
        """Compare the rankings of these runs by the user's labels. The runs have different questions."""
        return compare(in_random_order(run.sample for run in runs), self._grades_of(runs, user))

    def graded(
        self, run: SampledRun, user: str = "", unlabelled: str = ""
    ) -> tuple[GradedRanking, GradedRanking]:
        """Return both rankings of a run, graded by the user's labels.

        The passage with the id `unlabelled` is treated as unlabelled.
        """
        grades = self._graded(run, self._labels.of(run.sample.question, user))
        grades = {passage: grade for passage, grade in grades.items() if passage != unlabelled}
        first, second = (
            GradedRanking(order=order, grades=grades, recall=None, precision=None) for order in run.orders
        )
        return first, second

    def _grades_of(self, runs: Iterable[SampledRun], user: str) -> dict[str, Mapping[str, int]]:
        """Return the grades of labelled passages by id, by question."""
        by_question = self._labels.by_question(user)
        return {
            run.sample.question: self._graded(run, by_question[run.sample.question])
            for run in runs
            if run.sample.question in by_question
        }

    def _sample(self, summary: RunSummary, first: RankKnobs, second: RankKnobs) -> SampledRun | None:
        run = self._load(summary.id)
        if run is None or run.index is None:
            return None
        ranked, other = (_first(run, run.index, knobs) for knobs in (first, second))
        return SampledRun(
            run=run.id,
            version=_version(summary),
            sample=sample(folded_question(run.question), ranked, other),
            orders=(tuple(dict.fromkeys((*ranked, *other))), tuple(dict.fromkeys((*other, *ranked)))),
        )

    def _graded(self, sampled_run: SampledRun, labels: tuple[Label, ...]) -> Mapping[str, int]:
        """Return the grades of labelled passages by id."""
        key = (sampled_run.version, labels)
        with self._lock:
            if key in self._grades:
                return self._grades[key]
        run = self._load(sampled_run.run)
        grades: dict[str, int] = {}
        if run is not None and run.index is not None:
            passages = run.index.passages
            rows = passage_grades(passages, place_labels(labels, run.pages).labels)
            grades = {passages[row].id: grade for row, grade in rows.items()}
        with self._lock:
            self._grades[key] = grades
        return grades


def latest_runs(history: Iterable[RunSummary]) -> tuple[RunSummary, ...]:
    """Return the latest ended run with passages of each question. `history` begins with the newest run."""
    latest: dict[str, RunSummary] = {}
    for summary in history:
        if summary.passages and summary.status not in ("queued", "running"):
            latest.setdefault(folded_question(summary.question), summary)
    return tuple(latest.values())


def _version(summary: RunSummary) -> Version:
    return summary.id, summary.seconds


def _first(run: Run, index: Index, knobs: RankKnobs) -> Sequence[str]:
    order = rank(run.question, index, knobs, run.pages).order
    return [index.passages[row].id for row in order[:DEPTH].tolist()]
