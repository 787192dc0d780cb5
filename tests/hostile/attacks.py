"""What a parser that was taken over tries: Python that runs inside a worker, and must be refused each time."""

from __future__ import annotations

from dataclasses import dataclass

LANDLOCK, SECCOMP = "(Landlock)", "(seccomp)"


@dataclass(frozen=True, kw_only=True)
class Attack:
    """`code` sets `found` to what it got hold of, or raises. `{folder}` and `{port}` are the victim's."""

    name: str
    code: str
    needs: str = ""
    """The protection that refuses it, by its words; empty where every system with processes does."""
    everywhere: bool = False
    """Whether it is refused by some systems even to a process that nothing confines."""


ATTACKS = (
    Attack(
        name="accept a user's connection on the server's socket",
        code="""
import os, socket, stat
for number in range(64):
    try:
        is_socket = stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError:
        continue
    if is_socket:
        listening = socket.socket(fileno=number)
        if not listening.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            listening.detach()  # one of the worker's own pipes
            continue
        listening.settimeout(5)
        found = listening.accept()[0].recv(200).decode()
        break
else:
    raise PermissionError("no listening socket was inherited")
""",
    ),
    Attack(
        name="read keys from its own environment",
        code="""
import os
found = os.environ.get("OPENAI_API_KEY")
if not found:
    raise PermissionError("the variable is not there")
""",
    ),
    Attack(
        name="read keys from the server's environment",
        code="""
import os
found = [one for one in open(f"/proc/{os.getppid()}/environ").read().split("\\0") if "KEY" in one and one[-1] != "="]
if not found:
    raise PermissionError("the values were erased")
""",
    ),
    Attack(
        name="read the server's memory",
        code="""
import os
parent = os.getppid()
first = int(open(f"/proc/{parent}/maps").readline().split("-")[0], 16)
with open(f"/proc/{parent}/mem", "rb") as memory:
    memory.seek(first)
    found = len(memory.read(4096))
""",
        everywhere=True,
    ),
    Attack(
        name="attach to the server as a debugger",
        code="""
import ctypes, os
if ctypes.CDLL(None, use_errno=True).ptrace(0x4206, ctypes.c_long(os.getppid()), None, None) < 0:
    raise OSError(ctypes.get_errno(), "refused")
found = "attached"
""",
        everywhere=True,
    ),
    Attack(
        name="read a key of SSH", code='found = open("{folder}/home/.ssh/id_ed25519").read()', needs=LANDLOCK
    ),
    Attack(
        name="read the runs of others",
        code='found = open("{folder}/data/runs.sqlite", "rb").read()',
        needs=LANDLOCK,
    ),
    Attack(
        name="list the data folder", code='import os; found = os.listdir("{folder}/data")', needs=LANDLOCK
    ),
    Attack(
        name="read settings beside the program",
        code='import core; found = open(core.__path__[0] + "/../pyproject.toml").read()',
        needs=LANDLOCK,
    ),
    Attack(
        name="read the accounts of the machine", code='found = open("/etc/passwd").read()', needs=LANDLOCK
    ),
    Attack(
        name="write a file",
        code='import os; found = os.open("{folder}/new", os.O_WRONLY | os.O_CREAT)',
        needs=SECCOMP,
    ),
    Attack(
        name="change a file",
        code='import os; found = os.truncate("{folder}/data/notes.txt", 1)',
        needs=SECCOMP,
    ),
    Attack(
        name="make a file readable for everybody",
        code='import os; found = os.chmod("{folder}/data/notes.txt", 0o666)',
        needs=SECCOMP,
    ),
    Attack(
        name="delete a file", code='import os; found = os.unlink("{folder}/data/notes.txt")', needs=SECCOMP
    ),
    Attack(
        name="connect to a server on this machine",
        code='import socket; found = socket.create_connection(("127.0.0.1", {port}), 5)',
        needs=SECCOMP,
    ),
    Attack(
        name="send a datagram",
        code='import socket; found = socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9))',
        needs=SECCOMP,
    ),
    Attack(
        name="listen for connections",
        code='import socket; found = socket.create_server(("127.0.0.1", 0))',
        needs=SECCOMP,
    ),
    Attack(
        name="start a program",
        code='import subprocess, sys; found = subprocess.run([sys.executable, "-c", ""])',
        needs=SECCOMP,
    ),
    Attack(
        name="become another process",
        code="""
import os
child = os.fork()
if not child:
    os._exit(0)
os.waitpid(child, 0)
found = "forked"
""",
        needs=SECCOMP,
    ),
    Attack(
        name="send the server a signal", code="import os; found = os.kill(os.getppid(), 0)", needs=SECCOMP
    ),
    *(
        Attack(
            name=f"send the server a signal ({name})",
            code=f"""
import ctypes, os
if ctypes.CDLL(None, use_errno=True).syscall({call}) < 0:
    raise OSError(ctypes.get_errno(), "refused")
found = "it can be sent"
""",
            needs=SECCOMP,
        )
        for name, call in (
            ("tkill", "200 if os.uname().machine == 'x86_64' else 130, os.getppid(), 0"),
            ("tgkill", "234 if os.uname().machine == 'x86_64' else 131, os.getppid(), os.getppid(), 0"),
            ("pidfd", "424, os.pidfd_open(os.getppid()), 0, None, 0"),
        )
    ),
    *(
        Attack(
            name=f"have the kernel send the server a signal ({name})",
            code=f"""
import fcntl, os, signal, struct
reading, writing = os.pipe()
{owner}
fcntl.fcntl(reading, fcntl.F_SETSIG, signal.SIGWINCH)  # one that changes nothing
fcntl.fcntl(reading, fcntl.F_SETFL, fcntl.fcntl(reading, fcntl.F_GETFL) | os.O_ASYNC)
os.write(writing, b"x")
found = fcntl.fcntl(reading, fcntl.F_GETOWN) == os.getppid()
""",
            needs=SECCOMP,
        )
        for name, owner in (
            ("F_SETOWN", "fcntl.fcntl(reading, fcntl.F_SETOWN, os.getppid())"),
            ("F_SETOWN_EX", 'fcntl.fcntl(reading, 15, struct.pack("ii", 1, os.getppid()))'),
        )
    ),
    *(
        Attack(
            name=f"{aim} ({name})",
            code=f"""
import fcntl, os
pipe = os.pipe()[0]
try:
    found = {call}
except OSError as error:
    if error.errno != 25:  # the kernel was asked, and has no such command for pipes
        raise
    found = "not for pipes"
""",
            needs=SECCOMP,
        )
        for aim, name, call in (
            ("choose who gets signals", "F_SETSIG", "fcntl.fcntl(pipe, 10, 9)"),
            ("choose who gets signals", "O_ASYNC", "fcntl.fcntl(pipe, fcntl.F_SETFL, os.O_ASYNC)"),
            ("choose who gets signals", "FIOASYNC", 'fcntl.ioctl(pipe, 0x5452, b"\\1\\0\\0\\0")'),
            ("choose who gets signals", "FIOSETOWN", "fcntl.ioctl(pipe, 0x8901, b'1234')"),
            ("choose who gets signals", "SIOCSPGRP", "fcntl.ioctl(pipe, 0x8902, b'1234')"),
            ("type into a terminal", "TIOCSTI", 'fcntl.ioctl(pipe, 0x5412, b"x")'),
        )
    ),
    Attack(
        name="watch the files of others (inotify)",
        code="""
import ctypes, os
library = ctypes.CDLL(None, use_errno=True)
if library.inotify_add_watch(library.inotify_init(), os.fsencode("{folder}/data"), 0xFFF) < 0:
    raise OSError(ctypes.get_errno(), "refused")
found = "a watch"
""",
        needs=SECCOMP,
    ),
    Attack(
        name="watch the files of others (fanotify)",
        code="""
import ctypes
if ctypes.CDLL(None, use_errno=True).fanotify_init(0x200, 0) < 0:
    raise OSError(ctypes.get_errno(), "refused")
found = "a watch"
""",
        needs=SECCOMP,
        everywhere=True,
    ),
    Attack(
        name="watch the files of others (F_NOTIFY)",
        code='import fcntl, os; found = fcntl.fcntl(os.open("{folder}/data", os.O_RDONLY), fcntl.F_NOTIFY, 0x3F)',
        needs=SECCOMP,
    ),
    *(
        Attack(
            name=f"lock others out of their files ({name})",
            code=f'import fcntl; found = fcntl.{name}(open("{{folder}}/data/runs.sqlite", "rb"), fcntl.LOCK_SH)',
            needs=SECCOMP,
        )
        for name in ("flock", "lockf")
    ),
    Attack(
        name="submit requests to the kernel past the filter (io_uring)",
        code="""
import ctypes
if ctypes.CDLL(None, use_errno=True).syscall(425, 1, ctypes.create_string_buffer(120)) < 0:
    raise OSError(ctypes.get_errno(), "refused")
found = "a ring"
""",
        needs=SECCOMP,
        everywhere=True,
    ),
    Attack(
        name="lift its own limit of memory",
        code="""
import resource
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
found = len(bytearray(1 << 31))
""",
    ),
)
