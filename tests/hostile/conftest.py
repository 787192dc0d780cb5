import asyncio
from asyncio import AbstractEventLoop
from collections.abc import Callable


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], AbstractEventLoop]]:
    """Python audits the connections of asyncio's own loop; those of uvloop, which libuv makes, it does not see."""
    return {"audited": asyncio.new_event_loop}
