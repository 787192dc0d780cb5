"""Cache embeddings: recent vectors in memory, all of them on disk."""

import hashlib
from collections.abc import Sequence

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from core.adapters.cache.write_behind_cache import WriteBehindCache
from core.model import Embeddings
from core.ports import Embed, OnRetry

SPACE = "vectors"
MEMORY_BYTES = 40_000_000
"""Bytes of the vectors in memory: 26,000 of 384 dimensions, 6,500 of 1,536."""

Vector = NDArray[np.float32]


class CachedEmbed:
    """An `Embed` port over `embed`, which is called only for texts without a cached vector.

    Entries are keyed by the embedder's identity and the text. No person's key is in them, and all runs of a process and
    all processes of a data folder share them.
    """

    def __init__(self, embed: Embed, cache: WriteBehindCache, *, memory_bytes: int = MEMORY_BYTES) -> None:
        self.embed = embed
        self.identity, self.host = embed.identity, embed.host
        self.batch, self.languages, self.reads_whole = embed.batch, embed.languages, embed.reads_whole
        self._cache = cache
        self._recent: LRUCache[str, Vector] = LRUCache(memory_bytes, getsizeof=lambda vector: vector.nbytes)

    async def __call__(self, texts: Sequence[str], on_retry: OnRetry | None = None) -> Embeddings:
        """Embed texts, reusing cached vectors.

        Returns the vectors, shape (len(texts), dimensions), the number of cached vectors, and the usage of the others.

        Raises:
            EmbedFailed: when the embedder fails.
        """
        if not texts:
            return await self.embed(texts)
        vectors = {text: self._recent[text] for text in texts if text in self._recent}
        keys = {self._key(text): text for text in texts if text not in vectors}
        stored = await self._cache.get_many(SPACE, list(keys)) if keys else {}
        fresh = {keys[key]: np.frombuffer(value, np.float32) for key, value in stored.items() if value}
        missing = [text for text in dict.fromkeys(texts) if text not in vectors and text not in fresh]
        usage = None
        if missing:
            matrix, _, usage = await self.embed(missing, on_retry)
            if any(len(vector) != matrix.shape[1] for vector in (*vectors.values(), *fresh.values())):
                # The server changed its vectors under the same name, so cached vectors are useless.
                self._recent.clear()
                vectors, fresh, missing = {}, {}, list(dict.fromkeys(texts))
                matrix, _, more = await self.embed(missing, on_retry)
                usage = usage + more if usage and more else usage
            computed = dict(zip(missing, map(np.copy, matrix), strict=True))
            await self._cache.put_many(SPACE, {self._key(text): vector for text, vector in computed.items()})
            fresh |= computed
        self._recent.update(fresh)
        vectors |= fresh
        uncached = set(missing)
        cached = sum(text not in uncached for text in texts)
        return Embeddings(np.stack([vectors[text] for text in texts]), cached, usage)

    async def count_cached(self, texts: Sequence[str]) -> tuple[int, int]:
        """Count the texts with a cached vector. The second result is the vectors' dimensions, or 0 without any."""
        recent = [self._recent[text] for text in texts if text in self._recent]
        keys = [self._key(text) for text in texts if text not in self._recent]
        stored = await self._cache.get_many(SPACE, keys) if keys else {}
        width = len(recent[0]) if recent else max(map(len, stored.values()), default=0) // 4
        return len(recent) + sum(map(bool, stored.values())), width

    def remember(self, texts: Sequence[str], vectors: Sequence[Vector]) -> None:
        """Store copies of these vectors in memory. They are the same model's, at unit length."""
        self._recent.update(zip(texts, map(np.copy, vectors), strict=True))

    async def warm(self) -> None:
        """Run the embedder once, so that the first question does not wait for it. The cache is ignored."""
        await self.embed(["warm"])

    def _key(self, text: str) -> str:
        name = f"{self.identity}\0{text}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(name, digest_size=20).hexdigest()
