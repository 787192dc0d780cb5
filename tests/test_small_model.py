"""Plan and answer with a real model. It is small and invents things: nothing here looks at its words."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

import pytest

from core.adapters.models.openai_chat import OpenAIChat, list_models
from core.config.knobs import AnswerKnobs, Length, PlanKnobs
from core.features.evaluate.labels.question_drafts import TEMPLATE, collection_material, draft_question
from core.model import AnswerKind, Exchange, LibraryPassage, Message, StreamChunk
from core.run.events import Event, ModelUsed, Note, Prompted, QueryPlanned, TokensWritten
from core.stages.answer import answer
from core.stages.check import check
from core.stages.conversation.follow_up import standalone_question
from core.stages.plan import plan
from core.stages.streams import collected
from tests.services.small_model import SmallModel
from tests.stages.fakes import NoEmbed, source

pytestmark = [pytest.mark.model, pytest.mark.thorough]

QUESTION = "How does chunk overlap affect retrieval?"
SOURCES = (
    source(1, "Chunk overlap lifts recall for facts that straddle a chunk boundary.", "Chunk overlap"),
    source(2, "An overlap of 20 per cent gives 25 per cent more chunks to embed and store.", "What it costs"),
)


class Brief:
    """A chat model whose replies are kept short, for it writes about thirty tokens a second."""

    def __init__(self, chat: OpenAIChat, limit: int) -> None:
        self.identity, self.host, self.silence = chat.identity, chat.host, chat.silence
        self._chat, self._limit = chat, limit

    def __call__(
        self, messages: Sequence[Message], *, max_tokens: int, temperature: float, **more: Any
    ) -> AsyncGenerator[StreamChunk]:
        return self._chat(messages, max_tokens=min(max_tokens, self._limit), temperature=temperature, **more)


async def test_a_real_model_plans_and_answers(small_model: SmallModel) -> None:
    assert await list_models(small_model.base_url, small_model.key) == (small_model.name,)
    chat = OpenAIChat(small_model.name, small_model.base_url, small_model.key)
    brief = Brief(chat, 60)
    told: list[Event] = []

    queries = await collected(plan(QUESTION, PlanKnobs(queries=2), brief, told.append))
    assert 1 <= len(queries) <= 2
    assert [event.query for event in told if isinstance(event, QueryPlanned)] == queries
    assert len(queries) == 2 or any(isinstance(event, Note) for event in told)

    told.clear()
    result = await answer(QUESTION, SOURCES, AnswerKnobs(length=Length.SHORT), brief, NoEmbed(), told.append)
    pieces = [event.text for event in told if isinstance(event, TokensWritten)]
    assert result.text == "".join(pieces)
    assert len(pieces) > 3, "the answer is streamed"
    assert result.model == chat.identity
    assert result.kind in (AnswerKind.WRITTEN, AnswerKind.NOT_FOUND)
    assert result.finish in ("stop", "length")
    assert result.complete == (result.finish == "stop")
    assert any(isinstance(event, Prompted) and len(event.messages) == 2 for event in told)
    assert set(check(result.text, range(1, len(SOURCES) + 1)).cited) <= {1, 2}
    await chat.aclose()


async def test_real_reply_can_be_stopped_before_the_next(small_model: SmallModel) -> None:
    chat = OpenAIChat(small_model.name, small_model.base_url, small_model.key)
    ask = (Message(role="user", content="Count from one to a thousand in words."),)
    async with aclosing(chat(ask, max_tokens=1500, temperature=0.0)) as deltas:
        async for delta in deltas:
            if delta.text_delta:
                break
    # One thread serves this model: were the first reply still being written, this would wait for its end.
    async with asyncio.timeout(30):
        again = await collected(chat(ask, max_tokens=4, temperature=0.0))
    assert again[-1].finish == "length"
    assert 1 <= len([delta for delta in again if delta.text_delta]) <= 4
    await chat.aclose()


async def test_a_real_model_rewrites_a_follow_up(small_model: SmallModel) -> None:
    chat = OpenAIChat(small_model.name, small_model.base_url, small_model.key)
    history = (Exchange(question=QUESTION, answer="It lifts recall for facts that straddle a boundary [1]."),)
    events: list[Event] = []
    rewritten = await standalone_question("and what does it cost?", history, Brief(chat, 60), events.append)
    assert rewritten.text.strip() and "\n" not in rewritten.text
    assert (rewritten.author == chat.identity) != bool(rewritten.note)
    (used,) = [event for event in events if isinstance(event, ModelUsed)]
    assert used.usage.tokens.prompt_tokens > 50  # estimated if the question ended before the reply did
    await chat.aclose()


async def test_a_real_model_drafts_a_question_about_a_passage(small_model: SmallModel) -> None:
    chat = OpenAIChat(small_model.name, small_model.base_url, small_model.key)
    text = (
        "Overlap matters least when boundaries follow paragraphs, since authors finish a thought before they start a new "
        "one. Ten percent of the passage size is enough for prose."
    )
    passage = LibraryPassage(id="1", content=text, source="overlap.txt", title="How overlap helps")
    material = collection_material("books", [passage])
    events: list[Event] = []
    draft = await draft_question(material[1][0], material, Brief(chat, 60), events.append)
    assert draft is not None
    assert draft.author in (chat.identity, TEMPLATE), (
        "what is no question is replaced by one made of the heading"
    )
    assert draft.question == " ".join(draft.question.split())
    assert 0 <= draft.overlap <= 1 and draft.rank == 1
    (used,) = [event for event in events if isinstance(event, ModelUsed)]
    assert used.usage.tokens.prompt_tokens > 50  # estimated if the question ended before the reply did
    await chat.aclose()
