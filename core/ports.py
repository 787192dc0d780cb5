"""What the pipeline needs of the world. Adapters match these shapes and inherit nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from core.config.egress import UNRESTRICTED, EgressPolicy
from core.config.knobs import ReadKnobs, SearchKnobs
from core.model import (
    Answer,
    Article,
    Document,
    Embeddings,
    Extractor,
    Message,
    RerankScores,
    Retry,
    SearchReply,
    StreamChunk,
    ToolDefinition,
)
from core.model.passage_urls import collection_at_url

T = TypeVar("T")


class Search(Protocol):
    """Answer one query with ranked results.

    Raises `SearchFailed` when the backend cannot be asked; finding nothing is an empty reply.
    """

    @property
    def identity(self) -> str: ...
    async def __call__(self, query: str, knobs: SearchKnobs) -> SearchReply: ...


class Web(Protocol):
    """Fetch one address that a stranger chose.

    Raises `Unreadable` with the reason when there is no body to read.
    """

    async def __call__(self, url: str, knobs: ReadKnobs) -> Document: ...


class Fetch(Protocol):
    """Fetch one address that a stranger chose, whatever media type its body has.

    Raises `Unreadable` with the reason when there is no body.
    """

    async def fetch_any_type(self, url: str, knobs: ReadKnobs) -> Document: ...


@runtime_checkable
class CachedPages(Protocol):
    """A `Web` with a cache: the cached page of a URL, fresh or stale, without any request; None where there is none."""

    async def cached_page(self, url: str) -> Document | None: ...


class Extract(Protocol):
    """Turn a fetched document into the article a reader would see.

    Raises `Unreadable` when it holds no article, and says which kind of page it is instead.
    """

    async def __call__(self, document: Document, extractor: Extractor) -> Article: ...


class ReadingPool(Extract, Protocol):
    """An `Extract` over `count` worker processes, which also draw pages of PDFs."""

    @property
    def count(self) -> int: ...
    async def draw(self, body: bytes, page: int, width: int) -> bytes:
        """A page of a PDF, counted from 1, as a PNG at most `width` pixels wide. Raises `Unreadable`."""
        ...


class Embed(Protocol):
    """Turn texts into unit vectors: float32, shape (len(texts), dimensions), finite, C-contiguous.

    `identity` stands for the model in cache keys and never holds a key. `batch` is the largest call that
    makes sense. Raises `EmbedFailed`.
    """

    @property
    def identity(self) -> str: ...
    @property
    def batch(self) -> int: ...
    async def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


OnRetry = Callable[[Retry], None]
"""Called before each wait for another attempt. Returns at once and never raises."""


@runtime_checkable
class CountsTokens(Protocol):
    """An `Embed` that also tells what a call took, how many of the vectors it had already, and when it waits."""

    async def counted(self, texts: Sequence[str], on_retry: OnRetry | None = None, /) -> Embeddings: ...


async def counted(embed: Embed, texts: Sequence[str], on_retry: OnRetry | None = None) -> Embeddings:
    """The vectors of `texts`, with what they took where the embedder tells. Raises `EmbedFailed`."""
    if isinstance(embed, CountsTokens):
        return await embed.counted(texts, on_retry)
    return Embeddings(await embed(texts))


@runtime_checkable
class RemembersVectors(Protocol):
    """An `Embed` with a cache of vectors, which takes those of others into its memory."""

    def learn(self, texts: Sequence[str], vectors: Sequence[NDArray[np.float32]]) -> None: ...


@runtime_checkable
class LimitsInput(Protocol):
    """An `Embed` that tells whether its model reads a text to the end. Others are taken to read all."""

    async def reads_whole(self, text: str) -> bool: ...


@runtime_checkable
class DeclaresLanguages(Protocol):
    """An `Embed` that tells which languages it was made for, as ISO 639-1 codes; none: it cannot tell."""

    @property
    def languages(self) -> frozenset[str]: ...


@runtime_checkable
class StatesHost(Protocol):
    """A model port that tells where it sends texts: host and port of a server; empty: they stay in this process."""

    @property
    def host(self) -> str: ...


class Rerank(Protocol):
    """Judge how well each text answers the question: float32, shape (len(texts),), finite, on its own scale.

    `identity` never holds a key. Raises `RerankFailed`.
    """

    @property
    def identity(self) -> str: ...
    async def __call__(self, question: str, texts: Sequence[str]) -> RerankScores: ...


class Chat(Protocol):
    """Stream a reply. The last chunk carries `finish`, and `usage` where the provider reports it.

    A chunk with `retry` comes before each wait for another attempt. `stop` are texts before which the reply
    ends, which not every server heeds. With `tools` the reply may hold
    whole tool calls. Raises `ChatFailed`, also after the first chunks, when the stream breaks or ends without
    an end mark. Closing the generator ends the request.
    """

    @property
    def identity(self) -> str: ...
    def __call__(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float,
        stop: Sequence[str] = (),
        tools: Sequence[ToolDefinition] = (),
    ) -> AsyncGenerator[StreamChunk]: ...


def host_of_port(port: Embed | Chat | Rerank) -> str:
    """The host that a model port states; its identity where it states none, which no host of one's own is."""
    return port.host if isinstance(port, StatesHost) else port.identity


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The world of one run. `chat` is None when no chat model is connected: the answer is then extractive.

    `rerank` is None when no reranking model is connected. `answers` are earlier answers of chat models by the
    digest of all that the model was asked, to be used again and added to; None: the model is always asked.
    `egress` decides which texts these models are given; `egress_note` tells what it has changed already, such as the
    embedder.
    """

    search: Search
    web: Web
    extract: Extract
    embed: Embed
    chat: Chat | None
    rerank: Rerank | None = None
    answers: MutableMapping[str, Answer] | None = None
    egress: EgressPolicy = UNRESTRICTED
    egress_note: str = ""

    def withheld(self, port: Embed | Chat | Rerank | None, pages: Iterable[str]) -> frozenset[str]:
        """The keys of those pages whose text this port must not be given. Raises as `withheld_origins`."""
        origins = {page: collection_at_url(page) for page in pages}
        private = self.withheld_origins(port, origins.values())
        return frozenset(page for page, origin in origins.items() if origin in private)

    def withheld_origins(self, port: Embed | Chat | Rerank | None, origins: Iterable[str]) -> frozenset[str]:
        """The origins whose text this port must not be given. A port that states no host is taken to be hosted.

        Raises:
            BadInput: when there are any, and the policy refuses.
        """
        if port is None:
            return frozenset()
        return self.egress.withheld(host_of_port(port), origins)
