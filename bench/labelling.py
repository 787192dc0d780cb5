"""How many labels a verdict over many questions needs, and how often it is false (decision 0041).

    python -m bench.labelling --data FOLDER

The folder is a data set in BEIR's layout, or has SciFact as `corpus.jsonl.gz` with `id`, `title`, `sentences`, and
`claims.jsonl.gz` with `id`, `claim`, `cited`. Its own judgements are the person who labels: what is judged relevant is
relevant, everything else is not. All documents are ranked under `SETTINGS`; a document has the rank of its best passage.

A comparison takes two settings at random and draws as many questions as there are, with replacement; so the mean over
all questions is the truth. The person labels what is proposed until there is a verdict. There are as many comparisons of
three kinds:

- real: the two settings as they are. A verdict is false when the truth has the other sign.
- swapped: the two rankings of each question are swapped at random, so there is no difference. Any verdict is false.
- level: questions are drawn with weights exp(t * difference), t such that the mean difference is 0, though larger
  differences on the one side meet smaller ones on the other. Any verdict is false.

Half of the questions, by a checksum of their ids, are for development (`--half development`); figures are reported on
the other half.
"""

import argparse
import gzip
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any
from zlib import crc32

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is imported

import numpy as np
from numpy.typing import NDArray

from core.adapters.models.local_embedder import MiniLM
from core.config.knobs import ChunkKnobs, RankKnobs, Strategy
from core.features.evaluate.data_sets.corpus import document_pages, document_passages
from core.features.evaluate.data_sets.data_set import CorpusDocument, DataSet, Question
from core.features.evaluate.data_sets.load import load_data_set
from core.features.evaluate.labels.label_samples import DEPTH, Sample, in_random_order, sample
from core.features.evaluate.labels.label_verdict import LabelVerdict, compare
from core.features.evaluate.metrics.ranking_metrics import discount_differences
from core.features.evaluate.statistics.sequential_test import p_value
from core.features.evaluate.statistics.significance import SIGNIFICANT, Verdict, randomization_test
from core.model import Grade, Index, Page
from core.runtime.event_loop import run_async
from core.stages.rank import rank

SIZES = (4000, 500)
"""Characters of a passage: whole abstracts, and the default."""
RANKINGS = (
    RankKnobs(strategy=Strategy.COSINE),
    RankKnobs(strategy=Strategy.BM25),
    *(RankKnobs(strategy=Strategy.FUSED, cosine_weight=weight) for weight in (0.25, 0.5, 0.75)),
    *(RankKnobs(strategy=Strategy.COSINE, diversity=penalty) for penalty in (0.3, 0.6)),
    RankKnobs(strategy=Strategy.FUSED, diversity=0.4),
)
SETTINGS = tuple((size, knobs) for size in SIZES for knobs in RANKINGS)
KINDS = ("real", "swapped", "level")
_TOGETHER = 256

Floats = NDArray[np.float64]
Rankings = Sequence[Sequence[str]]
"""Document ids of each question, best first."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One comparison: what the person was told, and what is true."""

    kind: str
    told: LabelVerdict
    truth: float
    """The mean difference of DCG over all questions, relevant documents counting 1."""
    pooled_p: float
    """The p-value of the randomization test when all first ten are labelled."""
    missed: bool
    """Whether the interval, followed to the last question, ever left out the truth."""

    @property
    def verdict(self) -> int:
        return {Verdict.BETTER: 1, Verdict.WORSE: -1}.get(self.told.verdict, 0)

    @property
    def is_false(self) -> bool:
        return self.verdict * self.truth <= 0 and self.verdict != 0

    @property
    def share(self) -> float:
        """The labels over those of pooling."""
        return self.told.labels / self.told.pool


# --- rankings ---------------------------------------------------------------------------------------------


def load(folder: Path) -> DataSet:
    if not (folder / "claims.jsonl.gz").exists():
        return load_data_set(folder)
    return DataSet(
        name="SciFact",
        questions=tuple(
            Question(
                id=row["id"], text=row["claim"], judgements=dict.fromkeys(row["cited"], int(Grade.RELEVANT))
            )
            for row in _rows(folder / "claims.jsonl.gz")
        ),
        documents=lambda: (
            CorpusDocument(id=row["id"], text=f"{row['title']}\n\n{' '.join(row['sentences'])}")
            for row in _rows(folder / "corpus.jsonl.gz")
        ),
    )


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def in_half(question: Question, half: str) -> bool:
    return bool(crc32(question.id.encode()) % 2) == (half == "report")


async def ranked(data: DataSet, questions: Sequence[Question]) -> list[Rankings]:
    """The rankings of the questions under each of the settings."""
    embed = MiniLM()
    asked = (await embed([one.text for one in questions])).vectors
    found: list[Rankings] = []
    pages = document_pages(data)
    for size in SIZES:
        passages = document_passages(pages, ChunkKnobs(size=size))
        texts = [one.text for one in passages]
        parts = [(await embed(texts[at : at + _TOGETHER])).vectors for at in range(0, len(texts), _TOGETHER)]
        index = Index(
            passages=passages,
            vectors=np.concatenate(parts),
            question=None,
            embedder=embed.identity,
            embedder_languages=tuple(sorted(embed.languages)),
        )
        found += [
            [
                _documents(one, replace(index, question=vector), knobs, pages)
                for one, vector in zip(questions, asked, strict=True)
            ]
            for knobs in RANKINGS
        ]
    embed.close()
    return found


def _documents(question: Question, index: Index, knobs: RankKnobs, pages: Mapping[str, Page]) -> list[str]:
    found: dict[str, None] = {}
    for row in rank(question.text, index, knobs, pages).order:
        found[index.passages[row].place.page] = None
        if len(found) == DEPTH:
            break
    return list(found)


