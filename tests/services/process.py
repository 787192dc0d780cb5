"""A server in a process of its own: started, waited for, and ended with the test run."""

import fcntl
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from tests.patience import Patience
from tests.services.cached import CACHE, Unavailable

PORTS = range(20_000, 30_000)
"""Below those that Linux and macOS hand out by themselves, so that no connection takes one in between."""

_held: list[object] = []
"""Locks and sockets, kept until this process ends."""


def own_port() -> int:
    """A port for a server of another process. No test run on this machine gets it while this process lives."""
    folder = CACHE / "ports"
    folder.mkdir(parents=True, exist_ok=True)
    for port in PORTS:
        lock = (folder / str(port)).open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
        except OSError:
            lock.close()
            continue
        _held.append(lock)
        return port
    raise Unavailable("every port for the servers of tests is taken")


def closed_port() -> int:
    """A port that refuses every connection, and that nobody else gets: it is bound, and not listened at."""
    holder = socket.socket()
    holder.bind(("127.0.0.1", 0))
    _held.append(holder)
    port: int = holder.getsockname()[1]
    return port


@contextmanager
def serving(
    command: Sequence[str | Path], *, ready: str, folder: Path, env: Mapping[str, str], patience: float
) -> Iterator[int]:
    """Run the command in `folder` until the block ends; enter it, with the process's id, when `ready` answers.

    `ready` is an address that is to answer 200, or `tcp://host:port`, where a connection is enough.

    Raises:
        Unavailable: with the end of its log, when it ends early or is not ready after `patience` seconds.
    """
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), **env},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait(process, ready, log, Patience(patience))
            yield process.pid
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(process: subprocess.Popen[bytes], ready: str, log: Path, patience: Patience) -> None:
    with httpx.Client(trust_env=False, timeout=2) as client:
        while patience.lasts(log.stat().st_size) and process.poll() is None:
            if _answers(client, ready):
                return
            time.sleep(0.05)  # another process tells nobody when it is ready
    said = log.read_text("utf-8", "replace")[-2000:]
    raise Unavailable(f"{process.args!r} did not answer at {ready}:\n{said}")


def _answers(client: httpx.Client, ready: str) -> bool:
    address = urlsplit(ready)
    try:
        if address.scheme != "tcp":
            return client.get(ready).status_code == 200
        socket.create_connection((address.hostname, address.port), timeout=2).close()
    except (httpx.TransportError, OSError):
        return False
    return True
