"""Start worker processes of this package, and use their pipes asynchronously."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import struct
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from typing import Any

from core.sandbox.forks import PROCESS_ID
from core.sandbox.frames import Frame, packed, receive_frame
from core.sandbox.worker_command import IMPORT_ROOT, command, environment


class WorkerProcess:
    """A child process that replies to frames with frames. It confines itself, and an unsure caller kills it."""

    def __init__(
        self, process: Process | _Forked, replies: asyncio.StreamReader, requests: asyncio.StreamWriter
    ) -> None:
        """Wrap a process that `start` or a `ForkServer` has made."""
        self._process, self._in, self._out = process, requests, replies

    @classmethod
    async def start(cls, module: str, *arguments: str, python: str = sys.executable) -> WorkerProcess:
        """Start a process that runs `module` with `command`.

        Raises:
            OSError, NotImplementedError, ValueError, RuntimeError: when it cannot be started.
        """
        process = await _started(module, *arguments, python=python, stdin=PIPE, stdout=PIPE)
        if process.stdin is None or process.stdout is None:
            raise OSError("it has no pipes")
        return cls(process, process.stdout, process.stdin)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def ended(self) -> bool:
        """Whether the process is known to have ended."""
        return self._process.returncode is not None

    async def send(self, head: bytes, body: bytes = b"") -> None:
        """Write a frame. Raises `OSError` when the process no longer reads."""
        if self._in.is_closing():  # asyncio would drop the data, and uvloop raises RuntimeError
            raise BrokenPipeError("its input is closed")
        self._in.writelines(packed(head, body))
        await self._in.drain()

    async def receive(self, head_limit: int, body_limit: int) -> Frame:
        """Read the next frame with `receive_frame`."""
        return await receive_frame(self._out, head_limit, body_limit)

    def kill(self) -> None:
        """End the process now, and close its pipes.

        A pipe that is garbage instead is closed twice under uvloop, by its socket and by its transport. The second time
        closes whatever has the number of its descriptor by then.
        """
        self._in.close()
        if not self.ended:
            self._process.kill()

    async def wait(self) -> None:
        """Wait until the process has ended."""
        await self._process.wait()

    async def finish(self, seconds: float) -> None:
        """Close the input and wait for the end. After `seconds` the process is killed."""
        self._in.close()
        try:
            async with asyncio.timeout(seconds):
                await self.wait()
        except TimeoutError:
            self.kill()
            await self.wait()


class ForkServer:
    """A process that has loaded a module, and forks workers that begin with it.

    A worker then starts in milliseconds, and shares the memory of the loaded modules with the others.
    """

    def __init__(self, module: str, *arguments: str) -> None:
        """Name the module, which gets `arguments` and `forks`. The process starts with the first worker."""
        self._module, self._arguments = module, arguments
        self._process: Process | None = None
        self._control: socket.socket | None = None
        self._turn = asyncio.Lock()

    async def worker(self) -> WorkerProcess:
        """Fork a worker. The server is started when there is none.

        Raises:
            OSError, NotImplementedError, ValueError, RuntimeError: when it cannot be started.
        """
        async with self._turn:
            if self._control is not None:
                with suppress(OSError):  # it has ended, and another one is started
                    return await self._fork(self._control)
            return await self._fork(await self._start())

    async def aclose(self) -> None:
        """End the server. Its workers are ended by who uses them."""
        self._drop()
        if self._process is not None:
            with suppress(ProcessLookupError):  # it has ended
                self._process.kill()
            await self._process.wait()

    async def _start(self) -> socket.socket:
        control, theirs = socket.socketpair()
        control.setblocking(False)
        try:
            with theirs:
                self._process = await _started(
                    self._module,
                    *self._arguments,
                    "forks",
                    python=sys.executable,
                    stdin=theirs,
                    stdout=DEVNULL,
                )
        except BaseException:
            control.close()
            raise
        self._control = control
        return control

    def _drop(self) -> None:
        """Let the server end, as it does with its input."""
        if self._control is not None:
            self._control.close()
            self._control = None

    async def _fork(self, control: socket.socket) -> WorkerProcess:
        """Send a socket to the server, which forks a worker for it."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(control, [b"f"], [theirs.fileno()])
            reply = await asyncio.get_running_loop().sock_recv(control, PROCESS_ID.size)
            process = _Forked(*PROCESS_ID.unpack(reply))
            ours.setblocking(False)
            return WorkerProcess(process, *await asyncio.open_unix_connection(sock=ours))
        except BaseException as error:
            ours.close()  # its worker then ends
            self._drop()  # a reply that is still to come would be taken for that of the next worker
            if isinstance(error, struct.error):
                raise OSError("the process that forks workers ended") from error
            raise


class _Forked:
    """A process that another one forked, which a file descriptor names until it is closed."""

    def __init__(self, pid: int) -> None:
        self.pid, self._descriptor = pid, os.pidfd_open(pid)
        self._ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(self._descriptor, self._end)

    @property
    def returncode(self) -> int | None:
        return 0 if self._ended.is_set() else None

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)

    async def wait(self) -> None:
        await self._ended.wait()

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)
        self._ended.set()


async def _started(module: str, *arguments: str, python: str, stdin: Any, stdout: int) -> Process:
    return await asyncio.create_subprocess_exec(
        *command(module, *arguments, python=python),
        stdin=stdin,
        stdout=stdout,
        stderr=DEVNULL,
        cwd=IMPORT_ROOT,
        env=environment(),
        start_new_session=True,  # Ctrl-C is for the parent, which then ends its workers in order
    )
