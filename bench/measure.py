"""CPU and memory of a process together with the processes that it started."""

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
    living = sum(cpu_of(pid) for pid in _below(os.getpid()))
    return own.ru_utime + own.ru_stime + reaped.ru_utime + reaped.ru_stime + living


def peak_megabytes() -> float:
    """The most memory that this process and each living one below it have had resident, added up.

    Memory that processes share, such as the code of libraries, is divided among them as it is now; that of worker
    processes only when root measures. The peaks need not coincide, so this is an upper bound.
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


def cpu_of(pid: int) -> float:
    """User and system time of a process and of its reaped children; 0 when it has gone."""
    stat = _stat(pid)
    return sum(map(int, stat[11:15])) / _TICKS if stat else 0.0


def _peak(pid: int) -> float:
    try:
        peak = _kilobytes(pid, "status")["VmHWM"]
    except (OSError, KeyError):
        return 0.0
    try:
        now = _kilobytes(pid, "smaps_rollup")
        shared = now["Rss"] - now["Pss"]
    except OSError:  # worker processes show it to root alone
        shared = 0
    return (peak - shared) * 1024 / 1e6


def _kilobytes(pid: int, file: str) -> dict[str, int]:
    """The file's lines such as "VmHWM:  1234 kB"."""
    lines = (line.split() for line in (_PROC / str(pid) / file).read_text().splitlines())
    return {line[0].rstrip(":"): int(line[1]) for line in lines if line[-1:] == ["kB"]}
