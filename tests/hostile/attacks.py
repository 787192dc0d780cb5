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
