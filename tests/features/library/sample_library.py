"""A `Library` for tests: real reading processes and a real data folder, an embedder that counts its calls."""

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.adapters.web.extraction_pool import ExtractionPool
from core.adapters.web.safe_client import SafeWeb
from core.features.library.ingests import Ingest, IngestLimits, IngestSource, IngestTask
from core.features.library.library import Library
from core.model import LibraryPassage
from tests.services.collections import InMemory
from tests.stages.fakes import FakeEmbed


class Counting(FakeEmbed):
    """Unit vectors by the texts' digests. `embedded` has every text it was given; it waits while `gate` is cleared."""

    batch = 4

    def __init__(self, identity: str = "counting", width: int = 8) -> None:
        self.identity = identity
        self.width = width
        self.embedded: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.called = asyncio.Event()

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if list(texts) != ["width"]:
            self.called.set()
            await self.gate.wait()
            self.embedded += texts
        seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") for text in texts]
        rows = np.stack([np.random.default_rng(seed).normal(size=self.width) for seed in seeds])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


class SampleLibrary(Library):
    """A library over `database`, with the embedder `embed`."""

    def __init__(
        self,
        folder: Path,
        workers: ExtractionPool,
        *,
        database: InMemory | None = None,
        embed: Counting | None = None,
        web: SafeWeb | None = None,
        limits: IngestLimits | None = None,
    ) -> None:
        self.database, self.embed = database or InMemory(), embed or Counting()
        super().__init__(
            folder=folder,
            collections=self.database,
            embedder=self._counting,
            workers=workers,
            web=web or SafeWeb(),
            limits=limits or IngestLimits(),
        )

    async def _counting(self, _access: object, _collection: str) -> Counting:
        return self.embed

    async def add(self, *sources: IngestSource, name: str = "books") -> Ingest:
        """The ingest of these sources once it has ended."""
        return await (await self.ingests.add(name, sources)).wait()

    async def put(self, *passages: LibraryPassage) -> None:
        """Have another tool add passages to the collection `books`."""
        vectors = np.ones((len(passages), self.embed.width), dtype=np.float32)
        await self.database.put("books", passages, vectors)


def stored_files(folder: Path) -> set[str]:
    """Digests of the files stored in a data folder."""
    return {path.name for path in (folder / "documents").iterdir() if path.is_file()}


def names_below(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*")}


def outcomes(ingest: Ingest) -> dict[str, str]:
    """The outcome of each task as `state: reason`, by name."""
    return {task.name: _line(task) for task in ingest.tasks}


def _line(task: IngestTask) -> str:
    return f"{task.state}: {task.reason}".removesuffix(": ")


def words(count: int, about: str) -> str:
    """Text that is cut into about a fifth as many passages as it has sentences."""
    sentence = (
        "The {} number {} is described at some length, so that a few of these fill a whole passage of text."
    )
    return " ".join(sentence.format(about, number) for number in range(count))
