"""Models of an experiment: their failure ends a question, which stages would go on without, and calls are counted."""

from collections.abc import Iterable, Sequence

from core.config.knobs import Knobs
from core.errors import BadInput, EmbedFailed, OpenQueryError, RerankFailed
from core.evaluation.experiment_state import SweepProgress
from core.model import Embeddings, RerankScores
from core.ports import Embed, OnRetry, Rerank


class StrictEmbed:
    """An `Embed` that raises `OpenQueryError` for a failure."""

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        self.identity, self.host = embed.identity, embed.host
        self.batch, self.languages, self.reads_whole = embed.batch, embed.languages, embed.reads_whole

    async def __call__(self, texts: Sequence[str], on_retry: OnRetry | None = None) -> Embeddings:
        """As `Embed`, but with `OpenQueryError` in place of `EmbedFailed`."""
        try:
            return await self._embed(texts, on_retry)
        except EmbedFailed as error:
            raise OpenQueryError(error.message, hint=error.hint) from error


class WatchedEmbed:
    """An `Embed` that counts into a progress."""

    def __init__(self, embed: Embed, progress: SweepProgress) -> None:
        self._embed, self._progress = embed, progress
        self.identity, self.host = embed.identity, embed.host
        self.batch, self.languages, self.reads_whole = embed.batch, embed.languages, embed.reads_whole

    async def __call__(self, texts: Sequence[str], on_retry: OnRetry | None = None) -> Embeddings:
        """As `Embed`."""
        embeddings = await self._embed(texts, on_retry or self._progress.note_retry)
        self._progress.texts += len(texts)
        self._progress.waiting = ""
        return embeddings


class StrictRerank:
    """A `Rerank` that raises `OpenQueryError` for a failure. It asks once for the same passages of a question, which
    settings share that differ in what is done with a ranking."""

    def __init__(self, port: Rerank) -> None:
        self._port = port
        self._known: dict[tuple[str, ...], RerankScores] = {}
        self.identity, self.host, self.depth = port.identity, port.host, port.depth

    async def __call__(self, question: str, texts: Sequence[str]) -> RerankScores:
        """As `Rerank`, but with `OpenQueryError` in place of `RerankFailed`."""
        key = (question, *texts)
        if key not in self._known:
            try:
                self._known[key] = await self._port(question, texts)
            except RerankFailed as error:
                raise OpenQueryError(error.message, hint=error.hint) from error
        return self._known[key]


def require_reranker(tried: Iterable[Knobs], port: Rerank | None) -> None:
    """Raises `BadInput` when a setting asks for reranking and no model is connected."""
    if port is None and any(knobs.rank.rerank for knobs in tried):
        raise BadInput(
            "rank.rerank needs a reranking model, and none is connected.",
            hint="Set OPENQUERY_RERANK_URL to the address of a /rerank endpoint, or OPENQUERY_RERANK_MODEL to local, or leave "
            "rank.rerank out.",
        )
