"""Verdicts over many questions: the errors that they promise, what they propose, and worked examples."""

import math
import random
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.features.evaluate.labels.comparison_power import PLANNED
from core.features.evaluate.labels.label_samples import DEPTH, LARGEST, Sample, in_random_order, sample
from core.features.evaluate.labels.label_verdict import BUDGET, LabelVerdict, compare
from core.features.evaluate.metrics.ranking_metrics import discount
from core.features.evaluate.statistics.sequential_test import interval, p_value
from core.features.evaluate.statistics.significance import SIGNIFICANT, Verdict

PASSAGES = "abcdefghijklmno"
Grades = dict[str, dict[str, int]]
orders = st.permutations(PASSAGES).map(tuple)
estimates = st.lists(st.floats(-LARGEST, LARGEST), min_size=1, max_size=60)


def question(one: Sequence[str], other: Sequence[str], name: str = "q") -> Sample:
    return sample(name, one, other)


def label_until_decided(
    samples: Sequence[Sample], truth: Mapping[str, Mapping[str, int]], *, to_the_end: bool = False
) -> LabelVerdict:
    """What a person does who labels what is proposed, and stops as soon as there is an outcome."""
    grades: Grades = {drawn.question: {} for drawn in samples}
    while (verdict := compare(samples, grades)).next is not None:
        if verdict.verdict is not Verdict.OPEN and not to_the_end:
            return verdict
        assert verdict.next.passage not in grades[verdict.next.question]
        grades[verdict.next.question][verdict.next.passage] = truth[verdict.next.question][
            verdict.next.passage
        ]
    return verdict


class TestSample:
    def test_equal_ranks_are_never_sampled_and_large_differences_always(self) -> None:
        sampled = question("abcdefghijk", "kbcdefghija")
        assert set(sampled.factors) == {"a", "k"}, (
            "each is first in one ranking: both are sampled for certain"
        )
        assert sampled.factors["a"] == pytest.approx(1.0)
        assert sampled.factors["k"] == pytest.approx(-1.0)
        assert sampled.pool == 11

    def test_the_estimate_is_worked_out_by_hand(self) -> None:
        sampled = question("ab", "ba")
        weight = discount(1) - discount(2)
        assert sampled.factors == pytest.approx({"a": weight, "b": -weight}), (
            "3 * 0.37 > 1: sampled for certain"
        )
        assert sampled.estimate({"a": 2, "b": 1}) == pytest.approx(weight / 2)
        assert sampled.estimate({"a": 2}) is None
        assert question("ab", "ab").estimate({}) == 0.0

    def test_unlikely_sampled_passage_counts_for_unsampled_ones(self) -> None:
        found = [question("abcdefghij", "abcdefghik", f"question {number}").factors for number in range(400)]
        chance = 3 * discount(10) / math.sqrt(10)
        sampled = [item["j"] for item in found if "j" in item]
        assert sampled == pytest.approx([discount(10) / chance] * len(sampled))
        assert len(sampled) / 400 == pytest.approx(chance, abs=0.05)

    def test_estimates_are_unbiased_over_questions(self) -> None:
        dice = random.Random(1)
        one, other = tuple(PASSAGES), tuple(dice.sample(PASSAGES, len(PASSAGES)))
        grades = {passage: dice.randrange(3) for passage in PASSAGES}
        exact = sum(
            sign * discount(rank) * grades[passage] / 2
            for order, sign in ((one, 1), (other, -1))
            for rank, passage in enumerate(order[:DEPTH], 1)
        )
        count = 4000
        found = [
            question(one, other, f"question {number}").estimate(grades) or 0.0 for number in range(count)
        ]
        mean = sum(found) / count
        error = math.sqrt(sum((value - mean) ** 2 for value in found)) / count
        assert error < 0.03
        assert abs(mean - exact) < 3 * error

    @given(orders, orders)
    def test_swapping_the_settings_changes_only_the_sign(
        self, one: tuple[str, ...], other: tuple[str, ...]
    ) -> None:
        ours, theirs = question(one, other), question(other, one)
        assert list(ours.factors) == list(theirs.factors)
        assert {key: -value for key, value in ours.factors.items()} == dict(theirs.factors)
        assert ours.pool == theirs.pool

    def test_labels_are_reused_by_other_comparisons_of_a_question(self) -> None:
        """A passage with a larger difference of discounts is sampled wherever one with a smaller one is."""
        names = [f"question {number}" for number in range(200)]
        near = {name for name in names if "k" in question("abcdefghij", "abcdefghik", name).factors}
        far = {name for name in names if "k" in question("abcdefghij", "abkcdefghi", name).factors}
        assert near < far


