"""The caller's session: `GET /session` and its end, `DELETE /session`."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from core.api.problems import documented
from core.api.routes.connect import ProvidedServers, disconnect
from core.api.routes.uploads import FileState, session_files, state_of
from core.api.service import ServiceOf, SessionOf, Token
from core.api.sessions import IDLE_SECONDS, ChatTurn, Method
from core.api.strict_json import StrictRoute, plain

router = APIRouter(route_class=StrictRoute, tags=["configuration"])


class SessionData(ProvidedServers, BaseModel):
    """What a session keeps in memory, until it ends. It names the kinds of servers and keys, never their values."""

    messages: list[ChatTurn] = []
    """Questions and answers, oldest first; the last 200."""
    config: dict[str, dict[str, dict[str, Any]]] = {}
    """The knobs by method."""
    model: str = ""
    """The model that writes answers. Empty: none, answers are extractive."""
    uploaded_files: dict[str, FileState] = {}
    """What was sent with `PUT /session/files/{name}`, by name."""
    files: list[FileState] = []
    """The same as a list."""
    idle_seconds: float = IDLE_SECONDS


@router.get("/session", responses=documented(422))
async def get_session(session: SessionOf) -> SessionData:
    """What the server keeps of the caller's session. No key, name or address is among it."""
    files = [state_of(file) for file in session_files(session).files]
    return SessionData(
        messages=list(session.messages),
        config={method: plain(session.knobs_for(method)) for method in Method},
        model=session.model,
        provided=session.access.provided,
        uploaded_files={file.name: file for file in files},
        files=files,
    )


@router.delete("/session", status_code=204, responses=documented(422))
async def end_session(service: ServiceOf, session: SessionOf, token: Token = None) -> None:
    """The same as `DELETE /connect`."""
    await disconnect(service, session, token)
