"""Settings against a baseline: alike ones in one row, intervals of differences, effects of knobs, and the conclusion."""

import io
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from core.errors import BadInput
from core.features.evaluate.conclusion import conclude, part_conclusion
from core.features.evaluate.experiment import Result
from core.features.evaluate.experiment_state import Experiment
from core.features.evaluate.metrics.retrieval_metrics import CONTEXT_TOKENS
from core.features.evaluate.results import Results
from core.features.evaluate.results_folder import joined
from core.features.evaluate.setting_table import knob_effects, setting_table, table_file
from core.features.evaluate.statistics.significance import Interval, difference_interval, randomization_test
from core.features.evaluate.sweep import words
from core.runtime.event_loop import TaskStatus

METRIC = "nDCG@10"
QUESTIONS = 60


def result(setting: str, figures: Sequence[float], tokens: float = 100.0) -> Result:
    return Result(
        setting=setting,
        values={
            f"q{place}": {METRIC: figure, CONTEXT_TOKENS: tokens} for place, figure in enumerate(figures)
        },
        seconds=1.0,
    )


def results(*measured: Result) -> Results:
    return Results(
        data="made up",
        embedder="letters",
        questions={f"q{place}": f"Question {place}?" for place in range(QUESTIONS)},
        results=measured,
    )


def figures(mean: Callable[[int], float]) -> list[float]:
    return [min(max(mean(place), 0.0), 1.0) for place in range(QUESTIONS)]


def assert_same(one: Interval, other: Interval) -> None:
    assert (one.mean, one.low, one.high) == pytest.approx((other.mean, other.low, other.high))


BASE = figures(lambda place: 0.5 + 0.2 * np.sin(place))
BETTER = figures(lambda place: 0.6 + 0.2 * np.sin(place) + 0.05 * np.cos(3 * place))
WORSE = figures(lambda place: 0.4 + 0.2 * np.sin(place))
SWEEP = results(
    result("defaults", BASE),
    result("rank.strategy:bm25", WORSE, 50.0),
    result("chunk.size:300 rank.strategy:bm25", WORSE, 60.0),
    result("chunk.size:300", BETTER, 80.0),
)


def test_indistinguishable_settings_are_one_row_after_the_baseline() -> None:
    table = setting_table(SWEEP, METRIC, "defaults")
    baseline, better, worse = table.rows
    assert (baseline.settings, baseline.test) == (("defaults",), None)
    assert better.settings == ("chunk.size:300",) and better.significant
    assert worse.settings == ("rank.strategy:bm25", "chunk.size:300 rank.strategy:bm25")
    assert worse.values == {"chunk.size": (500, 300), "rank.strategy": ("bm25",)}
    assert worse.tokens == (50.0, 60.0)
    front = table.pareto_front(lambda row: row.tokens and row.tokens[0])
    assert front == {better.name, worse.name}
    assert table.varied == ("chunk.size", "rank.strategy")
    assert table.comparisons == 2


def test_row_has_the_figures_of_one_pair_of_settings() -> None:
    _, better, _ = setting_table(SWEEP, METRIC, "defaults").rows
    assert better.test is not None
    assert_same(better.test.difference, difference_interval(BASE, BETTER))
    assert better.test.p_value == pytest.approx(2 * randomization_test(BASE, BETTER), abs=1e-4)


def test_settings_are_compared_on_questions_that_both_have() -> None:
    few = result("rank.top_k:3", BETTER)
    few = replace(few, values=dict(list(few.values.items())[:20]))
    _, row = setting_table(results(SWEEP.results[0], few), METRIC, "defaults").rows
    assert row.test is not None
    assert row.test.questions == 20
    assert_same(row.test.difference, difference_interval(BASE[:20], BETTER[:20]))


