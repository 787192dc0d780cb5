"""Process liveness on a shared folder. Each process holds a lock on its own file.

The operating system releases the lock at any kind of exit, so no renewal, clock or process number is needed.
"""

import contextlib
import os
import secrets
from importlib.util import find_spec
from pathlib import Path

SUFFIX = ".lease"

LOCKS = find_spec("fcntl") is not None
"""Whether the system has such locks. Without locks, every process that left a file counts as alive."""


class ProcessLock:
    """A lock file held until `close` or the end of the process. `name` identifies the process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = secrets.token_hex(8)
        self._path = folder / f"{self.name}{SUFFIX}"
        # Lock the file before naming it, so that no other process sees it unlocked.
        unnamed = folder / f"{self.name}.new"
        self._file = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        if LOCKS:
            import fcntl

            fcntl.flock(self._file, fcntl.LOCK_EX)
        unnamed.rename(self._path)

    def is_alive(self, name: str) -> bool:
        """Whether the process with this name is running."""
        return name == self.name or (name.isalnum() and _is_held(self.folder / f"{name}{SUFFIX}"))

    def sweep(self) -> None:
        """Delete the files of ended processes."""
        for path in self.folder.glob(f"*{SUFFIX}"):
            if path != self._path and not _is_held(path):
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Release the lock and delete the file."""
        with contextlib.suppress(OSError):
            self._path.unlink()
        os.close(self._file)


def lock_file(descriptor: int, *, shared: bool = False) -> bool:
    """Lock an open file until it is closed. Returns False if another process has it locked.

    On a system without such locks it always returns True.
    """
    if not LOCKS:
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def locked(path: Path, flags: int = os.O_RDWR, *, shared: bool = False) -> int | None:
    """Open and lock a file until its descriptor is closed. Returns None if another process has it locked.

    Raises:
        OSError: when the file cannot be opened with these flags.
    """
    file = os.open(path, flags, 0o600)
    if not lock_file(file, shared=shared):
        os.close(file)
        return None
    return file


def is_locked(path: Path) -> bool:
    """Whether a process has the file locked. False if the file is missing."""
    try:
        file = locked(path, os.O_RDONLY, shared=True)  # two checks may run at once
    except FileNotFoundError:
        return False
    if file is not None:
        os.close(file)
    return file is None


def _is_held(path: Path) -> bool:
    return is_locked(path) if LOCKS else path.exists()
