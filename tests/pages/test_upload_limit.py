"""Uploads on the pages: as many at once as there is room for."""

import asyncio
from collections.abc import AsyncIterator

import httpx
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pages.parts.serving.upload_limit import UploadLimit

UPLOAD = "/_stcore/upload_file/session/file"


async def test_upload_without_room_is_refused_counting_those_under_way() -> None:
    kept: list[int] = []
    arrived, finish = asyncio.Event(), asyncio.Event()

    async def streamlit(scope: Scope, receive: Receive, send: Send) -> None:
        body = await Request(scope, receive).body()
        if scope["path"] == UPLOAD:
            arrived.set()
            await finish.wait()
            kept.append(len(body))
        await Response(status_code=204)(scope, receive, send)

    guarded = UploadLimit(streamlit, limit=lambda: 100, held=lambda: sum(kept))
    transport = httpx.ASGITransport(app=guarded)
    async with httpx.AsyncClient(transport=transport, base_url="http://pages.example") as visitor:
        first = asyncio.create_task(visitor.put(UPLOAD, content=bytes(60)))
        await arrived.wait()
        assert (await visitor.put(UPLOAD, content=bytes(60))).status_code == 503, "60 are arriving"
        assert (await visitor.put("/another/path", content=bytes(600))).status_code == 204
        finish.set()
        assert (await first).status_code == 204
        refused = await visitor.put(UPLOAD, content=bytes(60))
        assert (refused.status_code, "Try again later" in refused.text) == (503, True), "60 are held"
        assert (await visitor.put(UPLOAD, content=bytes(40))).status_code == 204

        async def unknown_length() -> AsyncIterator[bytes]:
            yield b"x"

        assert (await visitor.put(UPLOAD, content=unknown_length())).status_code == 503, "it may be large"
        kept.clear()
        assert (await visitor.put(UPLOAD, content=bytes(100))).status_code == 204
