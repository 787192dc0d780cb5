"""Embedding cache: recent vectors in memory, all of them on disk."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.adapters.cache.write_behind_cache import WriteBehindCache
from core.model import Embeddings, ModelUsage
from core.ports import DeclaresLanguages, Embed, LimitsInput, OnRetry, counted, host_of_port

SPACE = "vectors"
_MAX_BYTES = 100_000_000
"""Bytes that vectors in memory may take: 65,000 of 384 dimensions, 16,000 of 1,536."""

Vector = NDArray[np.float32]


class CachedEmbed:
    """The `Embed` port over `embed`, which is called only for texts without a cached vector.

    Entries are keyed by the embedder's identity and the text, so no key of a person is in them and all
    runs of a process, and all processes of a data folder, share them.
    """

    def __init__(self, embed: Embed, cache: WriteBehindCache) -> None:
        self.embed = embed
        self._cache = cache
        self._recent: dict[str, Vector] = {}
        self._owners: Counter[int] = Counter()
        """How many of the recent vectors are rows of one array, by its id. Their size is shared, so no cache that
        adds up the sizes of its items can bound them."""
        self._bytes = 0

    @property
    def identity(self) -> str:
        return self.embed.identity

    @property
    def host(self) -> str:
        return host_of_port(self.embed)

    @property
    def batch(self) -> int:
        return self.embed.batch

    @property
    def languages(self) -> frozenset[str]:
        return self.embed.languages if isinstance(self.embed, DeclaresLanguages) else frozenset()

    async def reads_whole(self, text: str) -> bool:
        """Whether the model reads the text to the end; True where the embedder does not tell."""
        return await self.embed.reads_whole(text) if isinstance(self.embed, LimitsInput) else True

    async def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        found = await self.counted(texts)
        self.learn(texts, list(found.vectors))
        return found.vectors

    async def counted(self, texts: Sequence[str], on_retry: OnRetry | None = None) -> Embeddings:
        """The vectors, shape (len(texts), dimensions), how many of them were not computed now, and what the others took.

        They are cached on disk and not in memory: the caller has them there, and may have `learn` share them.

        Raises:
            EmbedFailed: as the embedder does.
        """
        found = {text: self._recent[text] for text in texts if text in self._recent}
        keys = {text: self._key(text) for text in texts if text not in found}
        if keys:
            stored = await self._cache.get_many(SPACE, list(keys.values()))
            stored_vectors = ((text, stored.get(key)) for text, key in keys.items())
            found |= {text: np.frombuffer(value, dtype=np.float32) for text, value in stored_vectors if value}
        fresh = [text for text in dict.fromkeys(texts) if text not in found]
        spent: ModelUsage | None = None
        if fresh:
            rows, _, spent = await counted(self.embed, fresh, on_retry)
            if any(len(vector) != rows.shape[1] for vector in found.values()):
                # The server changed its vectors under the same name: what is remembered is of no use.
                for text in found:
                    self._evict(text)
                found.clear()
                fresh = list(dict.fromkeys(texts))
                rows, _, again = await counted(self.embed, fresh, on_retry)
                spent = spent + again if spent and again else spent
            rows.flags.writeable = False
            # Views, not copies: caller and cache share the one matrix that the embedder gave.
            new = dict(zip(fresh, rows, strict=True))
            await self._cache.put_many(
                SPACE, {keys.get(text) or self._key(text): vector for text, vector in new.items()}
            )
            found |= new
        if fresh == list(texts):
            return Embeddings(rows, 0, spent)
        vectors = np.stack([found[text] for text in texts]) if texts else await self.embed([])
        computed = set(fresh)
        return Embeddings(vectors, sum(text not in computed for text in texts), spent)

    def learn(self, texts: Sequence[str], vectors: Sequence[NDArray[np.float32]]) -> None:
        """Keep these vectors of the same model, unit length, in memory, in place of others for the same texts.

        They are not copied. Rows of one matrix hold all of it, so all of it counts until the last has gone.
        """
        for text, vector in zip(texts, vectors, strict=True):
            self._evict(text)
            self._recent[text] = vector
            owner = _owner(vector)
            self._owners[id(owner)] += 1
            if self._owners[id(owner)] == 1:
                self._bytes += owner.nbytes
        while self._bytes > _MAX_BYTES:
            self._evict(next(iter(self._recent)))

    async def warm(self) -> None:
        """Run the embedder once, whatever is remembered, so that the first question does not wait for it."""
        await self.embed(["warm"])

    def _key(self, text: str) -> str:
        name = f"{self.identity}\0{text}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(name, digest_size=20).hexdigest()

    def _evict(self, text: str) -> None:
        vector = self._recent.pop(text, None)
        if vector is None:
            return
        owner = _owner(vector)
        self._owners[id(owner)] -= 1
        if not self._owners[id(owner)]:
            del self._owners[id(owner)]
            self._bytes -= owner.nbytes


def _owner(vector: Vector) -> Vector:
    """The array whose memory the vector is in."""
    return vector.base if isinstance(vector.base, np.ndarray) else vector
