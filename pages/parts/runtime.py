"""State shared by the pages: the run registry, the visitor and the current run."""

import functools
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Sequence

import streamlit as st
from pydantic import SecretStr
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.config.access import Access
from core.config.knobs import Knobs
from core.config.permissions import Action, Caller, Role, person_id
from core.config.prices import Prices
from core.config.settings import Settings
from core.errors import ErrorHandler
from core.features.share.replay import Replay
from core.run.run_ids import is_link
from core.run.run_summary import RunSummary
from core.run.state import Run
from core.runtime.jobs import Job
from core.runtime.registry import RunRegistry
from pages.parts.submission_guard import SubmissionGuard

RESEARCH = "pages/research.py"
EVALUATE = "pages/evaluate.py"
REPLAY = "replay"
"""Session key of the replayed run."""
START_TIMEOUT = 5.0
QUICK_SECONDS = 0.1
"""Seconds to wait for new passages or a reranking model before showing the old ranking."""
RANKING_SECONDS = 3.0
"""Seconds to wait for a ranking of passages at hand.

It takes milliseconds. If it takes longer, the server is busy, and the timers of an unfinished ranking would need two
drawings of the whole page, which take ten times the time of one move.
"""
FULL_SPEED_RUNS = 8
"""Number of live runs with full polling speed.

With more runs, each page polls less, and the total stays constant.
"""
_lock = threading.Lock()
_submissions = SubmissionGuard()


@functools.cache
def settings() -> Settings:
    """Return the operator's settings.

    Raises:
        BadInput: when they cannot be used.
    """
    return Settings.read()


@functools.cache
def _registry() -> RunRegistry:
    return RunRegistry(settings())


def runs() -> RunRegistry:
    """The registry of this process. Not a cached resource: clearing caches must not drop live runs.

    Raises:
        BadInput: when the settings cannot be used.
    """
    with _lock:
        return _registry()


def prices() -> Prices:
    """Return the model prices of this server."""
    return runs().engine.prices.read()


def refresh_every(seconds: float) -> float:
    """Return the polling interval of a page, in seconds. It grows while many runs are live.

    A browser polls without waiting for the last answer. If it polled faster than the server can draw, the
    server would drop one drawing for the next, and nobody would see any.
    """
    return seconds * max(1.0, runs().live_runs() / FULL_SPEED_RUNS)


def close() -> None:
    """End every run of this process."""
    with _lock:
        if _registry.cache_info().currsize:
            _registry().close()
            _registry.cache_clear()
        settings.cache_clear()


def session_id() -> str:
    """Return this browser session's id, which names its tunings."""
    name: str = st.session_state.setdefault("session_id", secrets.token_urlsafe(12))
    return name


def quota_subject() -> str:
    """Return the subject of quotas. It is the signed-in user, else the browser's IP address."""
    return _signed_in() or str(st.context.ip_address or "")


def history_user() -> str:
    """Return the owner of this visitor's data. It is the signed-in user, else this browser session."""
    return _signed_in() or f"session {session_id()}"


def caller() -> Caller:
    """Return this visitor with their rights on this server."""
    role = Role.PERSON if _signed_in() else Role.VISITOR
    return Caller.of(role, history_user(), shared=runs().settings.shared)


def change_runs(
    run_ids: Iterable[str], work: Callable[[], object], action: Action = Action.CHANGE_RUN
) -> bool:
    """Change runs if this visitor may change all of them. A refusal or failure is shown."""
    with errors_after_rerun:
        visitor = caller()
        for run_id in run_ids:
            runs().require(visitor, action, run_id)
        work()
        return True
    return False


def stop(run_id: str) -> None:
    """Stop a run if this visitor may."""
    change_runs([run_id], lambda: runs().stop(run_id))


def quote(run_id: str) -> None:
    """Quote the sources instead of waiting for the chat model, if this visitor may."""
    change_runs([run_id], lambda: runs().quote(run_id, access()))


def label_user() -> str:
    """Return the user of presets and labels, or "".

    On a shared server it is the visitor. Elsewhere everybody shares them.
    """
    return history_user() if runs().settings.shared else ""


def history(limit: int) -> tuple[RunSummary, ...]:
    """Return the latest runs.

    Signed-in users, and all visitors of a shared server, see only their own. A link shares a run.

    Raises:
        StoreFailed: when the store cannot be read.
    """
    return runs().history(limit, caller().owner_to_list or _signed_in() or None)


def _signed_in() -> str:
    context = get_script_run_ctx()
    user = context.user_info if context else {}  # `st.user` looks for a file of secrets at each access
    return person_id(user) if user.get("is_logged_in") else ""


def access() -> Access:
    """Return the visitor's API key, base URL, model and quota subject.

    The first three are only in the session state.
    """
    key = st.session_state.get("access_key", "").strip()
    return Access(
        api_key=SecretStr(key) if key else None,
        base_url=st.session_state.get("access_url", "").strip(),
        chat_model=st.session_state.get("access_model", "").strip(),
        quota_subject=quota_subject(),
    )


# --- the current run --------------------------------------------------------------------------------------