def test_share_of_a_knob_is_its_part_of_the_variance() -> None:
    additive = results(
        *(
            result(
                f"chunk.size:{size} rank.top_k:{top_k}",
                [0.4 + 0.1 * (size == 300) + 0.2 * (top_k == 3)] * QUESTIONS,
            )
            for size in (300, 400)
            for top_k in (3, 4)
        )
    )
    top_k, size = knob_effects(additive, METRIC)
    assert (top_k.path, size.path) == ("rank.top_k", "chunk.size")
    assert (top_k.share, size.share) == (pytest.approx(0.8), pytest.approx(0.2))
    assert {value: interval.mean for value, interval in top_k.values} == pytest.approx({3: 0.65, 4: 0.45})


def test_difference_on_the_held_back_half_is_a_confirmation() -> None:
    conclusion = conclude(SWEEP, METRIC, "defaults")
    assert conclusion.setting == "chunk.size:300"
    assert str(conclusion).startswith("Passage size 300 beats the defaults by .101 nDCG@10 of documents [")
    assert "; confirmed on the held-out half (+.1" in str(conclusion)
    assert conclusion.confirmation is not None
    held_out, chosen_on = conclusion.confirmation.held_out, conclusion.confirmation.chosen_on
    assert held_out.questions + chosen_on.questions == QUESTIONS
    assert conclusion.confirmation.more_questions is None


@pytest.mark.parametrize(("questions", "settings", "least"), [(1, 2, 7), (5, 1, 6), (7, 5, 8)])
def test_too_few_questions_have_no_verdict(questions: int, settings: int, least: int) -> None:
    measured = [result("defaults", [0.1] * questions)]
    measured += [
        result(f"rank.top_k:{number}", [0.9 - number / 100] * questions) for number in range(2, 2 + settings)
    ]
    conclusion = conclude(results(*measured), METRIC, "defaults")
    assert str(conclusion).startswith("Too few questions to show a difference, however large: ")
    assert f"of at least {least} for" in str(conclusion)
    assert "p " not in str(conclusion)
    assert conclusion.setting == "defaults"


def test_enough_questions_of_one_sign_have_a_verdict() -> None:
    measured = [result("defaults", [0.1] * 6), result("rank.top_k:2", [0.9] * 6)]
    assert "beats the defaults by" in str(conclude(results(*measured), METRIC, "defaults"))


def test_insignificant_difference_is_told_as_not_shown() -> None:
    dice = np.random.default_rng(3)
    noise = [
        result(f"rank.top_k:{top_k}", figures(lambda place: BASE[place] + 0.02 + dice.normal(0, 0.3)))
        for top_k in range(1, 6)
    ]
    conclusion = conclude(results(SWEEP.results[0], *noise), METRIC, "defaults")
    sentence = str(conclusion)
    assert sentence.startswith(
        "No difference shown: best is passages in the context 5, +.077 nDCG@10 of documents ["
    )
    assert f"would show four times in five with {QUESTIONS} questions" in sentence
    assert "p = " not in sentence
    assert not conclusion.is_difference


def test_where_nothing_is_better_the_sentence_says_so() -> None:
    worse = results(*SWEEP.results[:2])
    assert (
        str(conclude(worse, METRIC, "defaults"))
        == "No other setting is ahead of the defaults: nDCG@10 of documents .506."
    )
    alike = results(SWEEP.results[0], result("rank.top_k:3", BASE))
    assert (
        str(conclude(alike, METRIC, "defaults"))
        == "All settings reach the same nDCG@10 of documents for every question."
    )
    assert str(conclude(results(SWEEP.results[0]), METRIC, "defaults")).startswith("One setting is measured")
    assert words("rank.rerank:true") == "rerank on"
    assert (
        words("rank.strategy:bm25 rank.per_page:-1 rank.per_page:0")
        == "ranking BM25, passages per page no limit"
    )


def test_the_table_leaves_as_csv_parquet_and_markdown() -> None:
    table = setting_table(SWEEP, METRIC, "defaults")
    frame = pd.read_csv(io.BytesIO(table_file(table, ".csv")))
    pd.testing.assert_frame_equal(
        frame.drop(columns=["ranking", "passage size"]),
        pd.read_parquet(io.BytesIO(table_file(table, ".parquet"))).drop(columns=["ranking", "passage size"]),
    )
    assert list(frame["passage size"]) == ["500", "300", "500 = 300"]
    first, _, baseline, *_ = table_file(table, ".md").decode().splitlines()
    assert first.startswith("| passage size | ranking | nDCG@10 | difference |")
    assert baseline.startswith("| 500 | fused | 0.5")


