"""How many questions an experiment needs: the smallest difference that is shown with a chance of 80 %.

    python -m bench.question_counts

Differences of a metric between two settings are drawn as experiments have them: half of the questions do not differ,
the others by a normal variable, so that all together have the given standard deviation. Each cell is the smallest mean
difference of which four of five simulated experiments reach p <= .05 by `significance.randomization_tests`.
"""

import argparse

import numpy as np

from core.features.evaluate.statistics.significance import SIGNIFICANT, least_questions, randomization_tests

QUESTIONS = (10, 20, 40, 85, 150, 300)
SPREADS = (0.1, 0.2, 0.3)
"""Standard deviations of the differences: of settings that are alike, of usual ones, of other methods."""
CHANCE = 0.8
SAME = 0.5
"""The share of questions in which two settings do not differ."""
PERMUTATIONS = 1_000
STEP = 0.005


def power(difference: float, spread: float, questions: int, trials: int, seed: int) -> float:
    """Return the share of simulated experiments that show the difference."""
    random = np.random.default_rng(seed)
    differ = random.random((trials, questions)) >= SAME
    values = differ * random.normal(
        0, spread / np.sqrt(1 - SAME), (trials, questions)
    ) + difference * differ / (1 - SAME)
    return float((randomization_tests(values, PERMUTATIONS) <= SIGNIFICANT).mean())


def smallest(spread: float, questions: int, trials: int) -> float:
    """Return the smallest difference that is shown with `CHANCE`, in steps of `STEP`."""
    low, high = 0, round(1 / STEP)
    while high - low > 1:
        middle = (low + high) // 2
        enough = power(middle * STEP, spread, questions, trials, middle) >= CHANCE
        low, high = (low, middle) if enough else (middle, high)
    return high * STEP


def main() -> None:
    """Print the table, and the fewest questions by the number of comparisons."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=400)
    trials = parser.parse_args().trials
    print("| questions |" + "".join(f" spread {spread} |" for spread in SPREADS))
    print("|---|" + "---|" * len(SPREADS))
    for questions in QUESTIONS:
        cells = (f" {smallest(spread, questions, trials):.3f} |" for spread in SPREADS)
        print(f"| {questions} |" + "".join(cells), flush=True)
    print("\nFewest questions that can show a difference, by comparisons:")
    print(", ".join(f"{count}: {least_questions(count)}" for count in (1, 2, 5, 10, 20, 60)))


if __name__ == "__main__":
    main()
