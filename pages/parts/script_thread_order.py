"""A request for a part of a page waits until what was drawn before it has been sent (decision 0038)."""

from __future__ import annotations

from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

_create_scriptrunner = AppSession._create_scriptrunner


def keep_reports() -> None:
    """Make Streamlit take the reports of a script thread that has ended before it starts another one in its place.

    Streamlit takes reports of the latest thread alone. A thread is replaced by a request for a fragment that comes
    when it has ended and its last reports still wait in the event loop: they would be dropped, and a page that it
    drew would never be sent.
    """
    AppSession._create_scriptrunner = _create_after_reports  # type: ignore[method-assign, assignment]


def _create_after_reports(session: AppSession, request: RerunData) -> None:
    if session._scriptrunner is None:
        _create_scriptrunner(session, request)
    else:
        session._event_loop.call_soon(_ask_again, session, request)


def _ask_again(session: AppSession, request: RerunData) -> None:
    """Ask the thread of the session, which is none as soon as the last report of the one that ended was taken."""
    is_gone = request.fragment_id and not session.has_fragment(request.fragment_id)
    if is_gone or session._state == AppSessionState.SHUTDOWN_REQUESTED:
        return
    runner = session._scriptrunner
    if runner is None or not runner.request_rerun(request):
        _create_after_reports(session, request)
