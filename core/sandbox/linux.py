"""Calls to the Linux kernel for which Python has no function, through the C library."""

import ctypes
import functools
import os
import sys

LINUX = sys.platform == "linux"


@functools.cache
def libc() -> ctypes.CDLL:
    """The C library of this process, which reports failures in errno."""
    return ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: int | ctypes.Array[ctypes.c_char] | None) -> int:
    """Call a function of the C library that reports failures in errno, such as `prctl`.

    Raises:
        OSError: what the kernel said, or ENOSYS where there is no such function.
    """
    function = getattr(libc(), name, None) if LINUX else None
    if function is None:
        raise OSError(38, f"this system has no {name}")
    # Variable arguments have no declared types: each is passed at the width of a register.
    passed = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
    result = int(function(*passed))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def system_call(number: int, *arguments: int | ctypes.Array[ctypes.c_char] | None) -> int:
    """A system call by its number. Raises OSError as above."""
    return call("syscall", number, *arguments)
