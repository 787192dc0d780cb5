"""How far a sweep is: questions ranked, texts embedded, and calls that are made again."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.model import Embeddings, Retry
from core.ports import Embed, OnRetry


class SweepPhase(StrEnum):
    """What a sweep does now."""

    READ = "reading documents"
    EMBED = "cutting and embedding"
    RANK = "ranking"


@dataclass(slots=True, kw_only=True)
class SweepProgress:
    """The figures of a sweep under way. One task writes them; what others read may be a moment old."""

    phase: SweepPhase = SweepPhase.READ
    questions: int = 0
    """Ranked so far, each setting counted, with those of an earlier start."""
    earlier: int = 0
    """Of these, those of an earlier start."""
    total: int = 0
    """To rank in all."""
    texts: int = 0
    """Embedded, or found in the cache."""
    retries: int = 0
    """Calls that a model server refused for now and that were made again."""
    waiting: str = ""
    """Why the next call waits, in words; empty while none does."""
    began: float = 0.0
    """When the first question was about to be ranked, by the monotonic clock; 0 before that."""

    def begin(self, *, total: int, done: int) -> None:
        """Begin with so many questions to rank, of which some were ranked earlier."""
        self.total, self.questions, self.earlier, self.began = total, done, done, time.monotonic()

    @property
    def rate(self) -> float:
        """Questions ranked a second since this start; 0 before the first."""
        seconds = time.monotonic() - self.began
        return (self.questions - self.earlier) / seconds if self.began and seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """About how long it will take at this rate; None before the first question."""
        return (self.total - self.questions) / self.rate if self.rate else None

    def note_retry(self, retry: Retry) -> None:
        """Count a call that is made again."""
        self.retries += 1
        self.waiting = f"{retry.server}: {retry.reason}, asked again after {retry.seconds:.0f} s"


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
