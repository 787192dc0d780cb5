"""Doubts whether the sources answer: by words, by what the question asks for, and by asking a chat model first."""

from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from core.config.knobs import AnswerKnobs
from core.errors import ChatFailed
from core.model import CAVEAT, AnswerKind, Message, Severity, Source, StreamChunk
from core.run.events import Event, ModelUsed, Note
from core.stages.answer import answer
from core.stages.answering.answerability import VERDICT_TOKENS
from tests.stages.fakes import ScriptedChat, WordEmbed, source

SOURCES = (
    source(1, "The volcano Tambora erupted and killed many people on the island of Sumbawa."),
    source(2, "An eruption of the volcano made the summer cold, and harvests failed in Europe."),
)
KNOBS = AnswerKnobs(ask_first=True)


class JudgingChat(ScriptedChat):
    """Replies with `verdict`, or raises it, when it is asked for one, and with an answer otherwise."""

    def __init__(self, verdict: str | ChatFailed) -> None:
        super().__init__("Tambora killed many [1].")
        self.verdict = verdict

    def __call__(self, messages: Sequence[Message], **options: Any) -> AsyncGenerator[StreamChunk]:
        is_verdict = options["max_tokens"] == VERDICT_TOKENS
        self.script = (self.verdict,) if is_verdict else ("Tambora killed many [1].",)
        return super().__call__(messages, **options)


async def notes(
    question: str, sources: tuple[Source, ...], chat: ScriptedChat | None = None
) -> tuple[AnswerKind, list[Note], list[Event]]:
    events: list[Event] = []
    result = await answer(question, sources, KNOBS, chat, WordEmbed(), events.append)
    return result.kind, [event for event in events if isinstance(event, Note)], events


async def test_answer_whose_sources_lack_a_name_has_a_caveat() -> None:
    question = "The volcano Krakatoa erupted and killed how many sailors of which ships?"
    kind, (note,), events = await notes(question, SOURCES)
    assert kind is AnswerKind.EXTRACTIVE
    assert note.message == f"{CAVEAT} No source mentions “Krakatoa”."
    assert note.severity is Severity.WARNING
    assert events.index(note) == 1  # before the first word


async def test_sentence_without_a_number_does_not_tell_a_year() -> None:
    text = "The volcano Tambora on the island of Sumbawa erupted."
    _, doubts, _ = await notes("In which year erupted the volcano Tambora on Sumbawa?", (source(1, text),))
    assert [note.message for note in doubts] == [
        f"{CAVEAT} The question asks for a year or a date; the sentences that fit best do not state it."
    ]
    dated = text.replace("erupted", "erupted in the year 1815")
    assert not (await notes("In which year erupted the volcano Tambora on Sumbawa?", (source(1, dated),)))[1]


@pytest.mark.parametrize(
    ("question", "unstated", "stated", "told"),
    [
        (
            "How many islands did the eruption of the volcano Tambora bury?",
            "The eruption of the volcano Tambora in 1815 did bury islands.",
            "The eruption of the volcano Tambora did bury nine islands.",
            "a number",
        ),
        (
            "How long was the eruption of the volcano Tambora?",
            "The eruption of the volcano Tambora was long.",
            "The eruption of the volcano Tambora was 10 days long.",
            "a number",
        ),
        (
            "When was the eruption of the volcano Tambora?",
            "The eruption of the volcano Tambora was felt on 3 islands.",
            "The eruption of the volcano Tambora was felt in 1815.",
            "a year or a date",
        ),
        (
            "Cuántas islas destruyó la erupción del volcán Tambora?",
            "La erupción del volcán Tambora destruyó muchas casas y algunas islas.",
            "La erupción del volcán Tambora destruyó nueve islas y muchas casas.",
            "a number",
        ),
    ],
)
async def test_quotation_without_the_asked_kind_has_a_caveat(
    question: str, unstated: str, stated: str, told: str
) -> None:
    doubtful = (source(1, unstated), SOURCES[1])
    (note,) = (await notes(question, doubtful))[1]
    assert f"asks for {told}; the sentences that fit best do not state it" in note.message
    assert not (await notes(question, (source(1, stated), SOURCES[1])))[1]


async def test_year_of_the_question_is_no_date_of_an_answer() -> None:
    text = "The volcano Tambora and the harvests of 1815 were studied."
    question = "When was the volcano Tambora and the harvests of 1815 first studied?"
    (note,) = (await notes(question, (source(1, text),)))[1]
    assert "asks for a year or a date" in note.message


async def test_sentence_that_says_what_is_asked_has_no_caveat() -> None:
    assert not (await notes("Did harvests fail in Europe after the summer was cold?", SOURCES))[1]


@pytest.mark.parametrize(
    ("verdict", "message"),
    [
        ("Yes.", ""),
        ("no", f"{CAVEAT} Asked whether the passages state the answer, the chat model said no."),
        ("Perhaps", "could not say whether the passages answer the question: it said neither yes nor no."),
        (
            ChatFailed("It is busy.", hint=""),
            "could not say whether the passages answer the question: It is busy.",
        ),
    ],
)
async def test_chat_model_is_asked_first_and_keeps_no_answer_back(
    verdict: str | ChatFailed, message: str
) -> None:
    chat = JudgingChat(verdict)
    kind, doubts, events = await notes("How many did Tambora kill?", SOURCES, chat)
    assert kind is AnswerKind.WRITTEN
    assert len(doubts) == bool(message)
    assert all(message in note.message for note in doubts)
    assert len(chat.asked) == 2
    calls = sum(isinstance(event, ModelUsed) for event in events)
    assert calls == (1 if isinstance(verdict, ChatFailed) else 2)  # a refused call took no tokens
