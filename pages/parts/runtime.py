"""What the pages share: the runs of this process, this visitor, and the run on screen."""

from __future__ import annotations

import functools
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import streamlit as st
from pydantic import SecretStr

from core.config.access import Access
from core.config.knobs import Knobs
from core.config.settings import LOCAL, Settings
from core.errors import OpenQueryError
from core.library.library import Library
from core.run.state import Run
from core.runtime.jobs import Job
from core.runtime.registry import RunRegistry
from core.storage.run_store import RunSummary
from pages.parts.dedupe_submit import DedupeSubmit

RESEARCH = "pages/research.py"
BEGIN_WAIT = 5.0
_lock = threading.Lock()
_wishes = DedupeSubmit()


@functools.cache
def _made() -> RunRegistry:
    return RunRegistry(Settings.read())


def runs() -> RunRegistry:
    """The registry of this process. Not a cached resource: clearing caches must not drop live runs.

    Raises:
        BadInput: when the settings cannot be used.
    """
    with _lock:
        return _made()


def close() -> None:
    """End every run of this process."""
    with _lock:
        if _made.cache_info().currsize:
            _made().close()
            _made.cache_clear()


def viewer() -> str:
    """A name for this browser session, which owns its tunings."""
    name: str = st.session_state.setdefault("viewer", secrets.token_urlsafe(12))
    return name


def owner() -> str:
    """Whom the limits count: the person who signed in, else the address that the browser calls from."""
    return _signed_in() or str(st.context.ip_address or "")


def keeper() -> str:
    """In whose history runs stand: that of the person who signed in, else of this browser session."""
    return _signed_in() or f"session {viewer()}"


def history(limit: int) -> tuple[RunSummary, ...]:
    """Runs to choose from. Who signed in, and everybody on a shared server, sees their own; an address shares a run.

    Raises:
        StoreFailed: when the store cannot be read.
    """
    registry = runs()
    apart = registry.settings.shared or _signed_in()
    return registry.history(limit, keeper() if apart else None)


def _signed_in() -> str:
    """A name for the person who signed in. An address that the provider has not verified could be anybody's."""
    user = st.user
    if not user.get("is_logged_in"):
        return ""
    if user.get("email") and user.get("email_verified") is not False:
        return str(user["email"])
    return f"{user.get('iss')} {user.get('sub')}"


def access() -> Access:
    """What this visitor typed. It lives in the session and nowhere else."""
    key = st.session_state.get("access_key", "").strip()
    return Access(
        api_key=SecretStr(key) if key else None,
        base_url=st.session_state.get("access_url", "").strip(),
        chat_model=st.session_state.get("access_model", "").strip(),
    )


# --- the run on screen ------------------------------------------------------------------------------------


def current() -> Run | None:
    """The run that the address names, or the one shown before the visitor looked at another page."""
    viewer()  # named at the first drawing, before anything can be wished
    run_id = st.query_params.get("run") or st.session_state.get("run_id")
    if not run_id:
        return None
    run = runs().get(run_id)
    if run is None:
        leave()
        refuse(
            f"There is no run {run_id[:40]}.", "It may have been deleted. Ask again, or look at the history."
        )
        return None
    if st.query_params.get("run") != run_id:
        st.query_params["run"] = run_id
    st.session_state["run_id"] = run_id
    return run


def follow(run_id: str) -> None:
    """Show this run from the next drawing on."""
    leave()
    st.session_state["run_id"] = run_id
    st.query_params["run"] = run_id


def leave() -> None:
    """Show no run."""
    for name in ("run_id", "cited", "passage", "adopted"):
        st.session_state.pop(name, None)
    st.query_params.pop("run", None)


def ask(question: str, knobs: Knobs) -> None:
    """Start a run and show it; what is wrong with the question is said on the page instead."""
    try:
        run_id = _wishes.granted(
            viewer(),
            question,
            knobs,
            start=lambda: runs().start(question, knobs, access(), owner=owner(), user=keeper()),
            live=lambda run_id: (run := runs().get(run_id)) is not None and run.live,
        )
    except OpenQueryError as error:
        refuse(error.message, error.hint)
    else:
        follow(run_id)


def refuse(message: str, hint: str = "") -> None:
    st.session_state["refused"] = (message, hint)


def refusal() -> tuple[str, str] | None:
    """Why the latest wish was not granted; told once."""
    return st.session_state.pop("refused", None)


def tuned(run: Run, knobs: Knobs) -> Job | None:
    """The finished run under other knobs, as this visitor sees it; None under its own."""
    if run.live or run.index is None:
        return None
    job = runs().retune(viewer(), run.id, knobs, access())
    return None if knobs == run.knobs else job


def go_on(run_id: str, work: Callable[[], None]) -> None:
    """Do something that takes a finished run further, and wait until the run says so.

    The next drawing then already finds it live, and polls.
    """
    before = runs().get(run_id)
    try:
        work()
    except OpenQueryError as error:
        refuse(error.message, error.hint)
        return
    end = time.monotonic() + BEGIN_WAIT
    while runs().get(run_id) is before and time.monotonic() < end:
        time.sleep(0.01)


def clock(run: Run) -> float:
    """Seconds of the run's clock now. Between two events it goes on by the time that passed here."""
    if not run.live:
        return run.seconds
    seen, at = st.session_state.get("clock", (None, 0.0))
    mark = (run.id, run.seconds)
    if seen != mark:
        st.session_state["clock"] = (mark, time.monotonic())
        return run.seconds
    return run.seconds + time.monotonic() - at


def _here() -> tzinfo:
    """The visitor's time zone."""
    try:
        return ZoneInfo(st.context.timezone or "UTC")
    except (KeyError, ValueError):
        return UTC


def when(started: str) -> str:
    """The beginning of a run as its visitor's clock tells it."""
    return (
        f"{datetime.fromisoformat(started).astimezone(_here()):%-d %B %Y, %H:%M}" if started else "not begun"
    )


# --- the library ------------------------------------------------------------------------------------------


def library() -> Library:
    return runs().engine.library


def may_change_library() -> bool:
    """On a shared server documents are the operator's: what one visitor added, all could read."""
    return not runs().settings.shared


@st.cache_data(ttl=5, show_spinner=False)
def collections() -> tuple[str, ...]:
    """The names of the collections; none when the library does not answer, which its own page tells."""
    registry = runs()
    try:
        return tuple(registry.call(registry.engine.collections.names(), timeout=3))
    except OpenQueryError:
        return ()


# --- what is connected ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Connected:
    """What a run would use. `chat` is empty when answers would be extractive."""

    search: str
    chat: str
    embedder: str


def connected(backend: str, origin: str) -> Connected:
    """What would search, write and embed under these knobs and with what the visitor brought."""
    registry = runs()
    settings = registry.settings
    searching = {
        "auto": "SearXNG" if settings.searxng_url else "built-in metasearch, else the demo library",
        "searxng": "SearXNG" if settings.searxng_url else "SearXNG (no address set)",
        "ddgs": "built-in metasearch",
        "demo": "demo library",
    }
    try:
        server = registry.call(registry.engine.models.chosen(access()), timeout=3)
    except OpenQueryError:
        server = None
    web = searching.get(backend, backend)
    return Connected(
        search={"library": "your library", "both": f"{web}, and your library"}.get(origin, web),
        chat=server.model if server else "",
        embedder="local" if settings.embedding_model == LOCAL else settings.embedding_model,
    )
