"""Comparison of two rankings over many questions from few labels, valid at any stop.

`label_samples` samples the passages, `statistics.sequential_test` has the test.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.features.evaluate.labels.comparison_power import (
    MOST,
    PLANNED,
    POWER,
    difference_shown,
    expected_spread,
    questions_needed,
    rounded_up,
)
from core.features.evaluate.labels.label_samples import DEPTH, LARGEST, Sample
from core.features.evaluate.metrics.metric_help import with_unit
from core.features.evaluate.statistics.sequential_test import interval, p_value
from core.features.evaluate.statistics.significance import Interval, Verdict, p_text
from core.text.sanitize import plural, pluralize

BUDGET = 0.3
"""The share of the labels for pooling at which "no difference shown" is concluded.

More labels may still show a difference.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The next passage to label, by id, and its question."""

    question: str
    passage: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelVerdict:
    """The first ranking against the second, by the present labels."""

    labels: int
    """The number of labels used."""
    pool: int
    """The labels that pooling to `DEPTH` would need over all questions."""
    questions: int
    """The number of questions with a labelled sample. Other questions do not count."""
    of: int
    """The number of all questions."""
    difference: Interval | None
    """The mean DCG of the first minus the second, or None before the first question."""
    p_value: float
    """The p-value of no difference, valid at any number of labels."""
    verdict: Verdict
    shown: float | None
    """The smallest difference that the labelled questions show with a chance of `POWER`.

    It is a difference of the mean DCG, or infinity if nothing can be shown. None unless no difference is shown, and for
    equal rankings.
    """
    needed: int | None
    """The number of questions for a verdict on `planned` with a chance of `POWER`.

    More than are labelled, in two significant digits. None with a verdict, and if no number of questions suffices.
    """
    planned: float
    """The difference of the mean DCG so far, unsigned, or `PLANNED` before the first question."""
    open: tuple[Proposal, ...]
    """The unlabelled passages of the sample, in labelling order."""

    @property
    def next(self) -> Proposal | None:
        """The next passage to label, or None if the sample is fully labelled."""
        return self.open[0] if self.open else None

    @property
    def summary(self) -> str:
        """The verdict on the rankings A and B, in a sentence of Markdown."""
        after = f"after {pluralize(self.labels, 'label')}"
        verb = plural(self.questions, "shows", "show")
        match self.verdict:
            case Verdict.BETTER | Verdict.WORSE:
                better = "A" if self.verdict is Verdict.BETTER else "B"
                return f"**{better} is better**, {p_text(self.p_value)} {after}."
            case Verdict.OPEN:
                return f"**Not decided yet** {after}. You may stop whenever you like."
            case Verdict.TOO_FEW:
                return (
                    f"**Too few questions to show a difference** {after}: {pluralize(self.questions, 'labelled question')} "
                    f"{verb} no difference of {with_unit(f'DCG@{DEPTH}', 'passages')}, however large. "
                    f"{'Label more of them, or ask' if self.next else 'Nothing is left to label: ask'} more questions."
                )
        if self.shown is None:
            return f"**No difference shown**: the first {DEPTH} passages are the same, or nearly so, in every question."
        end = (
            f"{self.labels / self.pool:.0%} of what labelling the first {DEPTH} of both rankings takes. Further labels "
            "may show a smaller one"
            if self.next
            else "and nothing is left to label. More questions may show a smaller one"
        )
        return (
            f"**No difference shown** {after}, {end}: {pluralize(self.questions, 'labelled question')} {verb} a difference "
            f"of {with_unit(f'DCG@{DEPTH}', 'passages')} from about {self.shown:.2f} on, with a chance of {POWER:.0%}."
        )


def compare(samples: Sequence[Sample], grades: Mapping[str, Mapping[str, int]]) -> LabelVerdict:
    """Compare the two rankings by the labels.

    A question counts when its sample and the samples of all questions before it are labelled. Otherwise the choice of
    passages could decide which questions count. `samples` are in the order of `in_random_order`. `grades` are those of
    labelled passages by id, for each question.
    """
    estimates: list[float] = []
    unlabelled: list[Proposal] = []
    used = 0
    for sample in samples:
        question_grades = grades.get(sample.question, {})
        estimate = sample.estimate(question_grades)
        if not unlabelled:
            used += sum(passage in question_grades for passage in sample.factors)
            estimates += [] if estimate is None else [estimate]
        unlabelled += [
            Proposal(question=sample.question, passage=passage)
            for passage in sample.factors
            if passage not in question_grades
        ]
    pool = sum(sample.pool for sample in samples)
    difference = interval(estimates, LARGEST) if estimates else None
    spread, planned = expected_spread(samples, grades), abs(difference.mean) if difference else PLANNED
    verdict = _verdict(difference, exhausted=not unlabelled or used >= BUDGET * pool)
    shown = None
    if verdict is Verdict.NO_DIFFERENCE and any(sample.factors for sample in samples):
        shown = difference_shown(len(estimates), spread)
        verdict = Verdict.TOO_FEW if shown > LARGEST else verdict
    return LabelVerdict(
        labels=used,
        pool=pool,
        questions=len(estimates),
        of=len(samples),
        difference=difference,
        p_value=p_value(estimates),
        verdict=verdict,
        shown=shown,
        needed=_needed(planned, len(estimates), spread)
        if verdict not in (Verdict.BETTER, Verdict.WORSE)
        else None,
        planned=planned,
        open=tuple(unlabelled),
    )


def _verdict(difference: Interval | None, *, exhausted: bool) -> Verdict:
    if difference and difference.low > 0:
        return Verdict.BETTER
    if difference and difference.high < 0:
        return Verdict.WORSE
    return Verdict.NO_DIFFERENCE if exhausted else Verdict.OPEN


def _needed(planned: float, questions: int, spread: float) -> int | None:
    count = max(questions_needed(planned, spread), questions + 1) if planned else MOST
    return rounded_up(count) if count < MOST else None
