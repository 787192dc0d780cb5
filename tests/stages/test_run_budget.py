"""What a budget leaves to the steps of a run and to its answer."""

from dataclasses import replace

import pytest

from core.config.knobs import AnswerKnobs, Length
from core.config.prices import Prices, parsed
from core.config.run_knobs import RunKnobs
from core.model import AnswerKind, ModelUsage, Phase, Severity, Usage
from core.run.events import Event, ModelUsed, Note, Prompted
from core.run.state import Run
from core.stages.answer import answer
from core.stages.run_budget import RunBudget
from tests.stages.fakes import ScriptedChat, WordEmbed, source

PRICES = Prices(rows=parsed("model,prompt,completion,as_of\nscripted,1,10,2026-11-03\n"))
MODEL = "scripted@models.example"
QUESTION = "How does chunk overlap affect retrieval?"
SOURCES = (source(1, "Chunk overlap affects retrieval: it lifts recall."),)


def used(phase: Phase, prompt: int, completion: int = 0, cost: float | None = None) -> ModelUsed:
    tokens = Usage(prompt_tokens=prompt, completion_tokens=completion, cost=cost)
    return ModelUsed(phase, ModelUsage(model=MODEL, tokens=tokens))


def spending(*calls: ModelUsed, seconds: float = 0.0, since: Run | None = None, **knobs: float) -> RunBudget:
    run = Run(model_usage=calls, seconds=seconds)
    return RunBudget(knobs=RunKnobs(**{"token_budget": 0, **knobs}), prices=PRICES, run=run, since=since)  # type: ignore[arg-type]


def test_tokens_are_of_chat_models_and_dollars_of_all() -> None:
    spent = spending(used(Phase.PLAN, 1000, 100), used(Phase.EMBED, 50_000), used(Phase.PLAN, 10, cost=0.5))
    assert spent.tokens == 1110
    assert spent.dollars == pytest.approx(0.002 + 0.05 + 0.5)
    assert not spent.exhausted()


@pytest.mark.parametrize(
    ("knobs", "reason"),
    [
        ({"token_budget": 4000}, "3,000 of 4,000 tokens are used, and the rest is kept for the answer."),
        ({"token_budget": 4001}, ""),
        ({"time_budget": 40}, "30 of 40 seconds are used, and the rest is kept for the answer."),
        ({"time_budget": 41}, ""),
        ({"dollar_budget": 0.01}, "$0.0120 of $0.0100 are used, and the rest is kept for the answer."),
        ({"dollar_budget": 0.02}, ""),
        ({"token_budget": 100, "time_budget": 9}, "3,000 of 100 tokens and 30 of 9 seconds are used"),
    ],
)
def test_steps_leave_a_quarter_of_each_budget_to_answering(knobs: dict[str, float], reason: str) -> None:
    exhausted = spending(used(Phase.PLAN, 2000, 1000), seconds=30, **knobs).exhausted()
    assert exhausted.startswith(reason) and bool(exhausted) == bool(reason)


def test_a_follow_up_has_the_budget_anew() -> None:
    first = Run(model_usage=(used(Phase.PLAN, 5000),), seconds=50)
    spent = spending(used(Phase.PLAN, 6000), seconds=60, since=first, token_budget=2000, time_budget=20)
    assert (spent.tokens_left, spent.seconds_left) == (1000, 10)


def test_answer_beyond_the_budget_is_refused_with_its_cost() -> None:
    spent = spending(used(Phase.PLAN, 500), token_budget=4000, dollar_budget=0.01)
    note = spent.refusal(1000, 3000, MODEL)
    assert note and note.severity is Severity.WARNING
    assert "after 500 tokens" in note.message
    assert note.hint == (
        f"Raise the token budget to 4,500 and the dollar budget to $0.0315: {MODEL} would read about 1,000 tokens and "
        "may write 3,000, which costs up to ~$0.0310."
    )
    assert (
        spending(used(Phase.PLAN, 500), token_budget=4500, dollar_budget=0.032).refusal(1000, 3000, MODEL)
        is None
    )


def test_own_model_has_no_dollar_budget_and_unknown_prices_warn() -> None:
    overrun = spending(used(Phase.PLAN, 500, cost=9.0), dollar_budget=1)
    for model, doubtful in (("scripted@127.0.0.1:1", False), ("other@models.example", True)):
        assert overrun.refusal(1000, 3000, model) is None
        assert bool(overrun.doubt(model)) == doubtful


@pytest.mark.parametrize(
    ("token_budget", "kind"), [(1500, AnswerKind.EXTRACTIVE), (3000, AnswerKind.WRITTEN)]
)
async def test_without_enough_budget_sentences_are_quoted_without_the_model(
    token_budget: int, kind: AnswerKind
) -> None:
    events: list[Event] = []
    chat = ScriptedChat("Overlap lifts recall [1].")
    result = await answer(
        QUESTION,
        SOURCES,
        AnswerKnobs(length=Length.SHORT),
        chat,
        WordEmbed(),
        events.append,
        run_budget=replace(spending(), knobs=RunKnobs(token_budget=token_budget)),
    )
    assert result.kind is kind
    written = kind is AnswerKind.WRITTEN
    assert len(chat.asked) == sum(isinstance(event, Prompted) for event in events) == written
    assert any(isinstance(event, Note) and "budget" in event.message for event in events) != written
