"""Filter system calls (seccomp): no network, programs, processes, signals or changes to files.

A filter is a program for the kernel's classic packet filter, see
https://docs.kernel.org/userspace-api/seccomp_filter.html. Unnamed calls stay allowed, because C libraries differ in the
calls that an interpreter needs. Calls that are newer than this list are denied.
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Sequence

from core.sandbox.linux import call

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""The column of the tables below and the kernel's id of the architecture, by machine."""

_DENIED = {
    # the network
    "socket": (41, 198), "socketpair": (53, 199), "connect": (42, 203), "accept": (43, 202),
    "accept4": (288, 242), "bind": (49, 200), "listen": (50, 201), "sendto": (44, 206),
    "sendmsg": (46, 211), "sendmmsg": (307, 269), "recvfrom": (45, 207), "recvmsg": (47, 212),
    "recvmmsg": (299, 243),
    # other programs and processes
    "execve": (59, 221), "execveat": (322, 281), "fork": (57, None), "vfork": (58, None),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "kcmp": (312, 272), "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "setpriority": (141, 140),
    "ioprio_set": (251, 30), "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274), "migrate_pages": (256, 238),
    "move_pages": (279, 239), "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195),
    "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187),
    "semget": (64, 190), "semop": (65, 193), "semctl": (66, 191), "semtimedop": (220, 192),
    "mq_open": (240, 180),
    # observing files of others
    "inotify_init": (253, None), "inotify_init1": (294, 26), "inotify_add_watch": (254, 27),
    "fanotify_init": (300, 262), "fanotify_mark": (301, 263),
    # parts of the kernel that parsers do not need
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41), "chroot": (161, 51), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "personality": (135, 92), "syslog": (103, 116),
    "vhangup": (153, 58),
}  # fmt: skip
"""System calls with their numbers by architecture. None if it lacks the call."""

_DENIED_WRITES = {
    "creat": (85, None), "truncate": (76, 45), "mkdir": (83, None), "mkdirat": (258, 34),
    "rmdir": (84, None), "unlink": (87, None), "unlinkat": (263, 35), "rename": (82, None),
    "renameat": (264, 38), "renameat2": (316, 276), "link": (86, None), "linkat": (265, 37),
    "symlink": (88, None), "symlinkat": (266, 36), "mknod": (133, None), "mknodat": (259, 33),
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "chown": (92, None),
    "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54), "utime": (132, None),
    "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88), "setxattr": (188, 5),
    "lsetxattr": (189, 6), "fsetxattr": (190, 7), "removexattr": (197, 14), "lremovexattr": (198, 15),
    "fremovexattr": (199, 16), "flock": (73, 32),
}  # fmt: skip
"""System calls that change files, or lock them against changes by others. Same form."""

_OPEN, _OPENAT, _CLONE, _PRLIMIT = (2, None), (257, 56), (56, 220), (302, 261)
_FCNTL, _IOCTL = (72, 25), (16, 29)
_DESCRIPTOR_COMMANDS = (0, 1, 2, 3, 4, 1030)
"""Commands allowed for fcntl: duplicate a descriptor, and read and set its flags.

F_SETOWN and its variants let the kernel send signals to any process in spite of the denied calls. F_NOTIFY watches
folders.
"""
_LOCK_COMMANDS = (5, 6, 7, 36, 37, 38)
_SET_FLAGS, _SIGNALS_ITS_OWNER = 4, 0x2000
"""F_SETFL and O_ASYNC. The kernel would signal a terminal's owner, the processes in its foreground."""
_DEVICE_COMMANDS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x802C542A)
"""Commands allowed for ioctl: terminal state and size, readable bytes, blocking and close-on-exec.

FIOSETOWN and SIOCSPGRP equal F_SETOWN, and TIOCSTI types into a terminal.
"""
_FIRST_COMMON = 424
"""The first number of calls that are numbered equally on all architectures."""
_COMMON_ALLOWED = (436, 439, 441, 444, 445, 446, 449, 451, 453, 454, 455, 456, 462)
"""The allowed calls from this number on.

They are close_range, faccessat2, epoll_pwait2, Landlock, cachestat, map_shadow_stack, futexes and mseal.
"""
_CLONE_THREAD = 0x10000
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | getattr(os, "O_TMPFILE", 0) & ~os.O_DIRECTORY

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""Offsets in a filter's view of a call."""
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_SET_SECCOMP, _NO_NEW_PRIVILEGES, _FILTER = 22, 38, 2


