from pathlib import Path

from bench.coverage import questions, verdicts
from bench.demo_library import demo_library


def test_half_of_the_questions_and_their_answers_are_held_back() -> None:
    asked = questions()
    assert len({row.question for row in asked}) == len(asked) >= 100
    for held_back in (False, True):
        half = [row for row in asked if row.held_back is held_back]
        assert len(half) * 2 == len(asked)
        assert sum(bool(row.text) for row in half) * 2 == len(half)


async def test_coverage_holds_on_questions_that_did_not_choose_it(warm_folder: Path) -> None:
    async with demo_library(warm_folder) as (run, ports):
        assert len(run.pages) == 30, "every article was read"
        result = await verdicts(run, ports.embed, held_back=True)
    assert result.accuracy.low > 0.75
    assert sum(result.taken_away) < 0.6 * sum(result.answerable), (
        "without its article a question is often not covered"
    )
