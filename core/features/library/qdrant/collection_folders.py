"""Collections as folders, each open in at most one process at a time."""

import os
import shutil
import time
import uuid
from pathlib import Path

import qdrant_edge as edge

from core.errors import OpenQueryError
from core.features.library.qdrant.edge_protocol import CONFIG
from core.features.library.qdrant.points import INTEGERS, KEYWORDS
from core.storage.process_lock import locked

LOCKS = ".locks"
NEW, DROPPED = ".new-", ".dropped-"
"""Prefixes of folders that are not yet, or no longer, a collection."""
ABANDONED = 24 * 3600.0
"""Age in seconds from which a new folder was left by a killed process."""


class Refused(OpenQueryError):
    """A reason that `EdgeCollections` turns into a message: missing, locked or exists."""


class CollectionFolders:
    """The collections below one folder, each open in at most one process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open: dict[str, edge.EdgeShard] = {}
        self._locks: dict[str, int] = {}
        (folder / LOCKS).mkdir(parents=True, exist_ok=True)
        self._recover()

    @property
    def all_closed(self) -> bool:
        """Whether no collection is open."""
        return not self._open

    def shard(self, name: str) -> edge.EdgeShard:
        """Return a collection's shard, opening it if needed. Raises `Refused`."""
        if name not in self._open:
            if not (self.folder / name / CONFIG).exists():
                raise Refused("missing")
            self._lock(name)
            try:
                shard = edge.EdgeShard.load(str(self.folder / name))
                index_payload(shard)
            except BaseException as error:
                self._unlock(name)
                if "WouldBlock" in str(error):  # opened outside OpenQuery
                    raise Refused("locked") from error
                raise
            self._open[name] = shard
        return self._open[name]

    def close(self) -> None:
        """Write everything to disk and close every collection."""
        for name in tuple(self._open):
            self._close(name)

    def create(self, name: str, width: int) -> None:
        """Create a collection. Its folder is renamed after it is complete."""
        if (self.folder / name).exists():
            raise Refused("exists")
        new = self.folder / f"{NEW}{uuid.uuid4().hex}"
        params = edge.EdgeVectorParams(size=width, distance=edge.Distance.Cosine)
        shard = edge.EdgeShard.create(str(new), edge.EdgeConfig(vectors=params))
        index_payload(shard)
        shard.close()
        try:
            new.rename(self.folder / name)
        except OSError as error:
            shutil.rmtree(new, ignore_errors=True)
            raise Refused("exists") from error

    def drop(self, name: str) -> None:
        """Delete a collection under its lock. No other process then has it open."""
        self._lock(name)
        if shard := self._open.pop(name, None):
            shard.close()
        dropped = self.folder / f"{DROPPED}{uuid.uuid4().hex}"
        if (self.folder / name).exists():
            (self.folder / name).rename(dropped)
        self._unlock(name)
        shutil.rmtree(dropped, ignore_errors=True)

    # --- locks --------------------------------------------------------------------------------------------

    def _close(self, name: str) -> None:
        if shard := self._open.pop(name, None):
            shard.close()
        self._unlock(name)

    def _lock(self, name: str) -> None:
        if name in self._locks:
            return
        if (descriptor := locked(self.folder / LOCKS / name, os.O_CREAT | os.O_RDWR)) is None:
            raise Refused("locked")
        self._locks[name] = descriptor

    def _unlock(self, name: str) -> None:
        if (descriptor := self._locks.pop(name, None)) is not None:
            os.close(descriptor)

    def _recover(self) -> None:
        """Delete the leftovers of killed processes."""
        for leftover in (*self.folder.glob(f"{DROPPED}*"), *self.folder.glob(f"{NEW}*")):
            if leftover.name.startswith(DROPPED) or leftover.stat().st_mtime < time.time() - ABANDONED:
                shutil.rmtree(leftover, ignore_errors=True)


def index_payload(shard: edge.EdgeShard) -> None:
    """Index the payload fields for counting and filtering passages."""
    indexed = shard.info().payload_schema
    numbers = edge.IntegerIndexParams(lookup=True, range=True, enable_hnsw=False)
    kinds = ((KEYWORDS, edge.PayloadSchemaType.Keyword), (INTEGERS, numbers))
    for field, kind in [(field, kind) for fields, kind in kinds for field in fields if field not in indexed]:
        shard.update(edge.UpdateOperation.create_field_index(field, kind))