def restrict(*, writes: bool = False) -> None:
    """Deny the listed calls to this thread and its later threads. Cannot be undone.

    `writes` permits opening and changing files, for a process with a writable folder.

    Raises:
        OSError: when the kernel has no filters, or this machine is not supported. Nothing is denied then.
    """
    if platform.machine() not in _ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"there is no filter for {platform.machine()}")
    column, architecture = _ARCHITECTURES[platform.machine()]
    instructions = _program(column, architecture, writes)
    body = ctypes.create_string_buffer(b"".join(instructions))
    # struct sock_fprog: number of instructions, padding, their address.
    program = struct.pack("=H6xQ", len(instructions), ctypes.addressof(body))
    call("prctl", _NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    call("prctl", _SET_SECCOMP, _FILTER, ctypes.create_string_buffer(program, len(program)), 0, 0)


def _program(column: int, architecture: int, writes: bool) -> list[bytes]:
    denied = [*_DENIED.values(), *(() if writes else _DENIED_WRITES.values())]
    program = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, architecture, yes=1),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
    ]
    for numbers in denied:
        if (number := numbers[column]) is not None:
            program += [_step(_EQUAL, number, no=1), _step(_RETURN, _ERROR | errno.EPERM)]
    program += _unless(_CLONE[column], 0, _step(_ANY_BIT, _CLONE_THREAD, yes=1))  # threads are no processes
    program += _unless(_PRLIMIT[column], 0, _step(_EQUAL, 0, yes=1))  # only limits of this process
    program += _among(_FCNTL[column], (*_DESCRIPTOR_COMMANDS, *(_LOCK_COMMANDS if writes else ())))
    program += [
        _step(_EQUAL, _FCNTL[column], no=6),
        _step(_LOAD, _argument(1)),
        _step(_EQUAL, _SET_FLAGS, no=3),
        _step(_LOAD, _argument(2)),
        _step(_ANY_BIT, _SIGNALS_ITS_OWNER, no=1),
        _step(_RETURN, _ERROR | errno.EPERM),
        _step(_LOAD, _NUMBER),
    ]
    program += _among(_IOCTL[column], _DEVICE_COMMANDS)
    if not writes:
        for position, opening in ((1, _OPEN), (2, _OPENAT)):
            program += _unless(opening[column], position, _step(_ANY_BIT, _WRITING, no=1))
    program.append(_step(_AT_LEAST, _FIRST_COMMON, no=2 * len(_COMMON_ALLOWED) + 1))
    for number in _COMMON_ALLOWED:
        program += [_step(_EQUAL, number, no=1), _step(_RETURN, _ALLOW)]
    # ENOSYS and not EPERM, so that C libraries use the older call, whose arguments a filter can check.
    program += [_step(_RETURN, _ERROR | errno.ENOSYS), _step(_RETURN, _ALLOW)]
    return program


def _unless(number: int | None, position: int, test: bytes) -> list[bytes]:
    """Deny a call, unless `test` of an argument skips an instruction."""
    if number is None:
        return []
    return [
        _step(_EQUAL, number, no=4),
        _step(_LOAD, _argument(position)),
        test,
        _step(_RETURN, _ERROR | errno.EPERM),
        _step(_LOAD, _NUMBER),
    ]


def _among(number: int, allowed: Sequence[int]) -> list[bytes]:
    """Deny a call, unless its command, the second argument, is allowed."""
    return [
        _step(_EQUAL, number, no=len(allowed) + 3),
        _step(_LOAD, _argument(1)),
        *(_step(_EQUAL, value, yes=len(allowed) - index) for index, value in enumerate(allowed)),
        _step(_RETURN, _ERROR | errno.EPERM),
        _step(_LOAD, _NUMBER),
    ]


def _argument(position: int) -> int:
    """Return the offset of an argument's lower half. Both architectures are little-endian."""
    return _ARGUMENTS + 8 * position


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    """Encode one instruction. `yes` and `no` are the numbers of instructions to skip."""
    return struct.pack("=HBBI", code, yes, no, value)
