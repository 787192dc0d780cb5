"""CPU and memory of a process together with the processes that it started."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")


def cpu_seconds() -> float:
    """User and system time of this process and of all below it, living and reaped.

    Living children are counted in the kernel's ticks, usually 10 ms; where there is no /proc, not at all
    until they are reaped.
    """
    own = resource.getrusage(resource.RUSAGE_SELF)
    reaped = resource.getrusage(resource.RUSAGE_CHILDREN)
    living = sum(_cpu(pid) for pid in _below(os.getpid()))
    return own.ru_utime + own.ru_stime + reaped.ru_utime + reaped.ru_stime + living


def peak_megabytes() -> float:
    """The most memory that this process has had resident, plus the same of each living process below it.

    An upper bound: pages that they share are counted in each, and the peaks need not coincide.
    """
    # Not from getrusage: its peak is inherited from the process that started this one.
    return sum(_peak(pid) for pid in (os.getpid(), *_below(os.getpid())))


def _below(pid: int) -> Iterator[int]:
    """Process numbers of the children, their children and so on."""
    parents: dict[int, list[int]] = {}
    for entry in _PROC.glob("[0-9]*"):
        if stat := _stat(int(entry.name)):
            parents.setdefault(int(stat[1]), []).append(int(entry.name))
    waiting = [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        yield from children
        waiting += children


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on; empty when the process has gone."""
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _cpu(pid: int) -> float:
    stat = _stat(pid)
    return sum(map(int, stat[11:15])) / _TICKS if stat else 0.0


def _peak(pid: int) -> float:
    try:
        status = (_PROC / str(pid) / "status").read_text()
    except OSError:
        return 0.0
    lines = (line.split() for line in status.splitlines())
    return next((int(line[1]) * 1024 / 1e6 for line in lines if line and line[0] == "VmHWM:"), 0.0)
