"""The History page: stored runs, to open, export, import or delete."""

import streamlit as st

from core.errors import OpenQueryError
from core.run.codec import run_to_json
from core.run.importer import LIMIT
from core.run.state import RunStatus
from core.storage.run_store import RunSummary
from core.text.safe_markdown import escape_html, markdown_label
from pages.parts import markup, runtime
from pages.parts.problems import problem, refusal

MAX_RUNS = 500
SHOWN = 25
STATUS_ICONS = {
    RunStatus.QUEUED: ("schedule", "busy"),
    RunStatus.RUNNING: ("progress_activity", "busy"),
    RunStatus.DONE: ("check_circle", "good"),
    RunStatus.STOPPED: ("stop_circle", "warn"),
    RunStatus.FAILED: ("error", "bad"),
    RunStatus.INTERRUPTED: ("power_off", "warn"),
}


def open_run(run_id: str) -> None:
    runtime.show_run(run_id)
    st.session_state["opening"] = True


def exported(run_id: str) -> bytes:
    run = runtime.runs().get(run_id)
    return run_to_json(run) if run else b"{}"


def import_run() -> None:
    """Store the uploaded run and open it, or show why it cannot be imported."""
    file = st.session_state.get(f"import_{st.session_state.get('imports', 0)}")
    if file is None:
        return
    st.session_state["imports"] = st.session_state.get("imports", 0) + 1  # a new key empties the field
    try:
        run_id = runtime.runs().import_run(file.getvalue(), runtime.history_owner())
    except OpenQueryError as error:
        runtime.refuse(f"{file.name[:80]} was not imported. {error.message}", error.hint)
    else:
        open_run(run_id)


def run_row(one: RunSummary) -> None:
    symbol, tone = STATUS_ICONS[one.status]
    status = f"{one.status} in another process" if one.elsewhere else str(one.status)
    with st.container(border=True, key=f"run_{one.id}", horizontal=True, vertical_alignment="center"):
        st.html(
            f'<div class="oq-hit full bare">{markup.status_icon(symbol, status, f"oq-status {tone}")}'
            f'<div class="oq-run"><b>{escape_html(one.question)}</b>'
            f"<span>{runtime.local_time(one.started)} · {status} · {markup.duration(one.seconds)}</span></div></div>",
            width="stretch",
        )
        st.button(
            "Open", key=f"open_{one.id}", icon=":material/open_in_full:", on_click=open_run, args=(one.id,)
        )
        st.download_button(
            "JSON",
            data=lambda: exported(one.id),
            file_name=f"openquery-{one.id[:8]}.json",
            mime="application/json",
            icon=":material/download:",
            type="tertiary",
            on_click="ignore",
            key=f"export_{one.id}",
        )
        with st.popover("Delete", icon=":material/delete:", type="tertiary", key=f"ask_delete_{one.id}"):
            st.markdown(f"Delete **{markdown_label(one.question, 120)}** permanently?")
            st.button(
                "Delete this run",
                key=f"delete_{one.id}",
                type="primary",
                on_click=runtime.runs().delete,
                args=(one.id,),
            )


if st.session_state.pop("opening", False):
    st.switch_page(runtime.RESEARCH, query_params={"run": st.session_state["run_id"]})

st.html(
    '<h1 class="oq-title">History</h1><p class="oq-lead">Every run is stored on this machine, with all of its steps.</p>'
)
try:
    runs = runtime.history(MAX_RUNS)
except OpenQueryError as error:
    problem(error)
    st.stop()
if runtime.runs().store.problem:
    st.warning(markdown_label(runtime.runs().store.problem, 400), icon=":material/save:")
refusal()
with st.container(horizontal=True, vertical_alignment="center"):
    words = st.text_input(
        "Search the history",
        key="history_words",
        placeholder="Filter questions …",
        icon=":material/search:",
        label_visibility="collapsed",
        width=420,
    )
    with st.popover("Import a run", icon=":material/upload:", type="tertiary", key="import"):
        st.file_uploader(
            "A run exported as JSON",
            type="json",
            key=f"import_{st.session_state.get('imports', 0)}",
            max_upload_size=LIMIT // 1_000_000,
            on_change=import_run,
            width=420,
        )
found = [one for one in runs if (words or "").casefold() in one.question.casefold()]
if not found:
    st.html(
        markup.empty(
            "No runs yet. Ask a question on the Research page." if not words else "No question matches."
        )
    )
shown = st.session_state.setdefault("history_shown", SHOWN)
for summary in found[:shown]:
    run_row(summary)
if len(found) > shown:
    st.button(
        f"Show more of {len(found)}",
        key="history_more",
        on_click=lambda: st.session_state.update(history_shown=shown + SHOWN),
    )
