"""The stored runs as the drawer and the whole list show them: filters, import, counts and refreshing."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import streamlit as st

from core.analysis.conversation import latest_turns
from core.analysis.history import all_tags, matching_runs
from core.errors import OpenQueryError
from core.run.importer import LIMIT
from core.run.run_summary import RunSummary
from core.run.state import Run, RunStatus
from core.storage.bundle import recorded_run
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import pluralize
from pages.parts import markup, runtime, widgets
from pages.parts.history.history_actions import asked_again, run_asked_again

MAX_RUNS = 500
OPENING = "opening"
"""Session key: the id of the run to open on the Ask page."""
LIVE = (RunStatus.QUEUED, RunStatus.RUNNING)
REFRESH = 2.0
"""Seconds between drawings during a live run."""


def open_chosen() -> None:
    """Go to the run that was chosen or imported, if any."""
    if opening := st.session_state.pop(OPENING, ""):
        st.switch_page(runtime.RESEARCH, query_params={"run": opening})


def open_run(run_id: str) -> None:
    """Open a run on the Ask page."""
    st.session_state[OPENING] = run_id


def filters(runs: Sequence[RunSummary]) -> tuple[str, tuple[RunSummary, ...]]:
    """Draw the search, the filters and the import. Returns the words and the matching conversations."""
    if problem := runtime.runs().store.problem:
        st.warning(markdown_label(problem, 400), icon=":material/save:")
    with st.container(horizontal=True, vertical_alignment="center", key="history_filters"):
        words = widgets.search_field(
            "Search the history",
            "Questions, answers, sources …",
            key="history_words",
            persist_state="session",
            width=340,
        )
        filter_field = partial(
            st.multiselect, label_visibility="collapsed", persist_state="session", width=220
        )
        statuses = filter_field(
            "Status", [str(status) for status in RunStatus], key="history_statuses", placeholder="Any status"
        )
        offered = {*all_tags(runs), *st.session_state.get("history_filter_tags", ())}
        tags = filter_field(
            "Tags", sorted(offered, key=str.casefold), key="history_filter_tags", placeholder="Any tag"
        )
        with st.popover("Import a run", icon=":material/upload:", type="tertiary", key="import"):
            st.file_uploader(
                "A run that OpenQuery exported, as .zip or .json",
                type=["zip", "json"],
                key=f"import_{st.session_state.get('imports', 0)}",
                max_upload_size=LIMIT // 1_000_000,
                on_change=_import_run,
                width=420,
            )
    mentioned = runtime.runs().store.mentioning(words) if words else ()
    return words, latest_turns(matching_runs(runs, words, statuses, tags, mentioned))


def _import_run() -> None:
    file = st.session_state.get(f"import_{st.session_state.get('imports', 0)}")
    if file is None:
        return
    st.session_state["imports"] = st.session_state.get("imports", 0) + 1  # a new key empties the field
    try:
        exported = recorded_run(file.getvalue())
        open_run(runtime.runs().import_run(exported, runtime.history_user()))
    except OpenQueryError as error:
        runtime.refuse(f"{file.name[:80]} was not imported. {error.message}", error.hint)


def repeated_question() -> Run | None:
    """Draw the state of a repeated question, and return its run, or None."""
    if run := run_asked_again():
        asked_again(run)
    return run


def nothing(runs: Sequence[RunSummary]) -> None:
    """Say that no run is listed."""
    none = "No run matches." if runs else "No runs yet. Ask a question on the Ask page."
    markup.show_empty(none, "history")


def count(runs: Sequence[RunSummary], listed: Sequence[RunSummary]) -> str:
    """Return how many runs there are and are listed."""
    entries = len(latest_turns(runs))
    words = f"{len(listed):,} shown of " if len(listed) < entries else ""
    words += pluralize(len(runs), "run")
    if entries < len(runs):
        words += f" in {pluralize(entries, 'conversation')}"
    return f"{words}. The latest {MAX_RUNS} are listed." if len(runs) == MAX_RUNS else words


def refresh_while_live(runs: Sequence[RunSummary], repeated: Run | None) -> None:
    """Draw the page again when a live run or a repeated question has changed."""
    asking = repeated is not None and repeated.live
    if asking or any(run.status in LIVE for run in runs):
        _refresh(runs, asking)


@st.fragment(run_every=REFRESH)
def _refresh(shown: Sequence[RunSummary], asking: bool) -> None:
    with suppress(OpenQueryError):  # the page says so when it is drawn next
        if runtime.history(MAX_RUNS) != shown or asking != _is_asking_again():
            st.rerun()


def _is_asking_again() -> bool:
    """Whether the run of a repeated question is live. The history may list it as done a moment earlier."""
    run = run_asked_again()
    return run is not None and run.live
