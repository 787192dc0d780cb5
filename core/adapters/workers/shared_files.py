"""Values in files, for processes of one machine. Arrays are memory-mapped, so that all processes share one copy.

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
"""The number of values that a process keeps: the current settings' and the next way of chunking."""


@dataclass(frozen=True, slots=True)
class StoredValue:
    """The replacement of a shared value in a job."""

    folder: Path


class SharedFolder:
    """A folder for temporary files, locked until its process ends in any way.

    Creating one deletes folders that ended processes of this user have left.
    """

    def __init__(self) -> None:
        """Create and lock the folder. Raises `OSError` on failure."""
        remove_abandoned()
        draft = Path(tempfile.mkdtemp(prefix=_UNLOCKED_PREFIX))
        # Locked before it is renamed, so that no other process sees it unlocked.
        self._lock = _locked(draft)
        self.path = draft.rename(draft.with_name(draft.name.replace(_UNLOCKED_PREFIX, _PREFIX, 1)))

    def close(self) -> None:
        """Delete the folder."""
        rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)


def remove_abandoned() -> None:
    """Delete the folders of this user's ended processes."""
    if not LOCKS:
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # another process is quicker
            if folder.lstat().st_uid == os.getuid() and (lock := _locked(folder)) is not None:
                rmtree(folder, ignore_errors=True)
                os.close(lock)


def _locked(folder: Path) -> int | None:
    """Lock a folder and return the descriptor, or None.

    None means that another process holds the lock, or that the system has no locks. Raises `OSError` if it is no
    folder.
    """
    return locked(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW) if LOCKS else None


def write_value(folder: Path, value: Any) -> None:
    """Write a value into a new folder. Nobody else may write there, because reading a pickle can run code."""
    folder.mkdir(mode=0o700)
    arrays: list[pickle.PickleBuffer] = []
    (folder / "value").write_bytes(pickle.dumps(value, protocol=5, buffer_callback=arrays.append))
    for number, array in enumerate(arrays):
        (folder / str(number)).write_bytes(array.raw())


@lru_cache(maxsize=AT_ONCE)
def read_value(folder: Path) -> Any:
    """Read a value, with read-only arrays. It is the same object until `AT_ONCE` others have been read."""
    arrays = sorted(
        (path for path in folder.iterdir() if path.name != "value"), key=lambda path: int(path.name)
    )
    mapped = [np.memmap(path, mode="r") if path.stat().st_size else b"" for path in arrays]
    return pickle.loads((folder / "value").read_bytes(), buffers=mapped)  # noqa: S301 - written by our parent process
