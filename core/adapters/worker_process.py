"""Start worker processes of this package, and use their pipes asynchronously."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from core.sandbox.frames import Frame, packed, receive_frame

_PACKAGE = __name__.removesuffix(".adapters.worker_process")
"""`core` in a checkout, `openquery.core` when installed."""
IMPORT_ROOT = Path(__file__).resolve().parents[__name__.count(".")]
"""The folder from which the package can be imported."""
_LOADER_VARIABLES = ("LD_LIBRARY_PATH", "SYSTEMROOT")
"""Variables that some systems need to start Python. No others are passed on, because the environment has keys."""


def command(module: str, *arguments: str, python: str = sys.executable) -> tuple[str, ...]:
    """Build the command line that runs `module`. The name is relative to this package, such as `reading`.

    It must be run in `IMPORT_ROOT`, from where the module is imported.
    """
    return (python, "-E", "-X", "utf8", "-m", f"{_PACKAGE}.{module}", *arguments)


def environment() -> dict[str, str]:
    """Return the environment variables of a worker process."""
    passed = {name: os.environ[name] for name in _LOADER_VARIABLES if name in os.environ}
    return passed | {"OPENBLAS_NUM_THREADS": "1"}


class WorkerProcess:
    """A child process that replies to frames with frames. It confines itself, and an unsure caller kills it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        """Wrap a process that `start` has made."""
        if process.stdin is None or process.stdout is None:
            raise OSError("it has no pipes")
        self._process, self._in, self._out = process, process.stdin, process.stdout

    @classmethod
    async def start(cls, module: str, *arguments: str, python: str = sys.executable) -> WorkerProcess:
        """Start a process that runs `module` with `command`.

        Raises:
            OSError, NotImplementedError, ValueError, RuntimeError: when it cannot be started.
        """
        return cls(
            await asyncio.create_subprocess_exec(
                *command(module, *arguments, python=python),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                cwd=IMPORT_ROOT,
                env=environment(),
                start_new_session=True,  # Ctrl-C is for the parent, which then ends its workers in order
            )
        )

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
        """End the process now."""
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
