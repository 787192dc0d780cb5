"""Collections as folders that several processes know of: who has which open, and how one takes another's place."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
import uuid
from pathlib import Path

import qdrant_edge as edge

from core.adapters.qdrant.edge_protocol import CONFIG
from core.adapters.qdrant.points import INTEGERS, KEYWORDS
from core.errors import OpenQueryError

LOCKS = ".locks"
NEW, DROPPED, REPLACED = ".new-", ".dropped-", ".replaced-"
"""How folders begin that are no collection yet, or none any more, or that one is just taking the place of."""
SCANNED = 40_000
"""Kilobytes of vectors, 27,000 of 384 numbers, below which a narrowed search compares with all that match: that
is exact, takes milliseconds, and spares the index links between the passages of every document."""
ABANDONED = 24 * 3600.0
"""Seconds after which nobody is still at work on a new folder."""


class Refused(OpenQueryError):
    """A reason that the other side has words for: missing, locked, exists, full."""


class CollectionFolders:
    """The collections below one folder, each open in at most one process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open: dict[str, edge.EdgeShard] = {}
        self._locks: dict[str, int] = {}
        self._changes: dict[str, int] = {}
        self._copies: dict[str, tuple[Path, int]] = {}
        (folder / LOCKS).mkdir(parents=True, exist_ok=True)
        self._tidy()

    @property
    def at_rest(self) -> bool:
        """True when nothing is open, or a copy is at work whose original nobody else may change meanwhile."""
        return not self._open or bool(self._copies)

    def shard(self, name: str) -> edge.EdgeShard:
        if name not in self._open:
            if not (self.folder / name / CONFIG).exists():
                raise Refused("missing")
            self._lock(name)
            try:
                shard = edge.EdgeShard.load(str(self.folder / name))
                index(shard)
            except BaseException as error:
                self._unlock(name)
                if "WouldBlock" in str(error):  # opened by other means than OpenQuery
                    raise Refused("locked") from error
                raise
            self._open[name] = shard
        return self._open[name]

    def changed(self, name: str) -> None:
        self._changes[name] = self._changes.get(name, 0) + 1

    def close(self) -> None:
        """Write everything to disk and let go of every collection."""
        for name in tuple(self._copies):
            self.discard(name)
        for name in tuple(self._open):
            self._close(name)

    def create(self, name: str, width: int) -> None:
        """The folder appears under its name when all in it is there."""
        if (self.folder / name).exists():
            raise Refused("exists")
        fresh = self._fresh()
        params = edge.EdgeVectorParams(size=width, distance=edge.Distance.Cosine)
        # Whoever asks for an index has counted; by itself the engine makes none below 10 MB of vectors.
        eager = edge.EdgeOptimizersConfig(indexing_threshold=1_000)
        graph = edge.HnswIndexConfig(m=16, ef_construct=100, full_scan_threshold=SCANNED)
        config = edge.EdgeConfig(vectors=params, optimizers=eager, hnsw_config=graph)
        shard = edge.EdgeShard.create(str(fresh), config)
        index(shard)
        shard.close()
        try:
            fresh.rename(self.folder / name)
        except OSError as error:
            shutil.rmtree(fresh, ignore_errors=True)
            raise Refused("exists") from error

    def drop(self, name: str) -> None:
        """Only who holds the lock may delete, so that nobody's collection vanishes below them."""
        self._lock(name)
        self.discard(name)
        if shard := self._open.pop(name, None):
            shard.close()
        away = self.folder / f"{DROPPED}{uuid.uuid4().hex}"
        if (self.folder / name).exists():
            (self.folder / name).rename(away)
        self._unlock(name)
        shutil.rmtree(away, ignore_errors=True)

    # --- a copy that takes the original's place -----------------------------------------------------------

    def copy(self, name: str) -> Path:
        """A copy on disk for another process to work on. Changes to the original make it worthless."""
        self.discard(name)
        self.shard(name)
        self._close(name, keep=True)  # what is in memory belongs into the copy
        fresh = self._fresh()
        try:
            self._copy(name, fresh)
            self.shard(name)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            self._close(name)
            raise
        self._copies[name] = fresh, self._changes.get(name, 0)
        return fresh

    def replace(self, name: str) -> bool:
        """Put the copy in the original's place; false when that was changed meanwhile, or is gone."""
        copied, changes = self._copies.get(name, (Path(), -1))
        if changes != self._changes.get(name, 0) or name not in self._locks:
            self.discard(name)
            return False
        self._close(name, keep=True)
        del self._copies[name]
        away = self.folder / f"{REPLACED}{name}"
        (self.folder / name).rename(away)
        copied.rename(self.folder / name)
        shutil.rmtree(away, ignore_errors=True)
        self.shard(name)
        return True

    def _copy(self, name: str, fresh: Path) -> None:
        size = sum(path.stat().st_blocks * 512 for path in (self.folder / name).rglob("*"))
        if shutil.disk_usage(self.folder).free < 3 * size:
            raise Refused("full")
        shutil.copytree(self.folder / name, fresh)

    def discard(self, name: str) -> None:
        copied, _ = self._copies.pop(name, (None, 0))
        if copied:
            shutil.rmtree(copied, ignore_errors=True)

    # --- locks --------------------------------------------------------------------------------------------

    def _close(self, name: str, *, keep: bool = False) -> None:
        if shard := self._open.pop(name, None):
            shard.close()
        if not keep:
            self._unlock(name)

    def _lock(self, name: str) -> None:
        if name in self._locks:
            return
        descriptor = os.open(self.folder / LOCKS / name, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise Refused("locked") from error
        self._locks[name] = descriptor

    def _unlock(self, name: str) -> None:
        if (descriptor := self._locks.pop(name, None)) is not None:
            os.close(descriptor)

    def _fresh(self) -> Path:
        return self.folder / f"{NEW}{uuid.uuid4().hex}"

    def _tidy(self) -> None:
        """Finish what a process that was killed has left half done."""
        for left in self.folder.glob(f"{REPLACED}*"):
            name = left.name.removeprefix(REPLACED)
            try:
                self._lock(name)
            except Refused:
                continue  # somebody is at it
            if not (self.folder / name).exists():
                left.rename(self.folder / name)
            self._unlock(name)
            shutil.rmtree(left, ignore_errors=True)
        for left in (*self.folder.glob(f"{DROPPED}*"), *self.folder.glob(f"{NEW}*")):
            if left.name.startswith(DROPPED) or left.stat().st_mtime < time.time() - ABANDONED:
                shutil.rmtree(left, ignore_errors=True)


def index(shard: edge.EdgeShard) -> None:
    """Let passages be counted and narrowed by where they come from."""
    there = shard.info().payload_schema
    # Links between the passages of each range of pages would take as long again as the index itself.
    numbers = edge.IntegerIndexParams(lookup=True, range=True, enable_hnsw=False)
    kinds = ((KEYWORDS, edge.PayloadSchemaType.Keyword), (INTEGERS, numbers))
    for field, kind in [(field, kind) for fields, kind in kinds for field in fields if field not in there]:
        shard.update(edge.UpdateOperation.create_field_index(field, kind))
