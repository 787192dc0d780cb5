"""Ingests over HTTP: list, follow by events, and stop."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Path, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from core.errors import OpenQueryError
from core.features.api.strict_json import StrictRoute
from core.features.library_api.library_access import ChangingOf, LibraryAccess, ReadingOf
from core.features.library_api.views import IngestView, ingest_view
from core.serving.problems import documented

router = APIRouter(route_class=StrictRoute, tags=["library"])

IngestId = Annotated[str, Path(alias="id", pattern=r"^[A-Za-z0-9_-]{1,64}$", description="The ingest's id.")]
_SECONDS = 0.25
"""Seconds between two looks at an ingest that is followed."""
_KEEP_ALIVE_SECONDS = 15.0


class IngestList(BaseModel):
    """The reply of `GET /ingests`."""

    ingests: list[IngestView]


@router.get("/ingests", responses=documented(403, 422, 503))
async def list_ingests(
    library: ReadingOf,
    collection: Annotated[str, Query(max_length=100)] = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> IngestList:
    """List the ingests, latest first. The latest 50 ended ingests are kept."""
    ingests = await library.call(library.library.ingests.all(collection))
    return IngestList(ingests=list(map(ingest_view, ingests[:limit])))


@router.get("/ingests/{id}", responses=documented(403, 404, 422, 503))
async def get_ingest(ingest_id: IngestId, library: ReadingOf) -> IngestView:
    """Return an ingest with the state of each document."""
    return ingest_view(await library.ingest(ingest_id))


@router.get(
    "/ingests/{id}/events",
    response_class=StreamingResponse,
    responses={
        **documented(403, 404, 422, 503),
        200: {"content": {"text/event-stream": {}}, "description": "Events `progress`, each an ingest."},
    },
)
async def follow_ingest(ingest_id: IngestId, library: ReadingOf) -> StreamingResponse:
    """Send an event `progress` after each change of an ingest, until its end."""
    first = ingest_view(await library.ingest(ingest_id))
    return StreamingResponse(_progress(library, first), media_type="text/event-stream")


async def _progress(library: LibraryAccess, view: IngestView) -> AsyncIterator[str]:
    """Yield server-sent events until the ingest has ended."""
    sent, idle = None, 0.0
    while True:
        current = view.model_copy(update={"seconds": 0.0})
        if current != sent:
            yield f"event: progress\ndata: {view.model_dump_json()}\n\n"
            sent, idle = current, 0.0
        elif idle >= _KEEP_ALIVE_SECONDS:
            yield ": waiting\n\n"
            idle = 0.0
        if not view.is_live:
            return
        await asyncio.sleep(_SECONDS)
        idle += _SECONDS
        try:
            view = ingest_view(await library.ingest(view.id))
        except OpenQueryError:  # the reply has begun, so a refusal could not be sent
            return


@router.post("/ingests/{id}/stop", responses=documented(403, 404, 422, 503))
async def stop_ingest(ingest_id: IngestId, library: ChangingOf) -> IngestView:
    """Stop an ingest. Complete documents stay, and partial documents are removed.

    An ended ingest, and an ingest of another process, is returned unchanged.
    """
    await library.ingest(ingest_id)
    if running := library.library.ingests.find(ingest_id):
        running.cancel()
        await library.call(running.wait())
    return ingest_view(await library.ingest(ingest_id))


@router.post("/ingests/resume", responses=documented(403, 422, 503))
async def resume_ingests(library: ChangingOf) -> IngestList:
    """Resume the interrupted ingests."""
    resumed = await library.call(library.library.ingests.resume(access=library.access))
    return IngestList(ingests=[ingest_view(running.progress) for running in resumed])
