"""What a parser that was taken over tries: Python that runs inside a worker, and must be refused each time."""

from dataclasses import dataclass

LANDLOCK, SECCOMP = "(Landlock)", "(seccomp)"


@dataclass(frozen=True)
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
        "accept a user's connection on the server's socket",
        """
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
        "read keys from its own environment",
        """
import os
found = os.environ.get("OPENAI_API_KEY")
if not found:
    raise PermissionError("the variable is not there")
""",
    ),
    Attack(
        "read keys from the server's environment",
        """
import os
found = [one for one in open(f"/proc/{os.getppid()}/environ").read().split("\\0") if "KEY" in one and one[-1] != "="]
if not found:
    raise PermissionError("the values were erased")
""",
    ),
    Attack(
        "read the server's memory",
        """
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
        "attach to the server as a debugger",
        """
import ctypes, os
if ctypes.CDLL(None, use_errno=True).ptrace(0x4206, ctypes.c_long(os.getppid()), None, None) < 0:
    raise OSError(ctypes.get_errno(), "refused")
found = "attached"
""",
        everywhere=True,
    ),
    Attack("read a key of SSH", 'found = open("{folder}/home/.ssh/id_ed25519").read()', LANDLOCK),
    Attack("read the runs of others", 'found = open("{folder}/data/runs.sqlite", "rb").read()', LANDLOCK),
    Attack("list the data folder", 'import os; found = os.listdir("{folder}/data")', LANDLOCK),
    Attack(
        "read settings beside the program",
        'import core; found = open(core.__path__[0] + "/../pyproject.toml").read()',
        LANDLOCK,
    ),
    Attack("read the accounts of the machine", 'found = open("/etc/passwd").read()', LANDLOCK),
    Attack("write a file", 'import os; found = os.open("{folder}/new", os.O_WRONLY | os.O_CREAT)', SECCOMP),
    Attack("change a file", 'import os; found = os.truncate("{folder}/data/notes.txt", 1)', SECCOMP),
    Attack(
        "make a file readable for everybody",
        'import os; found = os.chmod("{folder}/data/notes.txt", 0o666)',
        SECCOMP,
    ),
    Attack("delete a file", 'import os; found = os.unlink("{folder}/data/notes.txt")', SECCOMP),
    Attack(
        "connect to a server on this machine",
        'import socket; found = socket.create_connection(("127.0.0.1", {port}), 5)',
        SECCOMP,
    ),
    Attack(
        "send a datagram",
        'import socket; found = socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9))',
        SECCOMP,
    ),
    Attack(
        "listen for connections", 'import socket; found = socket.create_server(("127.0.0.1", 0))', SECCOMP
    ),
    Attack(
        "start a program",
        'import subprocess, sys; found = subprocess.run([sys.executable, "-c", ""])',
        SECCOMP,
    ),
    Attack(
        "become another process",
        """
import os
child = os.fork()
if not child:
    os._exit(0)
os.waitpid(child, 0)
found = "forked"
""",
        SECCOMP,
    ),
    Attack("send the server a signal", "import os; found = os.kill(os.getppid(), 0)", SECCOMP),
    *(
        Attack(
            f"send the server a signal ({name})",
            f"""
import ctypes, os
if ctypes.CDLL(None, use_errno=True).syscall({call}) < 0:
    raise OSError(ctypes.get_errno(), "refused")
found = "it can be sent"
""",
            SECCOMP,
        )
        for name, call in (
            ("tkill", "200 if os.uname().machine == 'x86_64' else 130, os.getppid(), 0"),
            ("tgkill", "234 if os.uname().machine == 'x86_64' else 131, os.getppid(), os.getppid(), 0"),
            ("pidfd", "424, os.pidfd_open(os.getppid()), 0, None, 0"),
        )
    ),
    *(
        Attack(
            f"have the kernel send the server a signal ({name})",
            f"""
import fcntl, os, signal, struct
reading, writing = os.pipe()
{owner}
fcntl.fcntl(reading, fcntl.F_SETSIG, signal.SIGWINCH)  # one that changes nothing
fcntl.fcntl(reading, fcntl.F_SETFL, fcntl.fcntl(reading, fcntl.F_GETFL) | os.O_ASYNC)
os.write(writing, b"x")
found = fcntl.fcntl(reading, fcntl.F_GETOWN) == os.getppid()
""",
            SECCOMP,
        )
        for name, owner in (
            ("F_SETOWN", "fcntl.fcntl(reading, fcntl.F_SETOWN, os.getppid())"),
            ("F_SETOWN_EX", 'fcntl.fcntl(reading, 15, struct.pack("ii", 1, os.getppid()))'),
        )
    ),
    *(
        Attack(
            f"{aim} ({name})",
            f"""
import fcntl, os
pipe = os.pipe()[0]
try:
    found = {call}
except OSError as error:
    if error.errno != 25:  # the kernel was asked, and has no such command for pipes
        raise
    found = "not for pipes"
""",
            SECCOMP,
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
        "watch the files of others (inotify)",
        """
import ctypes, os
library = ctypes.CDLL(None, use_errno=True)
if library.inotify_add_watch(library.inotify_init(), os.fsencode("{folder}/data"), 0xFFF) < 0:
    raise OSError(ctypes.get_errno(), "refused")
found = "a watch"
""",
        SECCOMP,
    ),
    Attack(
        "watch the files of others (fanotify)",
        """
import ctypes
if ctypes.CDLL(None, use_errno=True).fanotify_init(0x200, 0) < 0:
    raise OSError(ctypes.get_errno(), "refused")
found = "a watch"
""",
        SECCOMP,
        everywhere=True,
    ),
    Attack(
        "watch the files of others (F_NOTIFY)",
        'import fcntl, os; found = fcntl.fcntl(os.open("{folder}/data", os.O_RDONLY), fcntl.F_NOTIFY, 0x3F)',
        SECCOMP,
    ),
    *(
        Attack(
            f"lock others out of their files ({name})",
            f'import fcntl; found = fcntl.{name}(open("{{folder}}/data/runs.sqlite", "rb"), fcntl.LOCK_SH)',
            SECCOMP,
        )
        for name in ("flock", "lockf")
    ),
    Attack(
        "submit requests to the kernel past the filter (io_uring)",
        """
import ctypes
if ctypes.CDLL(None, use_errno=True).syscall(425, 1, ctypes.create_string_buffer(120)) < 0:
    raise OSError(ctypes.get_errno(), "refused")
found = "a ring"
""",
        SECCOMP,
        everywhere=True,
    ),
    Attack(
        "lift its own limit of memory",
        """
import mmap, resource
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
found = len(mmap.mmap(-1, 1 << 31))
""",
    ),
)
