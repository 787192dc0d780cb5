"""HEAD requests: the work behind one ends with its caller."""

import asyncio

import pytest
from starlette.types import Message, Receive, Scope, Send

from core.features.api.middleware import HeadRequests


async def test_work_ends_when_its_caller_leaves_before_headers() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        raise AssertionError(message)

    caller = asyncio.create_task(HeadRequests(slow)({"type": "http", "method": "HEAD"}, receive, send))
    await begun.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert ended.is_set()


async def test_an_error_before_the_headers_is_raised() -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("broken")

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        raise AssertionError(message)

    with pytest.raises(RuntimeError, match="broken"):
        await HeadRequests(broken)({"type": "http", "method": "HEAD"}, receive, send)
