"""Worker processes and their pipes."""

import asyncio
import gc
import os
import signal

import pytest

from core.adapters.worker_process import ForkServer
from core.reading.replies import BODY_LIMIT, HEAD_LIMIT
from core.sandbox import forks


@pytest.mark.skipif(not forks.available(), reason="processes are not forked on this system")
async def test_descriptor_of_an_ended_worker_is_closed_once() -> None:
    server = ForkServer("reading", "1000")
    worker = await server.worker()
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises((asyncio.IncompleteReadError, OSError)):
        while True:
            await worker.receive(HEAD_LIMIT, BODY_LIMIT)
    await worker.wait()
    worker.kill()
    cycle: list[object] = [worker]
    cycle.append(cycle)  # as the frames of an error make one
    del worker, cycle
    gc.collect()
    others = [os.open(os.devnull, os.O_RDONLY) for _ in range(20)]  # which take the numbers that are free
    for _ in range(3):
        await asyncio.sleep(0)
    for descriptor in others:
        os.close(descriptor)  # fails where somebody has closed it
    await server.aclose()
