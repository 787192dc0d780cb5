"""A process's sign of life on a shared folder: a file that it holds locked for as long as it lives.

The system lets go of the lock however the process ends, so there is nothing to renew, no clock to trust and
no number that a later process could be given.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from importlib.util import find_spec
from pathlib import Path

SUFFIX = ".lease"

LOCKS = find_spec("fcntl") is not None
"""Where a system has no such locks, whoever left a file behind counts as alive."""


class ProcessLock:
    """Held from its making to `close`, or to the end of the process. `name` stands for the process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = secrets.token_hex(8)
        self._path = folder / f"{self.name}{SUFFIX}"
        # Locked before it has its name, so that nobody finds it unlocked.
        unnamed = folder / f"{self.name}.new"
        self._file = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        if LOCKS:
            import fcntl

            fcntl.flock(self._file, fcntl.LOCK_EX)
        unnamed.rename(self._path)

    def held(self, name: str) -> bool:
        """Whether the process of that name is alive."""
        return name == self.name or (name.isalnum() and _locked(self.folder / f"{name}{SUFFIX}"))

    def sweep(self) -> None:
        """Remove what dead processes left."""
        for path in self.folder.glob(f"*{SUFFIX}"):
            if path != self._path and not _locked(path):
                path.unlink(missing_ok=True)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._path.unlink()
        os.close(self._file)


def _locked(path: Path) -> bool:
    if not LOCKS:
        return path.exists()
    import fcntl

    try:
        file = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two who look at once see the same
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(file)