class TestOrder:
    def test_order_of_questions_does_not_depend_on_their_input(self) -> None:
        samples = [question("ab", "ba", name) for name in "pqrstuv"]
        assert in_random_order(samples) == in_random_order(samples[::-1])
        assert [drawn.question for drawn in in_random_order(samples)] != list("pqrstuv")


class TestCompare:
    def test_question_counts_once_its_sample_and_earlier_ones_are_labelled(self) -> None:
        samples = [Sample(question=name, factors={"a": 1.0, "b": -0.5}, pool=10) for name in "pq"]
        everything = {"a": 2, "b": 0}
        later = compare(samples, {"q": everything})
        assert (later.questions, later.of, later.labels, later.pool) == (0, 2, 0, 20)
        assert later.difference is None
        assert later.planned == PLANNED
        assert later.needed is not None, "how many questions it takes is said before the first one"
        assert later.next is not None
        assert (later.next.question, later.next.passage) == ("p", "a")
        half = compare(samples, {"p": {"a": 2}, "q": everything})
        assert half.next is not None
        assert (half.questions, half.labels, half.next.passage) == (0, 1, "b")
        both = compare(samples, {"p": everything, "q": everything})
        assert (both.questions, both.labels, both.next) == (2, 4, None)
        assert both.difference is not None
        assert both.difference.mean == 1.0
        assert both.verdict is Verdict.TOO_FEW, "two questions decide nothing"
        assert both.shown == math.inf
        assert "2 labelled questions show no difference of DCG@10 of passages, however large" in both.summary

    def test_clear_difference_is_told_after_few_labels_with_its_sign(self) -> None:
        samples = [Sample(question=f"{number:02}", factors={"a": 1.0}, pool=12) for number in range(40)]
        truth = {drawn.question: {"a": 2} for drawn in samples}
        verdict = label_until_decided(samples, truth)
        assert verdict.verdict is Verdict.BETTER
        assert verdict.labels == verdict.questions == 12
        assert verdict.p_value == pytest.approx(math.sqrt(13) * math.exp(-(12**2) / 26))
        assert verdict.needed is None
        begun = compare(samples, {name: truth[name] for name in list(truth)[:3]})
        assert begun.needed is not None and begun.needed > begun.questions == 3
        assert [proposal.question for proposal in begun.open] == list(truth)[3:]
        swapped = [Sample(question=drawn.question, factors={"a": -1.0}, pool=drawn.pool) for drawn in samples]
        assert label_until_decided(swapped, truth).verdict is Verdict.WORSE

    def test_without_a_difference_the_budget_ends_and_can_grow(self) -> None:
        samples = [Sample(question=f"{number:02}", factors={"a": 1.0}, pool=2) for number in range(30)]
        truth = {drawn.question: {"a": 0} for drawn in samples}
        verdict = label_until_decided(samples, truth)
        assert verdict.verdict is Verdict.NO_DIFFERENCE
        assert verdict.labels == math.ceil(BUDGET * verdict.pool) == 18
        assert verdict.shown is not None
        assert 0.3 < verdict.shown < LARGEST
        assert (
            f"18 labelled questions show a difference of DCG@10 of passages from about {verdict.shown:.2f} on"
            in verdict.summary
        )
        assert verdict.next is not None
        assert label_until_decided(samples, truth, to_the_end=True).labels == 30

    def test_the_same_rankings_need_no_label(self) -> None:
        verdict = compare([question("abc", "abc", name) for name in "pq"], {})
        assert (verdict.labels, verdict.questions, verdict.next) == (0, 2, None)
        assert verdict.verdict is Verdict.NO_DIFFERENCE

    def test_without_questions_nothing_is_told(self) -> None:
        verdict = compare([], {})
        assert (verdict.verdict, verdict.p_value, verdict.difference) == (Verdict.NO_DIFFERENCE, 1.0, None)


