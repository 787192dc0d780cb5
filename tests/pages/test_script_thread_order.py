"""Streamlit's session when a request comes right after a thread has ended, before its reports were taken."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests

from pages.parts.serving.streamlit_patches import _create_after_reports

FRAGMENT = "answer"


class Thread:
    """A script thread that has drawn a page and ended. Its reports wait in the event loop."""

    def __init__(self, session: Any, taken: list[str]) -> None:
        self._requests = ScriptRequests()
        self._requests.on_scriptrunner_ready()  # nothing to do: the thread ends
        loop = asyncio.get_running_loop()
        for report in ("page", "end"):
            loop.call_soon_threadsafe(self._report, session, report, taken)

    def request_rerun(self, request: RerunData) -> bool:
        return self._requests.request_rerun(request)

    def _report(self, session: Any, report: str, taken: list[str]) -> None:
        """As `AppSession._handle_scriptrunner_event_on_event_loop` does."""
        if session._scriptrunner is self:
            taken.append(report)
            session._scriptrunner = None if report == "end" else self


async def reports_taken(monkeypatch: pytest.MonkeyPatch, *, mended: bool, exists: bool = True) -> list[str]:
    """What Streamlit takes of the thread's reports, and the thread that it starts for the request."""
    taken: list[str] = []
    session = AppSession.__new__(AppSession)
    started = SimpleNamespace(request_rerun=lambda _request: True)

    def start(this: Any, request: RerunData) -> None:
        taken.append(f"thread for {request.fragment_id}")
        this._scriptrunner = started

    monkeypatch.setattr("pages.parts.serving.streamlit_patches._create_scriptrunner", start)
    monkeypatch.setattr(AppSession, "_create_scriptrunner", _create_after_reports if mended else start)
    session.id = "test"
    session._state = AppSessionState.APP_NOT_RUNNING
    session._event_loop = asyncio.get_running_loop()
    session._fragment_storage = MemoryFragmentStorage()
    session._client_state = ClientState()
    holds = iter([True, exists])
    monkeypatch.setattr(session, "has_fragment", lambda _name: next(holds))
    session._scriptrunner = Thread(session, taken)  # type: ignore[assignment]
    session.request_rerun(ClientState(fragment_id=FRAGMENT, is_auto_rerun=True))
    for _ in range(10):
        await asyncio.sleep(0)
    session._state = AppSessionState.SHUTDOWN_REQUESTED  # its destructor has nothing to close
    return taken


@pytest.mark.parametrize("mended", [True, False], ids=["reports are kept", "as Streamlit does it"])
async def test_drawn_page_is_sent_before_a_part_is_redrawn(
    monkeypatch: pytest.MonkeyPatch, mended: bool
) -> None:
    """If the second case fails, Streamlit has been mended, and `keep_reports` and decision 0038 can go."""
    taken = await reports_taken(monkeypatch, mended=mended)
    assert taken == (["page", "end", "thread for answer"] if mended else ["thread for answer"])


async def test_part_no_longer_on_the_page_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await reports_taken(monkeypatch, mended=True, exists=False) == ["page", "end"]
