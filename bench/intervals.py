"""How often intervals of nominal 95 % hold the true mean, and how often a check fails without a cause (decision 0050).

    python -m bench.intervals

Every cell is simulated with `--trials` data sets whose true mean is known: the values of 20, 75 or 300 questions.

- shares: each value is 1 with the given probability, else 0, as in exact match.
- nDCG: 1 with the given probability; else the discount of a rank from 2 to 10, or 0 for three of ten.
- beta: continuous values that are crowded at 1.

The percentile bootstrap (Efron and Tibshirani 1993) and BCa (Efron 1987), with 2,000 resamples, are what the interval
of `significance.mean_interval` is compared with.

The second table is of differences: the values of a question before and after are drawn from the same distribution, so
no check should fail. It has the share of data sets in which the interval is below 0, by the percentile bootstrap and by
`significance.randomization_test`.
"""

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is imported

import numpy as np
from numpy.typing import NDArray

from core.features.evaluate.metrics.ranking_metrics import discount
from core.features.evaluate.statistics.significance import (
    CONFIDENCE,
    SIGNIFICANT,
    mean_interval,
    randomization_test,
)

QUESTIONS = (20, 30, 75, 300)
RESAMPLES = 2000
NORMAL = NormalDist()

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]


def share(rate: float) -> tuple[float, Draw]:
    return rate, lambda dice, shape: (dice.random(shape) < rate).astype(np.float64)


def ndcg_like(rate: float) -> tuple[float, Draw]:
    lower = np.array([discount(rank) for rank in range(2, 11)])

    def draw(dice: np.random.Generator, shape: tuple[int, int]) -> Floats:
        others = dice.choice(lower, size=shape) * (dice.random(shape) < 0.7)
        return np.where(dice.random(shape) < rate, 1.0, others)

    return rate + (1 - rate) * 0.7 * float(lower.mean()), draw


def beta(first: float, second: float) -> tuple[float, Draw]:
    return first / (first + second), lambda dice, shape: dice.beta(first, second, size=shape)


DISTRIBUTIONS: Mapping[str, tuple[float, Draw]] = {
    **{f"share of {rate}": share(rate) for rate in (0.5, 0.9, 0.98)},
    **{f"nDCG, {rate} are 1": ndcg_like(rate) for rate in (0.5, 0.9, 0.98)},
    "beta(0.6, 0.4)": beta(0.6, 0.4),
    "beta(9, 1)": beta(9, 1),
    "beta(0.3, 0.01)": beta(0.3, 0.01),
}


def bootstrap_bounds(values: Floats, draws: Floats) -> tuple[tuple[float, float], tuple[float, float]]:
    """The percentile and the BCa interval; `draws` are the shares of each question in each resample."""
    tails = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
    means, mean = draws @ values, values.mean()
    low, high = np.quantile(means, tails)
    deviations = values - mean
    spread = (deviations**2).sum() ** 1.5
    acceleration = float((deviations**3).sum() / (6 * spread)) if spread else 0.0
    below = np.clip(((means < mean).mean() + (means <= mean).mean()) / 2, 1 / RESAMPLES, 1 - 1 / RESAMPLES)
    bias = NORMAL.inv_cdf(float(below))
    adjusted = [
        NORMAL.cdf(bias + shifted / (1 - acceleration * shifted))
        for shifted in (bias + NORMAL.inv_cdf(tail) for tail in tails)
    ]
    first, last = np.quantile(means, adjusted)
    return (float(low), float(high)), (float(first), float(last))


def coverage(true: float, draw: Draw, questions: int, trials: int, dice: np.random.Generator) -> list[str]:
    """The coverage of each interval, and the mean width of the one that is used."""
    draws = dice.multinomial(questions, np.full(questions, 1 / questions), size=RESAMPLES) / questions
    held: list[list[bool]] = []
    widths = []
    for values in draw(dice, (trials, questions)):
        used = mean_interval(values)
        bounds = (*bootstrap_bounds(values, draws), (used.low, used.high))
        held.append([low - 1e-12 <= true <= high + 1e-12 for low, high in bounds])
        widths.append(used.high - used.low)
    return [*(f"{found:.3f}" for found in np.mean(held, axis=0)), f"{np.mean(widths):.3f}"]


def false_failures(draw: Draw, questions: int, trials: int, dice: np.random.Generator) -> list[str]:
    """How often each rule calls a difference a loss where there is none."""
    draws = dice.multinomial(questions, np.full(questions, 1 / questions), size=RESAMPLES) / questions
    failed: list[list[bool]] = []
    for before, after in zip(draw(dice, (trials, questions)), draw(dice, (trials, questions)), strict=True):
        highest = np.quantile(draws @ (after - before), (1 + CONFIDENCE) / 2)
        p_value = randomization_test(before, after, permutations=RESAMPLES)
        failed.append([bool(highest < 0), p_value <= SIGNIFICANT and after.mean() < before.mean()])
    return [f"{100 * found:.2f} %" for found in np.mean(failed, axis=0)]


def table(title: str, columns: Sequence[str], row: Callable[[float, Draw, int], list[str]]) -> None:
    print(f"| {title} | questions | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 2)}")
    for name, (true, draw) in DISTRIBUTIONS.items():
        for questions in QUESTIONS:
            print(f"| {name} | {questions} | {' | '.join(row(true, draw, questions))} |", flush=True)
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, default=4000, help="data sets of each cell")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    dice = np.random.default_rng(arguments.seed)
    trials = arguments.trials
    table(
        "coverage",
        ("percentile", "BCa", "used", "width"),
        lambda true, draw, questions: coverage(true, draw, questions, trials, dice),
    )
    table(
        "checks that fail without a cause",
        ("percentile", "used"),
        lambda _, draw, questions: false_failures(draw, questions, trials, dice),
    )


if __name__ == "__main__":
    main()