class TestErrors:
    """Synthetic questions: fifteen passages, few of them relevant, ordered by two settings with errors of their own."""

    QUESTIONS, COMPARISONS = 50, 200

    def verdicts(self, seed: int, better: float) -> list[int]:
        """The sign of each comparison's verdict, 0 without one, looked at after every question.

        The second setting errs more by `better`.
        """
        dice, found = random.Random(seed), list[int]()
        for _ in range(self.COMPARISONS):
            values: list[float] = []
            for _ in range(self.QUESTIONS):
                relevant = {passage: 2 * (dice.random() < 0.2) for passage in PASSAGES}
                first, second = (
                    sorted(PASSAGES, key=lambda one: relevant[one] / 2 + dice.gauss(0, error), reverse=True)
                    for error in (1.0, 1.0 + better)
                )
                one = sample(f"{dice.random()}", first, second)
                values.append(one.estimate(relevant) or 0.0)
                if p_value(values) <= SIGNIFICANT:
                    break
            decided = p_value(values) <= SIGNIFICANT
            found.append(0 if not decided else 1 if sum(values) > 0 else -1)
        return found

    @pytest.mark.slow
    def test_equal_settings_get_a_verdict_in_at_most_five_percent(self) -> None:
        found = self.verdicts(seed=7, better=0.0)
        assert sum(map(abs, found)) <= SIGNIFICANT * self.COMPARISONS

    @pytest.mark.slow
    def test_real_difference_is_mostly_found_and_never_reversed(self) -> None:
        found = self.verdicts(seed=8, better=3.0)
        assert found.count(1) > 0.8 * self.COMPARISONS
        assert -1 not in found


class TestInterval:
    @given(st.lists(st.floats(-LARGEST, LARGEST), min_size=1, max_size=100))
    def test_interval_excludes_zero_exactly_when_the_p_value_decides(self, values: list[float]) -> None:
        bounds, p = interval(values, LARGEST), p_value(values)
        assert -LARGEST <= bounds.low <= bounds.mean <= bounds.high <= LARGEST
        excludes = bounds.low > 0 or bounds.high < 0
        if abs(p - SIGNIFICANT) > 1e-6:
            assert p <= SIGNIFICANT or not excludes
            assert excludes or p > SIGNIFICANT or len(values) < 30

    @given(estimates)
    def test_it_mirrors_its_estimates(self, values: list[float]) -> None:
        ours, mirrored = interval(values, LARGEST), interval([-value for value in values], LARGEST)
        assert (mirrored.low, mirrored.high) == pytest.approx((-ours.high, -ours.low))

    def test_its_bounds_are_where_the_test_reaches_the_level(self) -> None:
        values = [0.5, -0.2, 0.3, 0.0, 0.4] * 20
        bounds = interval(values, LARGEST)
        for bound in (bounds.low, bounds.high):
            assert p_value([value - bound for value in values]) == pytest.approx(SIGNIFICANT)

    def test_few_questions_exclude_nothing(self) -> None:
        bounds = interval([0.5], LARGEST)
        assert (bounds.low, bounds.high) == (-LARGEST, LARGEST)
        with pytest.raises(ValueError, match="no estimate"):
            interval([], LARGEST)