def came_by_history() -> bool:
    """Whether this script run follows the browser's Back or Forward.

    Only the address then decides what to show.
    """
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def current() -> Run | None:
    """Return the run in the address, or the last shown run.

    Without a run in the address, it is the run shown before the visitor opened another page. Back and Forward
    lead to an old address, which shows no run if it names none.
    """
    first = "session_id" not in st.session_state
    session_id()  # created on the first script run, before any action
    travelled, shown_id = came_by_history(), st.session_state.get("run_id")
    run_id = st.query_params.get("run") or ("" if travelled else shown_id)
    if not run_id:
        _forget_run()
        return None
    run = runs().get(run_id)
    if run is None:
        _forget_run()
        st.query_params.clear()
        refuse(*missing_run(run_id))
        return None
    if shown_id != run_id:
        _forget_run()
        st.session_state["run_id"] = run_id
    # Also when it seems to be there: Streamlit changes no address for a link to the page that is open, and after
    # Back the browser may have got the address of an earlier script run meanwhile.
    if st.query_params.get("run") != run_id or travelled or (shown_id != run_id and not first):
        st.query_params["run"] = run_id
    return run


def missing_run(run_id: str) -> tuple[str, str]:
    """Return the message and hint for a missing run."""
    if is_link(run_id):
        return (
            "This link does not lead to a run any more.",
            "Its owner has taken it back, or has deleted the run.",
        )
    return f"There is no run {run_id[:40]}.", "It may have been deleted. Ask again, or look in the history."


def show_run(run_id: str) -> None:
    """Make this the current run."""
    _forget_run()
    st.session_state["run_id"] = run_id
    st.query_params.from_dict({"run": run_id})


def _forget_run() -> None:
    for name in ("run_id", "cited", "passage", "adopted", "watched", REPLAY):
        st.session_state.pop(name, None)


def start(question: str, knobs: Knobs, queries: Sequence[str] = ()) -> str:
    """Start a run of this visitor, and return its id. Raises the errors of `RunRegistry.start`."""
    return runs().start(question, knobs, access(), queries=queries, user=history_user())


def ask(question: str, knobs: Knobs, *, from_question_box: bool = True) -> None:
    """Start a run and show it, or show why it was refused."""
    with errors_after_rerun:
        run_id = _submissions.run_id_for(
            session_id(),
            question,
            knobs,
            start=lambda: start(question, knobs),
            live=lambda run_id: (run := runs().get(run_id)) is not None and run.live,
            settings_may_be_lost=from_question_box,
        )
        show_run(run_id)


def refuse(message: str, hint: str = "") -> None:
    """Keep the reason of a refused action, to show once."""
    st.session_state["refused"] = (message, hint)


errors_after_rerun = ErrorHandler(lambda error: refuse(error.message, error.hint))
"""Handles refusals of the visitor's actions. The page shows the reason."""


def has_refusal() -> bool:
    """Whether a refusal of the latest action is still to be shown."""
    return "refused" in st.session_state


def refusal() -> tuple[str, str] | None:
    """Return and remove the latest refusal with its hint."""
    refusal: tuple[str, str] | None = st.session_state.pop("refused", None)
    return refusal


def tuned(run: Run, knobs: Knobs) -> Job | None:
    """Return this visitor's job that ranks the run under these knobs, or None.

    None is returned for the run's own knobs, and for a run that cannot be ranked. A ranking of passages at hand
    is waited for, so that the page is drawn once.
    """
    if run.live or run.index is None:
        return None
    job = runs().retuning.start(session_id(), run.id, knobs, access())
    if job is None or knobs == run.knobs:
        return None
    at_hand = job.run.last_complete.knobs.chunk == knobs.chunk and not run.part
    job.wait_for_result(RANKING_SECONDS if at_hand and not knobs.rank.rerank else QUICK_SECONDS)
    return job


def continue_run(run_id: str, work: Callable[..., object], *arguments: object) -> None:
    """Start work that continues a finished run, and wait for a change.

    The next script run then finds the run live, and polls. `work` is a method of the registry, which gets the
    id, the arguments and the visitor's access.
    """
    before = runs().get(run_id)
    if not change_runs([run_id], lambda: work(run_id, *arguments, access())):
        return
    end = time.monotonic() + START_TIMEOUT
    while runs().get(run_id) is before and time.monotonic() < end:
        time.sleep(0.01)


def replay_of(run_id: str) -> Replay | None:
    """Return this session's replay of this run, or None."""
    replay: Replay | None = st.session_state.get(REPLAY)
    return replay if replay is not None and replay.recorded.run.id == run_id else None


def clock(run: Run, name: str = "") -> float:
    """Return the current seconds of the run's clock.

    They are extrapolated since its last event. Runs on one page have different names.
    """
    if not run.live:
        return run.seconds
    if replay := replay_of(run.id):
        return replay.playhead.position
    if (seconds := runs().clock(run)) is not None:
        return seconds
    event = (run.id, run.seconds)
    since: float
    key = f"clock {name}"
    latest, since = st.session_state.get(key, (None, 0.0))
    if latest != event:
        st.session_state[key] = (event, time.monotonic())
        return run.seconds
    return run.seconds + time.monotonic() - since
