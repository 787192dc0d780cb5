"""Adding documents to a collection, and how far that is."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from core.errors import OpenQueryError
from core.library.ingest_reports import Ingest, IngestState, Report, TaskState
from core.library.ingest_sources import Address, Folder, IngestSource, RunPages, Sitemap, Upload
from core.library.library import Ingesting
from core.text.safe_markdown import escape_html, markdown_label
from core.text.sanitize import pluralize
from pages.parts import markup, runtime

TYPES = [
    "pdf",
    "docx",
    "odt",
    "pptx",
    "xlsx",
    "epub",
    "html",
    "htm",
    "md",
    "txt",
    "csv",
    "tsv",
    "json",
    "xml",
    "zip",
]
MARKS = {
    TaskState.WAITING: ("schedule", ""),
    TaskState.READING: ("menu_book", "busy"),
    TaskState.EMBEDDING: ("scatter_plot", "busy"),
    TaskState.DONE: ("check_circle", "good"),
    TaskState.FAILED: ("error", "bad"),
    TaskState.SKIPPED: ("do_not_disturb_on", ""),
}
LISTED = 300
"""Documents of an ingest that are drawn; failures come first."""
RUNS = 30
BEGIN_WAIT = 120.0
"""Seconds."""


def show(name: str) -> None:
    """Look at this collection from the next drawing on; with "" at the usual one."""
    st.session_state["collection"] = name
    for part in ("document", "passage", "page"):
        st.query_params.pop(part, None)
    if name:
        st.query_params["collection"] = name
    else:
        st.query_params.pop("collection", None)


def _largest() -> int:
    """Megabytes of a file that is sent from the browser: Streamlit's own limit holds too."""
    return max(1, min(int(runtime.runs().settings.file_megabytes), st.get_option("server.maxUploadSize")))


def adding(name: str) -> None:
    if not runtime.may_change_library():
        st.info(
            "This OpenQuery is shared, so its operator alone adds documents: "
            "`python -m core ingest COLLECTION FILES` on the server.",
            icon=":material/lock:",
        )
        return
    left, right = st.columns([1.25, 1], gap="large")
    with left, st.form("upload_form", border=False, clear_on_submit=True):
        files = st.file_uploader(
            "Files",
            type=TYPES,
            accept_multiple_files=True,
            key="uploads",
            help="A zip of such files is unpacked.",
            max_upload_size=_largest(),
        )
        if st.form_submit_button(
            "Add these files", key="add_files", icon=":material/upload:", type="primary"
        ):
            _begin(name, [Upload(one.name, one.getvalue()) for one in files or ()])
    with right:
        with st.form("address_form", border=False, clear_on_submit=True):
            st.text_area(
                "Addresses",
                key="addresses",
                height=108,
                placeholder="https://example.org/report.pdf\nhttps://example.org/sitemap.xml",
                help="One a line. An address that ends in .xml or .xml.gz is taken for a sitemap, and all pages "
                "on its host that it names are added.",
            )
            if st.form_submit_button("Add these pages", key="add_addresses", icon=":material/link:"):
                _begin(name, [_address(line) for line in st.session_state["addresses"].split()])
        with st.expander("A folder, or the pages of a run", icon=":material/folder_open:", key="more_ways"):
            _run_pages(name)
            if folders := runtime.runs().settings.document_folders:
                with st.form("folder_form", border=False):
                    path = st.text_input("Folder on the server", key="folder", placeholder=str(folders))
                    if st.form_submit_button("Add this folder", icon=":material/folder:"):
                        _begin(name, [Folder(Path(path))] if path.strip() else [])
            else:
                st.caption("Name folders in OPENQUERY_DOCUMENT_FOLDERS to add from the server's disk.")


def _address(line: str) -> IngestSource:
    path = line.partition("?")[0].lower()
    return Sitemap(line) if path.endswith((".xml", ".xml.gz")) else Address(line)


def _run_pages(name: str) -> None:
    try:
        known = {one.id: one.question for one in runtime.history(RUNS)}
    except OpenQueryError:
        known = {}
    if not known:
        st.caption("Once you have asked a question, the pages that it read can be kept here.")
        return
    with st.form("run_form", border=False):
        chosen = st.selectbox(
            "Pages of a run", list(known), format_func=known.__getitem__, key="run_of_pages"
        )
        if st.form_submit_button("Add its pages", key="add_run", icon=":material/history:"):
            run = runtime.runs().get(chosen)
            _begin(name, [RunPages(run)] if run else [])


