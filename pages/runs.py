"""The History page: stored runs and their actions.

They can be filtered, opened, asked again, compared, exported, tagged, deleted or imported.
"""

from contextlib import suppress
from functools import partial

import streamlit as st

from core.analysis.conversation import latest_turns
from core.analysis.history import all_tags, matching_runs
from core.errors import OpenQueryError
from core.run.importer import LIMIT
from core.run.state import RunStatus
from core.storage.bundle import recorded_run
from core.storage.run_summaries import RunSummary
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import pluralize
from pages.parts import address, markup, runtime, widgets
from pages.parts.history.history_actions import asked_again, history_actions, run_asked_again
from pages.parts.history.history_table import history_table
from pages.parts.problems import needed, refusal

MAX_RUNS = 500
LIVE = (RunStatus.QUEUED, RunStatus.RUNNING)
REFRESH = 2.0
"""Seconds between drawings during a live run."""


def import_run() -> None:
    """Store and open the uploaded run, or show a refusal."""
    file = st.session_state.get(f"import_{st.session_state.get('imports', 0)}")
    if file is None:
        return
    st.session_state["imports"] = st.session_state.get("imports", 0) + 1  # a new key empties the field
    try:
        exported = recorded_run(file.getvalue())
        st.session_state["opening"] = runtime.runs().import_run(exported, runtime.history_user())
    except OpenQueryError as error:
        runtime.refuse(f"{file.name[:80]} was not imported. {error.message}", error.hint)


def open_run(run_id: str) -> None:
    """Open a run on the Research page."""
    st.session_state["opening"] = run_id


@st.fragment(run_every=REFRESH)
def refresh(shown: tuple[RunSummary, ...], asking: bool) -> None:
    """Draw the page again if the history or a repeated question has changed."""
    with suppress(OpenQueryError):  # the page says so when it is drawn next
        if runtime.history(MAX_RUNS) != shown or asking != is_asking_again():
            st.rerun()


def is_asking_again() -> bool:
    """Whether the run of a repeated question is live. The history may list it as done a moment earlier."""
    run = run_asked_again()
    return run is not None and run.live


address.keep_history(None, opens=True)
if opening := st.session_state.pop("opening", ""):
    st.switch_page(runtime.RESEARCH, query_params={"run": opening})

markup.show(markup.title("History", "Every run is stored on this machine, with all of its steps."))
with needed:
    runs = runtime.history(MAX_RUNS)
if runtime.runs().store.problem:
    st.warning(markdown_label(runtime.runs().store.problem, 400), icon=":material/save:")
with st.container(horizontal=True, vertical_alignment="center", key="history_filters"):
    words = widgets.search_field(
        "Search the history", "Filter questions …", key="history_words", persist_state="session", width=340
    )
    filter_field = partial(st.multiselect, label_visibility="collapsed", persist_state="session", width=220)
    statuses = filter_field(
        "Status", [str(status) for status in RunStatus], key="history_statuses", placeholder="Any status"
    )
    offered = {*all_tags(runs), *st.session_state.get("history_filter_tags", ())}
    tags = filter_field(
        "Tags", sorted(offered, key=str.casefold), key="history_filter_tags", placeholder="Any tag"
    )
    with st.popover("Import a run", icon=":material/upload:", type="tertiary", key="import"):
        st.file_uploader(
            "A run exported as a bundle or as JSON",
            type=["zip", "json"],
            key=f"import_{st.session_state.get('imports', 0)}",
            max_upload_size=LIMIT // 1_000_000,
            on_change=import_run,
            width=420,
        )


listed_runs = latest_turns(matching_runs(runs, words or "", statuses, tags))
refusal()
if repeated := run_asked_again():
    asked_again(repeated)
if listed_runs:
    actions = st.container()
    selected = history_table(listed_runs, open_run)
    with actions:
        history_actions(selected, runs)
    entries = len(latest_turns(runs))
    count = f"{len(listed_runs):,} shown of " if len(listed_runs) < entries else ""
    count += pluralize(len(runs), "run")
    if entries < len(runs):
        count += f" in {pluralize(entries, 'conversation')}"
    st.caption(f"{count}. The latest {MAX_RUNS} are listed." if len(runs) == MAX_RUNS else count)
else:
    none = "No run matches." if runs else "No runs yet. Ask a question on the Research page."
    markup.show_empty(none, "history")
asking = repeated is not None and repeated.live
if asking or any(run.status in LIVE for run in runs):
    refresh(runs, asking)
