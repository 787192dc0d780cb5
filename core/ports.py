"""What the pipeline needs of the world. Adapters match these shapes and inherit nothing."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import NotRequired, Protocol, TypedDict, Unpack

from core.config.egress import UNRESTRICTED, EgressPolicy
from core.config.knobs import ReadKnobs, SearchKnobs
from core.config.prices import SHIPPED, Prices
from core.model import (
    Answer,
    Article,
    Document,
    Embeddings,
    Extractor,
    Index,
    Message,
    RerankScores,
    Retry,
    SearchReply,
    StreamChunk,
    ToolDefinition,
)
from core.model.passage_urls import collection_at_url

OnRetry = Callable[[Retry], None]
"""Called before each wait for another attempt. Returns at once and never raises."""
RERANK_DEPTH = 50
"""The most passages for a reranking model. It reads each with the question, so each costs."""


class Search(Protocol):
    """A search backend."""

    @property
    def identity(self) -> str:
        """The name of the backend in cache keys, with its address and without credentials."""

    async def __call__(self, query: str, knobs: SearchKnobs) -> SearchReply:
        """Return the results of one query, best first, or a reply without results.

        Raises:
            SearchFailed: when the backend refuses or does not answer.
        """


class Web(Protocol):
    """A client for addresses chosen by strangers, such as search results."""

    async def __call__(self, url: str, knobs: ReadKnobs) -> Document:
        """The body at an address, of a media type that can be read.

        Raises:
            Unreadable: with the reason, when there is no body to read.
        """

    async def cached_page(self, url: str) -> Document | None:
        """Return the cached page at an address, fresh or stale, or None. Nothing is requested.

        Raises:
            Unreadable: when the address is that of a passage that cannot be read now.
        """


class Extract(Protocol):
    """An extractor of articles."""

    async def __call__(self, document: Document, extractor: Extractor) -> Article:
        """The article that a reader would see in a fetched document.

        Raises:
            Unreadable: when it holds no article, with the kind of page that it is instead.
        """


class ModelPort(Protocol):
    """What every model says about itself."""

    @property
    def identity(self) -> str:
        """The name of the model in cache keys, with its address and without credentials."""

    @property
    def host(self) -> str:
        """Host and port of the server that receives the texts, or "" for this process."""


class Embed(ModelPort, Protocol):
    """An embedding model."""

    @property
    def batch(self) -> int:
        """The most texts that are worth sending in one call."""

    @property
    def languages(self) -> frozenset[str]:
        """The ISO 639-1 codes of the model's languages. Empty if they are unknown."""

    async def reads_whole(self, text: str) -> bool:
        """Whether the model reads the whole text. True if its limit is unknown.

        Raises:
            EmbedFailed: when the model cannot be loaded.
        """

    async def __call__(self, texts: Sequence[str], on_retry: OnRetry | None = None) -> Embeddings:
        """Unit vectors (float32, shape (len(texts), dimensions), finite, C-contiguous), and what they took.

        Raises:
            EmbedFailed: when the model refuses, does not answer, or answers with other vectors.
        """


class Rerank(ModelPort, Protocol):
    """A reranking model."""

    @property
    def depth(self) -> int:
        """How many of the best passages it is given, at most `RERANK_DEPTH`."""

    async def __call__(self, question: str, texts: Sequence[str]) -> RerankScores:
        """How well each text answers the question: float32, shape (len(texts),), finite, on the model's own scale.

        Raises:
            RerankFailed: when the model refuses, does not answer, or answers with other scores.
        """


class ChatOptions(TypedDict):
    """How a chat model replies."""

    max_tokens: int
    """The most tokens of the reply."""
    temperature: float
    """The randomness of the tokens, from 0."""
    stop: NotRequired[Sequence[str]]
    """Texts before which the reply ends, which not every server heeds."""
    tools: NotRequired[Sequence[ToolDefinition]]
    """Functions that the model may ask to be called."""


class Chat(ModelPort, Protocol):
    """A chat model."""

    @property
    def silence(self) -> float:
        """The longest silence of a reply, in seconds. Infinite without a limit."""

    def __call__(
        self, messages: Sequence[Message], **options: Unpack[ChatOptions]
    ) -> AsyncGenerator[StreamChunk]:
        """The reply as a stream. Closing the generator ends the request.

        The last chunk has `finish`, and `usage` where the server counts tokens. A chunk with `retry` comes before
        each wait for another attempt. With `tools` the reply may have tool calls, each whole.

        Raises:
            ChatFailed: when the server refuses or does not answer; also after the first chunks, when the stream
                breaks or ends without an end mark.
        """


async def no_flush() -> None:
    """The `stored` of a run that no store keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The world of one run."""

    search: Search
    web: Web
    extract: Extract
    embed: Embed
    chat: Chat | None
    """None when no chat model is connected: the answer is then extractive."""
    multilingual: Embed | None = None
    """The embedder for questions and pages in different languages, or None if `embed` reads them all."""
    library: Search | None = None
    """The search in collections that an agent may use, or None."""
    rerank: Rerank | None = None
    """None when no reranking model is connected."""
    answers: MutableMapping[str, Answer] | None = None
    """Earlier answers of chat models, by the digest of the request. None means that the model is always asked.

    They are used again, and added to.
    """
    quote: asyncio.Event | None = None
    """Set to quote the sources instead of waiting for the chat model."""
    flush: Callable[[], Awaitable[None]] = no_flush
    """Waits until every event of the run so far is on disk."""
    egress: EgressPolicy = UNRESTRICTED
    """Decides which texts these models are given."""
    egress_note: str = ""
    """What the policy has changed already, such as the embedder."""
    prices: Prices = SHIPPED
    """What these models cost where their providers do not say."""

    def embedder_of(self, index: Index | None) -> Embed:
        """Return the embedder of this index's vectors, or the embedder for new vectors."""
        other = self.multilingual
        return (
            other
            if other is not None and index is not None and index.embedder == other.identity
            else self.embed
        )

    def withheld(self, port: ModelPort | None, pages: Iterable[str]) -> frozenset[str]:
        """The keys of those pages whose text this model must not be given. Raises as `withheld_origins`."""
        origins = {page: collection_at_url(page) for page in pages}
        private = self.withheld_origins(port, origins.values())
        return frozenset(page for page, origin in origins.items() if origin in private)

    def withheld_origins(self, port: ModelPort | None, origins: Iterable[str]) -> frozenset[str]:
        """The origins whose text this model must not be given.

        Raises:
            BadInput: when there are any, and the policy refuses.
        """
        return self.egress.withheld(port.host, origins) if port else frozenset()
