"""Restrictions and limits of the current process: descriptors, privileges, hidden memory."""

import contextlib
import ctypes
import os
import struct
from collections.abc import Collection
from pathlib import Path

from core.sandbox.linux import LINUX, call, libc

_IS_DUMPABLE, _DUMPABLE = 3, 4
_CAPABILITIES_VERSION = 0x20080522
_READ_ANY, _WRITE_ANY = 0b0100, 0b1111
"""CAP_DAC_READ_SEARCH, and for writing CAP_CHOWN, CAP_DAC_OVERRIDE and CAP_FOWNER as well."""
_ARENAS_AT_MOST = -8
"""M_ARENA_MAX of glibc."""
_HIGHEST = 1024
"""The number of descriptors to close if the system does not list the open ones."""


def close_descriptors(keep: Collection[int] = ()) -> None:
    """Close all descriptors except the first three and `keep`.

    uvloop passes on every inheritable descriptor, and servers make their listening sockets inheritable.
    """
    if os.name == "nt":
        return  # Windows inherits none
    for numbers in map(Path, ("/proc/self/fd", "/dev/fd")):
        with contextlib.suppress(OSError):
            opened = [int(entry.name) for entry in numbers.iterdir()]
            break
    else:
        opened = list(range(_HIGHEST))
    for descriptor in opened:
        if descriptor > 2 and descriptor not in keep:
            with contextlib.suppress(OSError):  # the descriptor of the listing itself
                os.close(descriptor)


def hide_memory() -> None:
    """Hide memory and environment from the user's other processes. Core dumps are disabled too.

    Processes with CAP_SYS_PTRACE, such as debuggers that root starts, still can read it. Programs that this process
    starts are not hidden.

    Raises:
        OSError: when the system does not offer it.
    """
    call("prctl", _DUMPABLE, 0, 0, 0, 0)


def memory_is_hidden() -> bool:
    """Whether `hide_memory` is in force. Raises OSError when the system does not offer it."""
    return call("prctl", _IS_DUMPABLE, 0, 0, 0, 0) != 1


def limit_malloc_arenas() -> None:
    """Limit this process to two malloc arenas of glibc.

    The default is eight per core, and each arena keeps the memory that its threads once needed.
    """
    with contextlib.suppress(OSError):  # a C library without arenas
        call("mallopt", _ARENAS_AT_MOST, 2)


def return_free_memory() -> None:
    """Return freed memory to the system under glibc.

    By default glibc keeps memory below a block in use.
    """
    with contextlib.suppress(OSError):  # a C library without the function
        call("malloc_trim", 0)


def drop_capabilities(*, writes: bool) -> None:
    """Give up root's privileges, which containers usually have.

    Bypassing file permissions remains possible, since root may run files of another user. Other restrictions keep
    foreign files out of reach. `writes` keeps it for writing too.

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
    """Remove an environment variable.

    Under Linux its value is overwritten, since `/proc/PID/environ` would still show it.
    """
    if LINUX:
        _overwrite(os.fsencode(name) + b"=")
    os.environ.pop(name, None)


def _overwrite(prefix: bytes) -> None:
    """Overwrite environment values with zeros in place. `prefix` selects the entries."""
    entries = ctypes.POINTER(ctypes.c_void_p).in_dll(libc(), "environ")
    position = 0
    while address := entries[position]:
        entry = ctypes.string_at(address)
        if entry.startswith(prefix):
            ctypes.memset(address + len(prefix), 0, len(entry) - len(prefix))
        position += 1