# --- comparisons ------------------------------------------------------------------------------------------


def differences(questions: Sequence[Question], first: Rankings, second: Rankings) -> Floats:
    """The difference of DCG of each question, all labels given."""
    return np.array(
        [
            sum(
                weight
                for name, weight in discount_differences(one, other, DEPTH).items()
                if question.judgements.get(name, 0) > 0
            )
            for question, one, other in zip(questions, first, second, strict=True)
        ]
    )


def level_weights(values: Floats) -> Floats | None:
    """Probabilities under which the mean of the values is 0; None when all have one sign."""
    if values.min() >= 0 or values.max() <= 0:
        return None
    low, high = -1000.0, 1000.0
    for _ in range(200):
        middle = (low + high) / 2
        weights = np.exp(middle * values - (middle * values).max())
        low, high = (low, middle) if weights @ values > 0 else (middle, high)
    found: Floats = weights / weights.sum()
    return found


def trial(
    kind: str,
    name: str,
    questions: Sequence[Question],
    first: Rankings,
    second: Rankings,
    dice: np.random.Generator,
) -> Trial | None:
    """A comparison of two settings; None for the third kind where no weights make the difference 0."""
    exact = differences(questions, first, second)
    weights = level_weights(exact) if kind == "level" else None
    if kind == "level" and weights is None:
        return None
    drawn = dice.choice(len(questions), size=len(questions), p=weights)
    swaps = dice.random(len(drawn)) < 0.5 if kind == "swapped" else np.zeros(len(drawn), dtype=bool)
    samples, grades = [], {}
    for number, (row, swap) in enumerate(zip(drawn, swaps, strict=True)):
        # A question that is drawn twice is two questions, and has two samples.
        one, other = (second[row], first[row]) if swap else (first[row], second[row])
        samples.append(sample(f"{name}, {number}", one, other))
        grades[samples[-1].question] = {
            document: int(Grade.RELEVANT if questions[row].judgements.get(document, 0) > 0 else 0)
            for document in (*one, *other)
        }
    samples = list(in_random_order(samples))
    signed = np.where(swaps, -exact[drawn], exact[drawn])
    truth = float(exact.mean()) if kind == "real" else 0.0
    estimates = [one.estimate(grades[one.question]) or 0.0 for one in samples]
    shifted = [one - truth for one in estimates]
    return Trial(
        kind=kind,
        told=label_until_decided(samples, grades),
        truth=truth,
        pooled_p=randomization_test(signed, np.zeros(len(signed))),
        missed=any(p_value(shifted[:count]) <= SIGNIFICANT for count in range(1, len(shifted) + 1)),
    )


def label_until_decided(samples: Sequence[Sample], grades: Mapping[str, Mapping[str, int]]) -> LabelVerdict:
    """What the person is told at the end, who labels a question at a time."""
    known: dict[str, Mapping[str, int]] = {}
    told = compare(samples, known)
    while told.verdict is Verdict.OPEN and told.next is not None:
        known[told.next.question] = grades[told.next.question]
        told = compare(samples, known)
    return told


def report(trials: Sequence[Trial]) -> None:
    """Print a row for each kind of comparison."""
    real = [one for one in trials if one.kind == "real"]
    groups = {
        "real, and pooling shows a difference": [one for one in real if one.pooled_p <= SIGNIFICANT],
        "real, and pooling shows none": [one for one in real if one.pooled_p > SIGNIFICANT],
        "swapped at random": [one for one in trials if one.kind == "swapped"],
        "real and swapped together": [one for one in trials if one.kind != "level"],
        "mean difference of 0, skewed": [one for one in trials if one.kind == "level"],
    }
    print(
        "| comparisons | | with a verdict | false verdicts | labels / pooling, median | the same with a verdict "
        "| interval ever wrong |\n|---|---|---|---|---|---|---|"
    )
    for name, some in groups.items():
        if not some:
            continue
        decided = [one.share for one in some if one.verdict]
        print(
            f"| {name} | {len(some)} | {_share([bool(one.verdict) for one in some])} "
            f"| {_share([one.is_false for one in some])} | {np.median([one.share for one in some]):.2f} "
            f"| {f'{np.median(decided):.2f}' if decided else ''} | {_share([one.missed for one in some])} |"
        )


def _share(flags: Sequence[bool]) -> str:
    return f"{100 * sum(flags) / len(flags):.1f} %"


async def measure(folder: Path, half: str, count: int, seed: int) -> None:
    data = load(folder)
    questions = [one for one in data.questions if one.answerable and in_half(one, half)]
    rankings = await ranked(data, questions)
    pairs = list(combinations(range(len(rankings)), 2))
    dice = np.random.default_rng(seed)
    trials: list[Trial] = []
    for kind in KINDS:
        wanted = len(trials) + count
        while len(trials) < wanted:
            first, second = pairs[dice.integers(len(pairs))]
            name = f"{kind}, {dice.integers(2**62)}"
            found = trial(kind, name, questions, rankings[first], rankings[second], dice)
            trials += [found] if found else []
    pools = [one.told.pool for one in trials]
    print(
        f"{data.name}: {len(questions)} questions ({half}), {len(rankings)} settings, {len(pairs)} pairs; pooling "
        f"needs {np.median(pools):,.0f} labels (median)\n"
    )
    report(trials)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of a data set")
    parser.add_argument(
        "--half", choices=("report", "development"), default="report", help="of the questions"
    )
    parser.add_argument("--comparisons", type=int, default=250, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    run_async(measure(arguments.data, arguments.half, arguments.comparisons, arguments.seed))


if __name__ == "__main__":
    main()
