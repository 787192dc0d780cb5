"""A server has one worker process: sessions, quotas, metrics and live runs are in the memory of one."""

import asyncio
import logging
import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from core.config.settings import Settings
from core.errors import OpenQueryError
from core.storage.process_lock import LOCKS, locked

log = logging.getLogger(__name__)

REFUSAL = (
    "OpenQuery keeps sessions, quotas and live runs in the memory of one process, so its server has one worker, and "
    "another one was started. Leave out --workers; docs/deployment.md tells how to serve more people."
)
_ENDING_SECONDS, _POLL_SECONDS = 30.0, 0.1
"""For how long the other worker is waited for when the server ends."""


class SingleWorker:
    """ASGI middleware that refuses to start as a second worker of one server."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._lock: tuple[int, Path] | None = None
        """The locked file. The system releases it with the process, however that ends."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "lifespan" or not _is_worker():
            await self.app(scope, receive, send)
        elif await asyncio.to_thread(self._is_only_one):
            try:
                await self.app(scope, receive, send)
            finally:
                self._release()
        else:
            await receive()
            if "uvicorn" in sys.modules:
                log.error(REFUSAL)
                await asyncio.to_thread(self._end_supervisor)
            await send({"type": "lifespan.startup.failed", "message": REFUSAL})

    def _end_supervisor(self) -> None:
        """Have uvicorn's supervisor end its workers, and then end by a signal.

        By itself it would end with exit code 0 after a worker that does not start, and whatever has started it would
        take that for a success.
        """
        supervisor = os.getppid()
        os.kill(supervisor, signal.SIGTERM)
        ends = time.monotonic() + _ENDING_SECONDS
        while time.monotonic() < ends and not self._is_only_one():
            time.sleep(_POLL_SECONDS)
        self._release()
        if os.getppid() == supervisor:
            os.kill(supervisor, signal.SIGALRM)  # one that it does not handle

    def _is_only_one(self) -> bool:
        """Lock a file that the workers of this server share. Returns True on systems without such locks."""
        if not LOCKS:
            return True
        try:
            folder = Settings.read().folder
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = folder / f"{os.getppid()}.worker"
            lock = locked(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
        except (OSError, OpenQueryError) as error:
            log.info("whether there are other workers is not known: %s", error)
            return True
        if lock is not None:
            self._lock = lock, path
        return lock is not None

    def _release(self) -> None:
        if self._lock is not None:
            lock, path = self._lock
            path.unlink(missing_ok=True)
            os.close(lock)
            self._lock = None


def _is_worker() -> bool:
    """Whether a supervisor has started this process: uvicorn and hypercorn spawn theirs, gunicorn forks."""
    return multiprocessing.parent_process() is not None or "gunicorn" in sys.modules
