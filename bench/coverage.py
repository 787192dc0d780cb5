"""How often coverage tells whether the passages in hand suffice for a question (decision 0057).

    python -m bench.coverage

The questions are our own, over the handbook: half of them it answers, half not. One half of each chose the formula and
the threshold; the other was held back. "Article taken away" asks the answerable ones of the handbook without the
article that answers them.
"""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.demo_library import demo_library
from core.config.settings import ROOT
from core.features.evaluate.statistics.significance import Interval, mean_interval
from core.model import Index
from core.ports import Embed
from core.run.state import Run
from core.runtime.event_loop import run_async
from core.stages.conversation.coverage import coverage, embedded_coverage

QUESTIONS = ROOT / "tests" / "data" / "coverage_questions.json"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question; `text` is an excerpt of the handbook that answers it, empty where nothing does."""

    question: str
    held_back: bool
    text: str


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Whether each question was said to be covered, by what is true of it."""

    answerable: Sequence[bool]
    unanswerable: Sequence[bool]
    taken_away: Sequence[bool]

    @property
    def accuracy(self) -> Interval:
        """The share of right verdicts on answerable and unanswerable questions, with its interval."""
        return mean_interval([float(v) for v in (*self.answerable, *(not v for v in self.unanswerable))])


def questions() -> tuple[Asked, ...]:
    return tuple(Asked(**row) for row in json.loads(QUESTIONS.read_text("utf-8")))


async def verdicts(run: Run, embed: Embed, *, held_back: bool, vectors: bool = True) -> Verdicts:
    """The verdicts on one half of the questions, with similarities or by words alone."""
    assert run.index

    async def is_enough(question: str, index: Index) -> bool:
        if not vectors:
            return coverage(question, replace(index, question=None)).enough
        return (await embedded_coverage(question, index, embed, lambda event: None)).enough

    half = [asked for asked in questions() if asked.held_back is held_back]
    answerable = [asked for asked in half if asked.text]
    return Verdicts(
        [await is_enough(asked.question, run.index) for asked in answerable],
        [await is_enough(asked.question, run.index) for asked in half if not asked.text],
        [await is_enough(asked.question, _without_answer(run, asked)) for asked in answerable],
    )


def _without_answer(run: Run, asked: Asked) -> Index:
    assert run.index and run.index.vectors is not None
    article = next(key for key, page in run.pages.items() if asked.text in page.text)
    rows = [row for row, passage in enumerate(run.index.passages) if passage.place.page != article]
    return replace(
        run.index,
        passages=tuple(run.index.passages[row] for row in rows),
        vectors=run.index.vectors[rows],
    )


async def measure(data: Path) -> None:
    async with demo_library(data) as (run, ports):
        print("| questions | accuracy | answerable | unanswerable | article taken away |")
        print("|---|---|---|---|---|")
        for held_back in (False, True):
            for vectors in (True, False):
                result = await verdicts(run, ports.embed, held_back=held_back, vectors=vectors)
                name = (
                    f"{'held back' if held_back else 'for choosing'}{'' if vectors else ', by words alone'}"
                )
                shares = (result.answerable, result.unanswerable, result.taken_away)
                print(f"| {name} | {result.accuracy} |", *(f"{np.mean(share):.2f} |" for share in shares))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run_async(measure(Path(folder)))


if __name__ == "__main__":
    main()
