"""What the front page draws of its recorded run."""

import pytest

from core.analysis.recorded_stage import LEAST_SECONDS, MOST_PASSAGES, recorded_stage
from core.model import Phase
from core.run.recorded_run import RecordedRun
from core.run.state import Run
from pages.parts.research.front_stage import recording


@pytest.fixture(scope="module")
def recorded() -> RecordedRun:
    found = recording()
    assert found is not None
    return found


def test_shipped_run_plays_in_the_order_of_the_original(recorded: RecordedRun) -> None:
    stage = recorded_stage(recorded)
    assert stage is not None
    times = [at for at, _ in stage["frames"]]
    assert times == sorted(times)
    assert stage["length"] >= sum(LEAST_SECONDS.values())
    assert stage["ranked"] - stage["ranked_from"] > LEAST_SECONDS[Phase.RANK] / 2
    assert all(asked <= read <= stage["answer_from"] for _, asked, read in stage["pages"])
    assert {state for _, _, state, _ in stage["frames"][-1][1]} == {"done"}


def test_contexts_and_numbers_are_those_of_the_run(recorded: RecordedRun) -> None:
    stage, run = recorded_stage(recorded), recorded.run
    assert stage is not None
    assert run.ranking is not None
    cut = stage["cut"]
    context = cut["contexts"][stage["strategy"]][stage["top_k"] - 1]
    assert context == list(run.ranking.context)
    assert [stage["numbers"][str(row)] for row in context] == [source.number for source in run.sources]
    assert all(len(lists) == MOST_PASSAGES for lists in cut["contexts"].values())


def test_run_without_an_answer_has_no_stage() -> None:
    assert recorded_stage(RecordedRun(run=Run())) is None
