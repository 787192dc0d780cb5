"""The reasoning of a model: kept in the run, apart from the answer."""

import pytest

from core.config.knobs import AnswerKnobs, PlanKnobs
from core.errors import ChatFailed
from core.model import Answer, AnswerKind, Severity, StreamChunk, Usage
from core.run import events as e
from core.run.fold import folded_run
from core.run.state import Run
from core.stages.answer import answer
from core.stages.plan import plan
from core.stages.streams import collected
from tests.samples import records
from tests.stages.fakes import NoEmbed, ScriptedChat, source

SOURCES = (source(1, "Tide mills turn at ebb."),)
QUESTION = "When do tide mills turn?"


async def answered(chat: ScriptedChat) -> tuple[Answer, Run]:
    told: list[e.Event] = []
    result = await answer(QUESTION, SOURCES, AnswerKnobs(), chat, NoEmbed(), told.append)
    return result, folded_run(records(*told))


async def test_reasoning_is_kept_beside_the_answer() -> None:
    thoughts = [StreamChunk(reasoning_delta=word) for word in ("I look ", "at [1].")]
    result, run = await answered(ScriptedChat(*thoughts, "At ebb", " [1]."))
    assert (run.reasoning, run.text, result.text) == ("I look at [1].", "At ebb [1].", "At ebb [1].")


async def test_text_that_was_reasoning_leaves_the_answer() -> None:
    back = StreamChunk(reasoning_delta="Ponder tides [7].", takes_back=True)
    result, run = await answered(ScriptedChat("Ponder ", "tides [7].", back, "At ebb [1]."))
    assert (run.reasoning, run.text, result.text) == ("Ponder tides [7].", "At ebb [1].", "At ebb [1].")


async def test_reasoning_without_an_answer_is_said_and_kept() -> None:
    told: list[e.Event] = []
    chat = ScriptedChat(StreamChunk(reasoning_delta="I ponder."))
    with pytest.raises(ChatFailed, match="thought and wrote no answer"):
        await answer(QUESTION, SOURCES, AnswerKnobs(), chat, NoEmbed(), told.append)
    assert folded_run(records(*told)).reasoning == "I ponder."


async def test_limit_spent_on_reasoning_is_said() -> None:
    chat = ScriptedChat(StreamChunk(reasoning_delta="I ponder."), finish="length")
    with pytest.raises(
        ChatFailed, match=r"had not written a word of the answer. All of it was spent on reasoning"
    ):
        await answered(chat)


async def test_refusal_is_told_with_the_words_of_the_model() -> None:
    chat = ScriptedChat("I cannot help with that.", finish="refusal")
    result, run = await answered(chat)
    assert (result.kind, result.text) == (AnswerKind.WRITTEN, "I cannot help with that.")
    assert [(note.message, note.severity) for note in run.notes] == [
        ("scripted@test refused to answer. What it said is shown.", Severity.WARNING)
    ]


async def test_refusal_is_not_used_again() -> None:
    answers: dict[str, Answer] = {}
    chat = ScriptedChat("I cannot help with that.", finish="refusal")
    for _ in range(2):
        await answer(QUESTION, SOURCES, AnswerKnobs(), chat, NoEmbed(), lambda event: None, answers=answers)
    assert len(chat.asked) == 2


async def test_content_filter_leaves_an_incomplete_answer() -> None:
    result, run = await answered(ScriptedChat("Tide mills", finish="content_filter"))
    assert (result.text, result.complete) == ("Tide mills", False)
    assert "content filter" in run.notes[0].message


async def test_prompt_tokens_beyond_all_measure_are_estimated() -> None:
    absurd = StreamChunk(finish="stop", usage=Usage(prompt_tokens=9_000_000, completion_tokens=4))
    result, run = await answered(ScriptedChat("At ebb [1].", absurd))
    assert result.usage is None
    assert run.model_usage[0].usage.estimated
    assert run.model_usage[0].usage.tokens.prompt_tokens < 9_000


@pytest.mark.parametrize(
    ("said", "finish", "says"),
    [
        (StreamChunk(reasoning_delta="I ponder."), "stop", "The model thought and wrote no answer"),
        (StreamChunk(text_delta="Sorry."), "refusal", "The model refused: “Sorry.”"),
        (StreamChunk(), "content_filter", "the content filter"),
    ],
)
async def test_plan_without_queries_says_why(said: StreamChunk, finish: str, says: str) -> None:
    told: list[e.Event] = []
    queries = await collected(plan(QUESTION, PlanKnobs(), ScriptedChat(said, finish=finish), told.append))
    assert [query.text for query in queries] == [QUESTION]
    assert any(isinstance(event, e.Note) and says in event.message for event in told)
