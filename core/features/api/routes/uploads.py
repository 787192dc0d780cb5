"""Files of a session: sent, followed until they can be searched, and forgotten."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel

from core.features.api.service import ServiceOf, SessionOf
from core.features.api.sessions import HEADER, Session
from core.features.api.strict_json import StrictRoute, copied
from core.features.library.ingests import TaskState
from core.features.library.session_files import SessionFile, SessionFiles
from core.serving.problems import Refusal, documented

router = APIRouter(route_class=StrictRoute, tags=["configuration"])

Name = Annotated[
    str, Path(min_length=1, max_length=200, description="The file's name. Its extension says its type.")
]

_FILE = {
    "requestBody": {
        "required": True,
        "description": "The file itself: PDF, office file, EPUB, HTML, Markdown, text or CSV.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


class FileState(BaseModel):
    """A file of the session, and its state."""

    name: str
    size: int
    """Bytes. They are on the server's disk until they have been read; then, only the passages are kept, in memory."""
    content_type: str
    """The media type that the file is read as, by its bytes and its name."""
    sent: bool = False
    """Whether the file itself was given to the model's provider: never. The model is sent passages that a question finds."""
    file_id: str = ""
    """The provider's id of the file: none, for the same reason."""
    state: TaskState
    """Questions find it once it is `done`."""
    reason: str
    """Why it failed, or what of it was left out."""
    pages: int
    """The number of pages, or 0 for a file without pages."""
    passages: int
    """The number of searchable passages so far."""


@router.put(
    "/session/files/{name}", status_code=202, openapi_extra=_FILE, responses=documented(403, 413, 422, 503)
)
async def put_file(name: Name, request: Request, service: ServiceOf, session: SessionOf) -> FileState:
    """Send a file, to be searched by the questions of this session alone: its collection is called `session`.

    It is read and embedded in the background; a file of the same name is replaced.
    """
    files = session_files(session)
    incoming = await service.uploads.receive(request.stream(), service.settings().folder)
    return state_of(await asyncio.to_thread(service.runs.call, files.add(name, incoming, session.access)))


@router.get("/session/files", responses=documented(403, 422))
async def get_files(session: SessionOf) -> list[FileState]:
    """List the files of the session with their states."""
    return [state_of(file) for file in session_files(session).files]


@router.delete("/session/files/{name}", status_code=204, responses=documented(403, 404, 422))
async def delete_file(name: Name, service: ServiceOf, session: SessionOf) -> None:
    """Delete a file of the session."""
    if not await asyncio.to_thread(service.runs.call, session_files(session).remove(name)):
        raise Refusal(404, "The session has no file of this name.", "GET /session/files lists them.")


def state_of(file: SessionFile) -> FileState:
    """A file as responses have it."""
    return copied(FileState, file.task, size=file.size, content_type=file.task.media_type)


def session_files(session: Session) -> SessionFiles:
    """The files of the session that the caller has named. Raises Refusal where none is named."""
    if not isinstance(files := session.access.files, SessionFiles):
        raise Refusal(403, "No session is named.", f"Open one with POST /connect and send it as {HEADER}.")
    return files
