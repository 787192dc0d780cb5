from dataclasses import replace

import pytest

from core.analysis.conversation import latest_turns, thread, turn_cost
from core.config.prices import Prices
from core.model import ModelUsage, Phase, Usage
from core.run.events import ModelUsed
from core.run.run_summary import RunSummary
from core.run.state import Run, RunStatus
from core.run.timeline import Span, Timeline


def _turn(run_id: str, follows: str = "", conversation: str = "a", started: str = "") -> RunSummary:
    return RunSummary(
        id=run_id,
        question="?",
        started=started or run_id,
        status=RunStatus.DONE,
        seconds=1.0,
        conversation=conversation,
        follows=follows,
    )


A, B, C, OTHER_B = _turn("a"), _turn("b", "a"), _turn("c", "b"), _turn("bb", "a", started="z")


def test_thread_has_the_earlier_turns_and_the_newest_after() -> None:
    turns = (OTHER_B, C, B, A)
    assert thread(turns, "c") == (A, B, C)
    assert thread(turns, "b") == (A, B, C)
    assert thread(turns, "bb") == (A, OTHER_B)
    assert thread(turns, "a") == (A, OTHER_B), "of two that follow one, the newer"
    assert thread((C, B), "c") == (B, C), "the first was deleted"
    assert thread(turns, "unknown") == ()


def test_a_thread_that_goes_in_a_circle_ends() -> None:
    turns = (_turn("a", "b"), _turn("b", "a"))
    assert len(thread(turns, "a")) == 2


def test_a_thread_of_five_hundred_turns() -> None:
    turns = [_turn(f"{number:03}", f"{number - 1:03}" if number else "") for number in range(500)]
    assert thread(turns[::-1], "250") == tuple(turns)


def test_the_history_has_one_entry_a_conversation() -> None:
    single = _turn("s", conversation="s", started="bc")
    assert latest_turns((OTHER_B, C, single, B, A)) == (OTHER_B, single)


def _answered(**spans: tuple[float, float]) -> Run:
    """A run with a written query and answer, and phases of these times."""
    calls = tuple(
        ModelUsed(phase, ModelUsage(model="m", tokens=Usage(prompt_tokens=tokens, completion_tokens=0)))
        for phase, tokens in ((Phase.PLAN, 50), (Phase.ANSWER, 600))
    )
    phases = {Phase(name): Span(start=start, end=end) for name, (start, end) in spans.items()}
    return replace(
        Run(id="a", question="?"), text="Yes.", model_usage=calls, timeline=Timeline(phases=phases)
    )


def test_a_turn_costs_less_without_a_search() -> None:
    # The passages were ranked again and answered an hour later, which is no time of the turn.
    run = _answered(plan=(0, 1), search=(1, 3), read=(2, 6), rank=(3600, 3601), answer=(3601, 3604))
    searched, in_hand = (turn_cost(run, Prices(rows={}), searched=kind) for kind in (True, False))
    assert searched and searched.usage.tokens and in_hand and in_hand.usage.tokens
    assert (searched.seconds, searched.usage.tokens.total_tokens) == (pytest.approx(10), 650)
    assert (in_hand.seconds, in_hand.usage.tokens.total_tokens) == (pytest.approx(4), 600)


def test_cost_of_a_turn_that_never_happened_is_unknown() -> None:
    from_pages = _answered(rank=(0, 1), answer=(1, 2))
    assert turn_cost(from_pages, Prices(rows={}), searched=True) is None
    assert turn_cost(replace(from_pages, text=""), Prices(rows={}), searched=False) is None
