"""The background loop: what is under way when it is closed."""

import asyncio
from threading import Event

from core.runtime.event_loop import BackgroundLoop


def test_pending_work_ends_before_the_loop_closes() -> None:
    loop, began, ended = BackgroundLoop(), Event(), Event()

    async def work() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.to_thread(ended.set)

    result = loop.submit(work())
    assert began.wait(10)
    loop.close()
    assert ended.is_set() and result.cancelled()
