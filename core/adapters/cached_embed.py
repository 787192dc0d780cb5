"""An embedder that remembers: in memory what it gave lately, on disk what it gave before a restart."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.adapters.behind import Behind
from core.ports import Embed
from core.stages.embed import Speaking

SPACE = "vectors"
_IN_MEMORY = 64_000_000
"""Bytes of vectors kept in memory: some 40,000 of 384 dimensions, 10,000 of 1,536."""

Vector = NDArray[np.float32]


class CachedEmbed:
    """`embed`, asked only for texts whose vectors are not at hand. Only successes are remembered.

    Entries are keyed by the embedder's identity and the text, so no key of a person is in them and all
    runs of a process, and all processes of a data folder, share them.
    """

    def __init__(self, embed: Embed, cache: Behind) -> None:
        self.embed = embed
        self._cache = cache
        self._recent: OrderedDict[str, Vector] = OrderedDict()
        self._bytes = 0

    @property
    def identity(self) -> str:
        return self.embed.identity

    @property
    def batch(self) -> int:
        return self.embed.batch

    @property
    def languages(self) -> frozenset[str]:
        return self.embed.languages if isinstance(self.embed, Speaking) else frozenset()

    async def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return (await self.counted(texts))[0]

    async def counted(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], int]:
        """The vectors, shape (len(texts), dimensions), and how many of them were not computed now.

        Raises:
            EmbedFailed: as the embedder does.
        """
        keys = [self._key(text) for text in texts]
        found = {key: self._recent[key] for key in keys if key in self._recent}
        if unseen := [key for key in dict.fromkeys(keys) if key not in found]:
            stored = await self._cache.get_many(SPACE, unseen)
            found |= {key: np.frombuffer(value, dtype=np.float32) for key, value in stored.items()}
        fresh = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if fresh:
            rows = await self.embed(list(fresh.values()))
            if any(len(vector) != rows.shape[1] for vector in found.values()):
                # The server changed its vectors under the same name: what is remembered is of no use.
                fresh = dict(zip(keys, texts, strict=True))
                rows = await self.embed(list(fresh.values()))
                found.clear()
            rows.flags.writeable = False
            # Views, not copies: caller and memory share the one matrix that the embedder gave.
            new = dict(zip(fresh, rows, strict=True))
            await self._cache.put_many(SPACE, new)
            found |= new
        self._remember(found)
        if list(fresh) == keys:
            return rows, 0
        vectors = np.stack([found[key] for key in keys]) if keys else await self.embed([])
        return vectors, sum(key not in fresh for key in keys)

    def learn(self, texts: Sequence[str], vectors: Sequence[NDArray[np.float32]]) -> None:
        """Remember vectors, unit length, that the same model gave for these texts elsewhere."""
        self._remember({self._key(text): vector for text, vector in zip(texts, vectors, strict=True)})

    async def warm(self) -> None:
        """Run the embedder once, whatever is remembered, so that the first question does not wait for it."""
        await self.embed(["warm"])

    def _key(self, text: str) -> str:
        name = f"{self.identity}\0{text}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(name, digest_size=20).hexdigest()

    def _remember(self, vectors: dict[str, Vector]) -> None:
        for key, vector in vectors.items():
            if key not in self._recent:
                self._bytes += vector.nbytes
            self._recent[key] = vector
            self._recent.move_to_end(key)
        while self._bytes > _IN_MEMORY:
            self._bytes -= self._recent.popitem(last=False)[1].nbytes
