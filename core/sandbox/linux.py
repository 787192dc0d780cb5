"""Call Linux kernel functions that Python lacks, through the C library."""

import ctypes
import functools
import os
import sys

LINUX = sys.platform == "linux"


@functools.cache
def libc() -> ctypes.CDLL:
    """Return the C library, which reports failures in errno."""
    return ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: int | ctypes.Array[ctypes.c_char] | None) -> int:
    """Call a function of the C library, such as `prctl`. Failures are read from errno.

    Raises:
        OSError: the kernel's error, or ENOSYS if the function is missing.
    """
    function = getattr(libc(), name, None) if LINUX else None
    if function is None:
        raise OSError(38, f"this system has no {name}")
    # Variable arguments have no declared types, so each is passed at the width of a register.
    passed = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
    result = int(function(*passed))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def system_call(number: int, *arguments: int | ctypes.Array[ctypes.c_char] | None) -> int:
    """Make a system call by number. Raises the errors of `call`."""
    return call("syscall", number, *arguments)