def _begin(name: str, items: list[IngestSource]) -> None:
    library, registry = runtime.library(), runtime.runs()
    try:
        with st.spinner("Taking them in …"):
            job = registry.call(library.ingest(name, items, access=runtime.access()), timeout=BEGIN_WAIT)
    except OpenQueryError as error:
        runtime.refuse(error.message, error.hint)
    else:
        st.session_state["ingesting"] = job
        runtime.collections.clear()
        show(name)
    st.rerun()


# --- progress ---------------------------------------------------------------------------------------------


def progress(name: str) -> None:
    """What is being added, or was added last, document by document."""
    _left_behind()
    job: Ingesting | None = st.session_state.get("ingesting")
    if job is None or job.progress.collection != name:
        job = next(iter(runtime.library().under_way(name)), None)
    if job is None:
        return
    live = job.progress.live

    @st.fragment(run_every=0.5 if live else None, key="ingest")
    def drawn() -> None:
        state = job.progress
        if live and not state.live:
            runtime.collections.clear()
            st.rerun()
        _drawn(job, state)

    drawn()


def _left_behind() -> None:
    registry, library = runtime.runs(), runtime.library()
    try:
        left = registry.call(library.unfinished(), timeout=10)
    except OpenQueryError:
        return
    if left and runtime.may_change_library():
        waiting = sum(len(one.reports) - one.ended for one in left)
        with st.container(horizontal=True, vertical_alignment="center", border=True, key="left_behind"):
            st.markdown(
                f"{waiting:,} documents were still to be added when OpenQuery ended last.", width="stretch"
            )
            st.button("Go on", key="go_on", icon=":material/play_arrow:", on_click=_resume)


def _resume() -> None:
    try:
        jobs = runtime.runs().call(runtime.library().resume(access=runtime.access()), timeout=BEGIN_WAIT)
    except OpenQueryError as error:
        runtime.refuse(error.message, error.hint)
        return
    if jobs:
        st.session_state["ingesting"] = jobs[0]


def _drawn(job: Ingesting, state: Ingest) -> None:
    counts, total = state.counts, len(state.reports)
    with st.container(border=True, key="ingest_report", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center"):
            verb = "Embedding anew" if state.verb != "add" else "Adding"
            doing = f"{verb} {total:,} documents" if state.live else _ending(state)
            st.markdown(f"**{doing}**", width="stretch")
            if state.live:
                st.button("Stop", key="stop_ingest", icon=":material/stop_circle:", on_click=job.cancel)
            else:
                st.button(
                    "Close", key="close_ingest", icon=":material/close:", type="tertiary", on_click=_close
                )
        st.html(
            markup.meter(state.ended / max(1, total))
            + markup.facts(
                markup.fact(f"{counts[TaskState.DONE]:,}", "added"),
                markup.fact(f"{counts[TaskState.SKIPPED]:,}", "skipped"),
                markup.fact(
                    f"{counts[TaskState.FAILED]:,}", "failed", tone="bad" if counts[TaskState.FAILED] else ""
                ),
                markup.fact(f"{state.passages:,}", "passages"),
                markup.fact(markup.duration(state.seconds), ""),
            )
        )
        if state.message:
            st.warning(markdown_label(state.message, 400), icon=":material/power_off:")
        ordered = sorted(state.reports, key=lambda one: (one.state is not TaskState.FAILED, one.state.ended))
        rows = "".join(map(_row, ordered[:LISTED]))
        more = f"<p>… and {total - LISTED:,} more.</p>" if total > LISTED else ""
        st.html(f'<div class="oq-ingest" tabindex="0" role="region" aria-label="Report">{rows}{more}</div>')


def _ending(state: Ingest) -> str:
    return {
        IngestState.DONE: "All is in",
        IngestState.STOPPED: "Stopped",
        IngestState.INTERRUPTED: "Interrupted",
        IngestState.LIVE: "",
    }[state.course] + (" · some documents could not be added" if state.counts[TaskState.FAILED] else "")


def _row(report: Report) -> str:
    symbol, tone = MARKS[report.state]
    told = report.reason or (
        pluralize(report.passages, "passage")
        + (f" · {pluralize(report.pages, 'page')}" if report.pages else "")
        if report.state is TaskState.DONE
        else str(report.state)
    )
    return (
        f'<div class="oq-hit full bare">{markup.status_icon(symbol, str(report.state), f"oq-status {tone}")}'
        f'<div class="oq-run"><b>{escape_html(report.name)}</b><span>{escape_html(told)}</span></div></div>'
    )


def _close() -> None:
    st.session_state.pop("ingesting", None)
