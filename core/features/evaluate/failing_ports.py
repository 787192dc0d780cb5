"""Models for experiments: a failure ends the question, and calls are counted.

Stages would continue without a failed model.
"""

from collections.abc import Iterable, Sequence

from core.config.knobs import Knobs
from core.errors import BadInput, EmbedFailed, OpenQueryError, RerankFailed
from core.features.evaluate.experiment_state import SweepProgress
from core.model import Embeddings, RerankScores
from core.ports import Embed, OnRetry, Rerank


class StrictEmbed:
    """An `Embed` that raises `OpenQueryError` for a failure."""

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        self.identity, self.host = embed.identity, embed.host
        self.batch, self.languages, self.reads_whole = embed.batch, embed.languages, embed.reads_whole

    async def __call__(self, texts: Sequence[str], on_retry: OnRetry | None = None) -> Embeddings:
        """Embed texts, raising `OpenQueryError` in place of `EmbedFailed`."""
        try:
            return await self._embed(texts, on_retry)
        except EmbedFailed as error:
            raise OpenQueryError(error.message, hint=error.hint) from error


class WatchedEmbed:
    """An `Embed` that counts its texts and retries in a `SweepProgress`."""

    def __init__(self, embed: Embed, progress: SweepProgress) -> None:
        self._embed, self._progress = embed, progress
        self.identity, self.host = embed.identity, embed.host
        self.batch, self.languages, self.reads_whole = embed.batch, embed.languages, embed.reads_whole

    async def __call__(self, texts: Sequence[str], on_retry: OnRetry | None = None) -> Embeddings:
        """Embed texts and count them."""
        embeddings = await self._embed(texts, on_retry or self._progress.note_retry)
        self._progress.texts += len(texts)
        self._progress.waiting = ""
        return embeddings


class StrictRerank:
    """A `Rerank` that raises `OpenQueryError` for a failure.

    Scores of the same question and passages are cached, because settings that differ after ranking share them.
    """

    def __init__(self, port: Rerank) -> None:
        self._port = port
        self._known: dict[tuple[str, ...], RerankScores] = {}
        self.identity, self.host, self.depth = port.identity, port.host, port.depth

    async def __call__(self, question: str, texts: Sequence[str]) -> RerankScores:
        """Score texts, raising `OpenQueryError` in place of `RerankFailed`."""
        key = (question, *texts)
        if key not in self._known:
            try:
                self._known[key] = await self._port(question, texts)
            except RerankFailed as error:
                raise OpenQueryError(error.message, hint=error.hint) from error
        return self._known[key]


def require_reranker(tried: Iterable[Knobs], port: Rerank | None) -> None:
    """Raise `BadInput` if a setting needs reranking and no model is connected."""
    if port is None and any(knobs.rank.rerank for knobs in tried):
        raise BadInput(
            "rank.rerank needs a reranking model, and none is connected.",
            hint="Set OPENQUERY_RERANK_URL to the address of a /rerank endpoint, or OPENQUERY_RERANK_MODEL to local, or leave "
            "rank.rerank out.",
        )
