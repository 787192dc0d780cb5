"""The library at scale: filling and searching a collection, against a numpy scan in the same run.

    python -m bench.library [--passages 100000] [--width 384] [--queries 100] [--url http://127.0.0.1:6333]

Vectors are drawn around seeded centres, one for each 200 passages, as texts cluster around topics; queries are
drawn the same way and are in no collection. Texts are synthetic, 500 characters each. Filters name one of 50
sources. The embedded library in a temporary folder is measured, or with `--url` a Qdrant server, in a
collection that is deleted afterwards; its key is read from QDRANT_API_KEY.
"""

import argparse
import os
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is imported

import numpy as np
from numpy.typing import NDArray
from pydantic import SecretStr

from core.features.library.qdrant.edge_collections import EdgeCollections
from core.features.library.qdrant.server_collections import ServerCollections
from core.model import LibraryPassage
from core.model.library import passage_id
from core.runtime.event_loop import run_async

Matrix = NDArray[np.float32]

K = 10
SOURCES = 50
BATCH = 5_000
HEAD = "| search | median ms | 95 % ms | against the scan | recall@10 |\n|---|---|---|---|---|"
SPREAD = 0.7
"""How far passages lie from their centre: neighbours of one centre have a cosine of about 0.67."""


class Drawn:
    """The vectors: the same for the same seed, width and number."""

    def __init__(self, passages: int, width: int, seed: int) -> None:
        self.passages, self.width, self._seed = passages, width, seed
        generator = np.random.default_rng(seed)
        self._centres = generator.standard_normal((max(1, passages // 200), width)).astype(np.float32)

    def some(self, part: int, count: int) -> Matrix:
        """Unit vectors around random centres, shape (count, width)."""
        generator = np.random.default_rng((self._seed, part))
        vectors = self._centres[generator.integers(0, len(self._centres), count)]
        vectors = vectors + SPREAD * generator.standard_normal((count, self.width), dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def parts(self) -> Iterator[tuple[int, Matrix]]:
        """All passages, with the place of the first of each part."""
        for start in range(0, self.passages, BATCH):
            yield start, self.some(start + 1, min(BATCH, self.passages - start))


def passages(start: int, count: int) -> list[LibraryPassage]:
    return [
        LibraryPassage(
            id=passage_id("bench", at, "drawn"),
            content=f"Passage {at}. ".ljust(500, "x"),
            source=f"{at % SOURCES}.pdf",
            page=at % 30 + 1,
            document=f"document {at % SOURCES}",
            position=at,
            embedder="drawn",
        )
        for at in range(start, start + count)
    ]


@dataclass
class Row:
    """One way to search: milliseconds for each query, and how much of the truth it found."""

    name: str
    times: list[float] = field(default_factory=list)
    recalls: list[float] = field(default_factory=list)

    def add(self, seconds: float, found: set[int], truth: set[int]) -> None:
        self.times.append(seconds * 1e3)
        self.recalls.append(len(found & truth) / max(1, len(truth)))

    @property
    def median(self) -> float:
        return float(np.median(self.times))

    def line(self, scan: float) -> str:
        late = float(np.percentile(self.times, 95))
        recall = float(np.mean(self.recalls))
        return f"| {self.name} | {self.median:.2f} | {late:.2f} | {scan / self.median:.1f} x | {recall:.3f} |"


class Truth:
    """What a scan of all vectors with numpy finds, in one thread, and how long it takes."""

    def __init__(self, drawn: Drawn, queries: Matrix) -> None:
        self.matrix = np.concatenate([vectors for _, vectors in drawn.parts()])
        self.all, self.narrow = Row("numpy scan"), Row("numpy scan of one source")
        self.found: list[set[int]] = []
        self.found_narrow: list[set[int]] = []
        places = [np.arange(source, drawn.passages, SOURCES) for source in range(SOURCES)]
        for at, query in enumerate(queries):
            began = time.perf_counter()
            found = _top(self.matrix @ query)
            self.all.add(time.perf_counter() - began, found, found)
            began = time.perf_counter()
            mine = places[at % SOURCES]
            narrow = {int(mine[place]) for place in _top(self.matrix[mine] @ query)}
            self.narrow.add(time.perf_counter() - began, narrow, narrow)
            self.found.append(found)
            self.found_narrow.append(narrow)


def _top(scores: Matrix) -> set[int]:
    count = min(K, len(scores))
    return {int(place) for place in np.argpartition(-scores, count - 1)[:count]}


async def searched(
    collections: EdgeCollections | ServerCollections, name: str, truth: Truth, queries: Matrix, state: str
) -> None:
    """Print a row for each of four ways: exact or not, everywhere or in one source."""
    for narrow in (False, True):
        for exact in (False, True):
            row = Row(f"{state}{', exact' if exact else ''}{', one source' if narrow else ''}")
            for at, query in enumerate(queries):
                where = {"source": f"{at % SOURCES}.pdf"} if narrow else None
                began = time.perf_counter()
                found = await collections.nearest(name, query, K, where, exact=exact)
                took = time.perf_counter() - began
                wanted = (truth.found_narrow if narrow else truth.found)[at]
                row.add(took, {one.passage.position for one in found}, wanted)
            print(row.line(truth.all.median), flush=True)


def _memory(pid: int | None) -> str:
    """Resident memory of a process, and how much of it is the process's own rather than pages of files."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return "unknown"
    stated = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith(("VmRSS", "RssAnon"))}
    return f"{int(stated['VmRSS']) / 1024:.0f} MB, of which its own {int(stated['RssAnon']) / 1024:.0f} MB"


def _disk(folder: Path) -> str:
    return f"{sum(path.stat().st_blocks * 512 for path in folder.rglob('*')) / 1e6:.0f} MB"


async def measure(passages: int, width: int, count: int, seed: int, url: str) -> None:
    drawn = Drawn(passages, width, seed)
    queries = drawn.some(0, count)
    print(f"{passages:,} passages of {width} dimensions, {count} queries, seed {seed}", flush=True)
    truth = Truth(drawn, queries)
    name = f"bench-{uuid.uuid4().hex[:8]}"
    with tempfile.TemporaryDirectory(prefix="openquery-bench-") as folder:
        key = os.environ.get("QDRANT_API_KEY")
        collections: EdgeCollections | ServerCollections = (
            ServerCollections(url, SecretStr(key) if key else None)
            if url
            else EdgeCollections(Path(folder), idle=3600)
        )
        try:
            await _measured(collections, name, drawn, truth, queries, Path(folder))
        finally:
            await collections.drop(name)
            await collections.aclose()


async def _measured(
    collections: EdgeCollections | ServerCollections,
    name: str,
    drawn: Drawn,
    truth: Truth,
    queries: Matrix,
    folder: Path,
) -> None:
    await collections.create(name, drawn.width)
    took = 0.0
    for start, vectors in drawn.parts():
        made = passages(start, len(vectors))
        began = time.perf_counter()
        await collections.put(name, made, vectors)
        took += time.perf_counter() - began
    print(f"put: {took:.1f} s, {drawn.passages / took:,.0f} passages/s", flush=True)
    embedded = isinstance(collections, EdgeCollections)
    await collections.nearest(name, queries[0], K)
    print(f"\n{HEAD}\n{truth.all.line(truth.all.median)}\n{truth.narrow.line(truth.all.median)}", flush=True)
    await searched(collections, name, truth, queries, "library" if embedded else "server")
    if isinstance(collections, EdgeCollections):
        print(f"\nmemory: {_memory(collections.pid)}; disk: {_disk(folder)}", flush=True)
        await collections.aclose()
        began = time.perf_counter()
        await collections.about(name)
        print(f"\nopen after a restart: {time.perf_counter() - began:.2f} s", flush=True)
        for query in queries:
            await collections.nearest(name, query, K)
        print(f"memory after it: {_memory(collections.pid)}; disk: {_disk(folder)}", flush=True)
    began = time.perf_counter()
    documents = await collections.documents(name)
    print(
        f"documents: {(time.perf_counter() - began) * 1e3:.0f} ms for {len(documents)} documents", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--url", default="", help="a Qdrant server instead of the embedded engine")
    arguments = parser.parse_args()
    run_async(measure(arguments.passages, arguments.width, arguments.queries, arguments.seed, arguments.url))


if __name__ == "__main__":
    main()
