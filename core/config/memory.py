"""How much memory the machine, or the container, has, and how much of it each part may use."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_UNKNOWN = 4_000_000_000
"""Bytes to assume if the system does not report them."""
WORKER_BOUNDS = 200, 1_000
"""Megabytes of address space of a worker: at least what an ordinary page needs, at most what any document may."""
_SESSION_FILES = 500_000_000
"""Bytes; texts and vectors of more would make searching them slow."""


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """The limits of one process and its workers."""

    workers: int
    """Worker processes that read documents."""
    worker_megabytes: int
    """The address space of each."""
    files: int
    """Bytes that the files of all sessions of the HTTP API may take, and as many those uploaded on the pages."""


def memory_budget(megabytes: int, workers: int, machine: int | None = None) -> MemoryBudget:
    """Share out memory: three quarters to at most `workers` workers, the rest to users' files.

    Args:
        megabytes: the memory of all together, or 0 for half of the machine's. The other half is for models, caches,
            the embedded library and other programs.
        workers: the most workers. Fewer are started if each would have too little.
        machine: bytes of memory of the machine, by default `machine_memory()`.
    """
    total = megabytes * 1_000_000 or (machine_memory() if machine is None else machine) // 2
    least, most = WORKER_BOUNDS
    share = total * 3 // 4 >> 20
    count = max(1, min(workers, share // least))
    return MemoryBudget(
        workers=count,
        worker_megabytes=min(most, max(least, share // count)),
        files=min(_SESSION_FILES, total // 8),
    )


def machine_memory(root: Path = Path("/")) -> int:
    """Return the bytes of memory that this process may use. Control groups may limit it.

    `root` is the folder of `proc` and `sys`.
    """
    try:
        installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows
        installed = _UNKNOWN
    return min((installed, *_control_group_limits(root)))


def _control_group_limits(root: Path) -> Iterator[int]:
    """The limits of this process's control groups and of those above them, of both versions of the interface."""
    groups = root / "sys/fs/cgroup"
    with suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            number, _, rest = line.partition(":")
            controllers, _, path = rest.partition(":")
            if number == "0":
                top, name = groups, "memory.max"
            elif "memory" in controllers.split(","):
                top, name = groups / "memory", "memory.limit_in_bytes"
            else:
                continue
            # In a container the path may be the host's, of which only the top is mounted.
            own = top / path.lstrip("/")
            for folder in (own, *own.parents):
                if folder.is_relative_to(top):
                    with suppress(OSError, ValueError):  # none, or "max"
                        yield int((folder / name).read_text(encoding="utf-8"))
