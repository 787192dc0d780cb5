"""Ports that a test scripts, for stages that need no server."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence

import numpy as np
from numpy.typing import NDArray

from core.errors import ChatFailed, EmbedFailed
from core.model import Embeddings, Message, Passage, Place, Source, StreamChunk, ToolDefinition
from core.ports import OnRetry
from tests.services.openai_server import vector


class ScriptedChat:
    """Says the deltas of its script; an exception in it is raised there, an event is waited for."""

    identity = "scripted@test"
    host = ""
    silence = 60.0

    def __init__(self, *script: str | StreamChunk | ChatFailed | asyncio.Event, finish: str = "stop") -> None:
        self.script = script
        self.finish = finish
        self.asked: list[tuple[Message, ...]] = []
        self.closed = False

    async def __call__(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        stop: Sequence[str] = (),
        tools: Sequence[ToolDefinition] = (),
    ) -> AsyncGenerator[StreamChunk]:
        self.asked.append(tuple(messages))
        self.options = {"max_tokens": max_tokens, "stop": tuple(stop), "tools": tuple(tools)}
        try:
            for step in self.script:
                match step:
                    case ChatFailed():
                        raise step
                    case asyncio.Event():
                        await step.wait()
                    case StreamChunk():
                        yield step
                    case str():
                        yield StreamChunk(text_delta=step)
            yield StreamChunk(finish=self.finish)
        finally:
            self.closed = True


class FakeEmbed(ABC):
    """The `Embed` port in this process, without a limit of a text's length. A subclass has the vectors."""

    identity = "fake@test"
    host = ""
    batch = 64
    languages: frozenset[str] = frozenset()

    async def reads_whole(self, text: str) -> bool:
        return True

    async def __call__(self, texts: Sequence[str], on_retry: OnRetry | None = None) -> Embeddings:
        return Embeddings(await self.vectors(texts))

    @abstractmethod
    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), dimensions)."""


class WordEmbed(FakeEmbed):
    """Vectors by words: texts that share words are similar."""

    identity = "words@test"
    batch = 16

    def __init__(self) -> None:
        self.calls: list[int] = []

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append(len(texts))
        return np.stack([vector(text, 256) for text in texts])


class NoEmbed(FakeEmbed):
    identity = "none@test"

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise EmbedFailed("The embedder is away.", hint="Wait for it.")


def source(number: int, text: str, title: str = "A title", url: str = "https://a.example/") -> Source:
    place = Place(page=f"https://a.example/{number}", start=0, end=len(text))
    return Source(number=number, passage=Passage(text=text, place=place), title=title, url=url)
