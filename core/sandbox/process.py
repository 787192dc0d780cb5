"""What a process can give up by itself: inherited descriptors, privileges, being read by others, memory and priority."""

import contextlib
import ctypes
import os
import struct
import threading
from collections.abc import Collection
from pathlib import Path

from core.sandbox.linux import LINUX, call, libc

_IS_DUMPABLE, _DUMPABLE = 3, 4
_CAPABILITIES_VERSION = 0x20080522
_READ_ANY, _WRITE_ANY = 0b0100, 0b1111
"""CAP_DAC_READ_SEARCH; and besides it CAP_CHOWN, CAP_DAC_OVERRIDE and CAP_FOWNER."""
_ARENAS_AT_MOST = -8
"""glibc's M_ARENA_MAX."""
NICENESS = 5
"""How much reading and embedding give way to pages: to a third of the CPU of a thread that they compete with."""
_HIGHEST = 1024
"""Descriptors that are closed where the system does not list the open ones."""


def close_descriptors(keep: Collection[int] = ()) -> None:
    """Close all descriptors but standard input, output, error and those to `keep`.

    uvloop passes on every descriptor that is marked as inheritable, and servers mark their listening sockets so.
    """
    if os.name == "nt":
        return  # none are inherited there
    for numbers in map(Path, ("/proc/self/fd", "/dev/fd")):
        with contextlib.suppress(OSError):
            opened = [int(entry.name) for entry in numbers.iterdir()]
            break
    else:
        opened = list(range(_HIGHEST))
    for descriptor in opened:
        if descriptor > 2 and descriptor not in keep:
            with contextlib.suppress(OSError):  # that of the listing itself
                os.close(descriptor)


def hide_memory() -> None:
    """Let no other process of this user read this one's memory or environment; it leaves no core dumps either.

    Processes with CAP_SYS_PTRACE, such as debuggers that root starts, still can. It does not pass to programs
    that this process starts.

    Raises:
        OSError: when the system does not offer it.
    """
    call("prctl", _DUMPABLE, 0, 0, 0, 0)


def memory_is_hidden() -> bool:
    """Whether `hide_memory` is in force. Raises OSError when the system does not offer it."""
    return call("prctl", _IS_DUMPABLE, 0, 0, 0, 0) != 1


def share_arenas() -> None:
    """Let the threads of this process allocate from two arenas of the C library where it is glibc.

    By default there are eight for each core, and each keeps what a thread needed once.
    """
    with contextlib.suppress(OSError):  # a C library without arenas
        call("mallopt", _ARENAS_AT_MOST, 2)


def lower_priority(niceness: int = NICENESS) -> None:
    """Add to the niceness of this process, if the system has one. Call it before threads start."""
    if hasattr(os, "nice"):
        os.nice(niceness)


def lower_thread_priority(niceness: int = NICENESS) -> None:
    """Add to the niceness of this thread alone, under Linux. Elsewhere a process has one for all of its threads."""
    if LINUX:
        thread = threading.get_native_id()
        with contextlib.suppress(OSError):  # a sandbox around this process may forbid it
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + niceness)


def return_free_memory() -> None:
    """Return freed memory to the system if the C library is glibc.

    By itself glibc keeps what lies below a block in use.
    """
    with contextlib.suppress(OSError):  # a C library without the function
        call("malloc_trim", 0)


def drop_capabilities(*, writes: bool) -> None:
    """Give up the privileges of root, which a container's first process usually has.

    What remains is passing by the permissions of files, since root may run what belongs to another user; those of
    others are out of reach by other means. `writes` keeps it for writing too.

    Raises:
        OSError: when the system does not offer it.
    """
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITIES_VERSION, 0), 8)
    current = ctypes.create_string_buffer(24)
    call("capget", header, current)
    keep = _WRITE_ANY if writes else _READ_ANY
    effective, permitted = (value & keep for value in struct.unpack("=6I", current.raw)[:2])
    call(
        "capset",
        header,
        ctypes.create_string_buffer(struct.pack("=6I", effective, permitted, 0, 0, 0, 0), 24),
    )


def erase_variable(name: str) -> None:
    """Remove an environment variable; under Linux, overwrite its value too, which `/proc/PID/environ` shows otherwise."""
    if LINUX:
        _overwrite(os.fsencode(name) + b"=")
    os.environ.pop(name, None)


def _overwrite(prefix: bytes) -> None:
    """Fill the entries of the environment that begin so with zeros, where they lie."""
    entries = ctypes.POINTER(ctypes.c_void_p).in_dll(libc(), "environ")
    position = 0
    while address := entries[position]:
        entry = ctypes.string_at(address)
        if entry.startswith(prefix):
            ctypes.memset(address + len(prefix), 0, len(entry) - len(prefix))
        position += 1
