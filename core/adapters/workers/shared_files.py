"""Values in files, for processes of one machine. Arrays are mapped into memory, so that all processes share one copy.

A value is pickled with its arrays out of band (PEP 574): `value` holds the pickle, `0`, `1` and so on the arrays.
"""

import os
import pickle
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np

from core.storage.process_lock import LOCKS, locked

_PREFIX, _UNLOCKED_PREFIX = "openquery-jobs-", "openquery-new-"
AT_ONCE = 4
"""Values that a process keeps: those of the settings under way, and of the next way of chunking."""


@dataclass(frozen=True, slots=True)
class StoredValue:
    """What a job is sent in place of a shared value."""

    folder: Path


class SharedFolder:
    """A folder for temporary files that is locked for as long as its process runs, however that ends.

    Making one deletes those that processes of this user have left behind.
    """

    def __init__(self) -> None:
        """Raises OSError when it cannot be made."""
        remove_abandoned()
        draft = Path(tempfile.mkdtemp(prefix=_UNLOCKED_PREFIX))
        # Locked before it has its name, so that no other process sees it unlocked.
        self._lock = _locked(draft)
        self.path = draft.rename(draft.with_name(draft.name.replace(_UNLOCKED_PREFIX, _PREFIX, 1)))

    def close(self) -> None:
        """Delete it."""
        rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)


def remove_abandoned() -> None:
    """Delete the folders of this user's processes that are gone."""
    if not LOCKS:
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # another process is quicker
            if folder.lstat().st_uid == os.getuid() and (lock := _locked(folder)) is not None:
                rmtree(folder, ignore_errors=True)
                os.close(lock)


def _locked(folder: Path) -> int | None:
    """A descriptor that keeps the folder locked; None when another process does, or where there are no locks.

    Raises OSError when it is no folder.
    """
    return locked(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW) if LOCKS else None


def write_value(folder: Path, value: Any) -> None:
    """Write into a new folder, which nobody else may write: reading runs what the pickle says."""
    folder.mkdir(mode=0o700)
    arrays: list[pickle.PickleBuffer] = []
    (folder / "value").write_bytes(pickle.dumps(value, protocol=5, buffer_callback=arrays.append))
    for number, array in enumerate(arrays):
        (folder / str(number)).write_bytes(array.raw())


@lru_cache(maxsize=AT_ONCE)
def read_value(folder: Path) -> Any:
    """The value, its arrays read-only. It is the same object until `AT_ONCE` others have been read."""
    arrays = sorted(
        (path for path in folder.iterdir() if path.name != "value"), key=lambda path: int(path.name)
    )
    mapped = [np.memmap(path, mode="r") if path.stat().st_size else b"" for path in arrays]
    return pickle.loads((folder / "value").read_bytes(), buffers=mapped)  # noqa: S301 - written by our parent process
