"""Restrict which files may be opened, by Landlock.

Landlock is the Linux kernel's access control for processes without privileges.

The calls and structures are described in https://docs.kernel.org/userspace-api/landlock.html.
"""

import ctypes
import os
import struct
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from core.sandbox.linux import call, system_call

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""The numbers of the system calls, which are the same on all architectures."""
_VERSION = 1
"""A flag of the first call that requests the version of the interface."""
_BENEATH = 1
_NO_NEW_PRIVILEGES = 38

_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEVICE = 1 << 14, 1 << 15
_FILE_RIGHTS = 0b111 | _TRUNCATE | _IOCTL_DEVICE
"""Rights to files. The other rights apply to folders."""
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""All rights to files, by the version that introduced the last of them."""
_TCP = 0b11
_SCOPES = 0b11
"""Abstract Unix sockets and signals of processes outside."""


def version() -> int:
    """Return the version of the kernel's interface.

    Raises:
        OSError: when the kernel does not offer Landlock.
    """
    return system_call(_CREATE_RULESET, None, 0, _VERSION)


def restrict(readable: Iterable[Path], writable: Iterable[Path] = ()) -> int:
    """Restrict this thread to these files and folders, permanently.

    Later threads and programs of this thread are restricted too. Returns the interface's version.

    TCP, and signals to other processes, are denied if the version supports it. Missing paths are skipped.

    Raises:
        OSError: when the kernel does not offer Landlock. Nothing is restricted then.
    """
    offered = version()
    rights = _RIGHTS[max(version for version in _RIGHTS if version <= offered)]
    fields = (rights, *((_TCP,) if offered >= 4 else ()), *((_SCOPES,) if offered >= 6 else ()))
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    ruleset = system_call(
        _CREATE_RULESET, ctypes.create_string_buffer(attributes, len(attributes)), len(attributes), 0
    )
    try:
        for path in readable:
            _allow(ruleset, path, (_READ_FILE | _READ_DIR) & rights)
        for path in writable:
            _allow(ruleset, path, rights)
        call("prctl", _NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        system_call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return offered


def _allow(ruleset: int, path: Path, rights: int) -> None:
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            granted = rights if path.is_dir() else rights & _FILE_RIGHTS
            rule = ctypes.create_string_buffer(struct.pack("=Qi", granted, descriptor), 12)
            system_call(_ADD_RULE, ruleset, _BENEATH, rule, 0)
        finally:
            os.close(descriptor)