def test_experiments_opened_together_keep_names_of_equal_settings() -> None:
    other = results(result("defaults", BETTER), result("rank.top_k:3", WORSE))
    both = joined(("first", "first"), (SWEEP, other))
    assert [each.setting for each in both.results] == [
        "first: defaults",
        "rank.strategy:bm25",
        "chunk.size:300 rank.strategy:bm25",
        "chunk.size:300",
        "first (2): defaults",
        "rank.top_k:3",
    ]
    table = setting_table(both, METRIC, "first: defaults")
    better = table.rows[1]
    assert better.settings == ("first (2): defaults", "chunk.size:300"), "alike for every question"
    assert better.experiments == ("first (2)",)
    assert better.values["chunk.size"] == (500, 300)
    assert words("first (2): defaults") == "first (2): the defaults"
    assert str(conclude(both, METRIC, "first: defaults")).startswith(
        "First (2): the defaults beat first: the defaults"
    )


def test_experiments_over_other_questions_are_refused_together() -> None:
    other = replace(SWEEP, embedder="words")
    assert {each.setting.partition(": ")[0] for each in joined(("a", "b"), (SWEEP, other)).results} == {
        "a",
        "b",
    }
    with pytest.raises(BadInput, match="a and b have results of different questions"):
        joined(("a", "b"), (SWEEP, replace(SWEEP, questions={})))


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (TaskStatus.RUNNING, "18 of 60 measured, no verdict yet. 42 settings may still be better."),
        (
            TaskStatus.STOPPED,
            "Stopped at 18 of 60: no verdict. 42 settings may still be better. Continue to measure what is missing.",
        ),
    ],
)
def test_unfinished_experiment_has_no_verdict(status: TaskStatus, sentence: str) -> None:
    experiment = Experiment(id="a", started="", status=status, data="", swept={}, settings=60, done=18)
    conclusion = part_conclusion(experiment, "defaults")
    assert conclusion is not None
    assert (str(conclusion), conclusion.is_verdict, conclusion.whole) == (sentence, False, None)
    assert part_conclusion(replace(experiment, status=TaskStatus.DONE), "defaults") is None


FAILED = Result(setting="rank.top_k:9", values={}, failed={"q0": "The model is gone."}, seconds=1.0)


def test_failed_setting_is_in_no_mean_and_no_correction() -> None:
    with_failed = replace(SWEEP, results=(*SWEEP.results, FAILED))
    assert with_failed.compare("defaults", METRIC) == SWEEP.compare("defaults", METRIC)
    assert (
        setting_table(with_failed, METRIC, "defaults").rows[1].test
        == setting_table(SWEEP, METRIC, "defaults").rows[1].test
    )
    assert setting_table(with_failed, METRIC, "defaults").comparisons == 2
    assert with_failed.confirm("defaults", METRIC) == SWEEP.confirm("defaults", METRIC)
    assert knob_effects(with_failed, METRIC) == knob_effects(SWEEP, METRIC)
    assert str(conclude(with_failed, METRIC, "defaults")) == str(conclude(SWEEP, METRIC, "defaults"))


def test_correction_counts_the_settings_that_were_compared() -> None:
    pair = SWEEP.of_settings(("defaults", "chunk.size:300"))
    slight = result("rank.top_k:7", [figure + 0.001 * (-1) ** place for place, figure in enumerate(BASE)])
    three = replace(SWEEP, results=(*pair.results, slight, FAILED))
    (alone,), (best, _) = pair.compare("defaults", METRIC), three.compare("defaults", METRIC)
    assert best.setting == alone.setting
    assert best.p_value == pytest.approx(2 * alone.p_value)
