"""Adding documents to a collection, with progress and report."""

from pathlib import Path

import streamlit as st
from htpy import Element, b, div, p, span

from core.errors import OpenQueryError
from core.features.library.ingests import (
    Address,
    Folder,
    Ingest,
    IngestAction,
    IngestSource,
    IngestState,
    IngestTask,
    RunPages,
    Sitemap,
    TaskState,
    Upload,
)
from core.features.library.running_ingest import RunningIngest
from core.reading.file_types import DOCUMENTS
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import distinct_labels, pluralize
from pages.parts import document_library, markup, runtime, widgets

MARKS = {
    TaskState.WAITING: ("schedule", ""),
    TaskState.READING: ("menu_book", "busy"),
    TaskState.EMBEDDING: ("scatter_plot", "busy"),
    TaskState.DONE: ("check_circle", "good"),
    TaskState.FAILED: ("error", "bad"),
    TaskState.SKIPPED: ("do_not_disturb_on", ""),
}
LISTED = 300
"""Tasks of an ingest to draw, failures before the others."""
RUNS = 30
START_TIMEOUT = 120.0
"""Seconds."""


def select_collection(name: str) -> None:
    """Show this collection from the next script run. "" means the default collection."""
    st.session_state["collection"] = name
    for part in ("document", "passage", "page"):
        st.query_params.pop(part, None)
    if name:
        st.query_params["collection"] = name
    else:
        st.query_params.pop("collection", None)


def _largest() -> int:
    """The largest upload in megabytes, within Streamlit's own limit."""
    limit: int = st.get_option("server.maxUploadSize")
    return max(1, min(int(runtime.runs().settings.file_megabytes), limit))


def form(name: str) -> None:
    """Draw the form that adds files, addresses and text."""
    if not document_library.may_change_library():
        st.info(
            "This server is shared, so only its operator adds documents: "
            "`openquery ingest COLLECTION FILES` on the server.",
            icon=":material/lock:",
        )
        return
    left, right = st.columns([1.25, 1], gap="large")
    with left, st.form("upload_form", border=False, clear_on_submit=True):
        files = st.file_uploader(
            "Files",
            accept_multiple_files=True,
            key="uploads",
            # No list of endings: the bytes tell the type, and the report names what is no document.
            help=f"A file is {DOCUMENTS}, or a zip of such files.",
            max_upload_size=_largest(),
        )
        if st.form_submit_button(
            "Add these files", key="add_files", icon=":material/upload:", type="primary"
        ):
            _start(name, [Upload(file.name, file.getvalue()) for file in files or ()])
    with right:
        with st.form("address_form", border=False, clear_on_submit=True):
            st.text_area(
                "Addresses",
                key="addresses",
                height=108,
                placeholder="https://example.org/task.pdf\nhttps://example.org/sitemap.xml",
                help="One per line. An address that ends in .xml or .xml.gz is read as a sitemap, and all its pages "
                "on the same host are added.",
            )
            if st.form_submit_button("Add these pages", key="add_addresses", icon=":material/link:"):
                _start(name, [_address(line) for line in st.session_state["addresses"].split()])
        with st.expander(
            "From a folder of the server or a run", icon=":material/folder_open:", key="more_ways"
        ):
            _run_pages(name)
            if folders := runtime.runs().settings.document_folders:
                with st.form("folder_form", border=False):
                    path = st.text_input("Folder on the server", key="folder", placeholder=str(folders))
                    if st.form_submit_button("Add this folder", key="add_folder", icon=":material/folder:"):
                        _start(name, [Folder(Path(path))] if path.strip() else [])
            else:
                st.caption("Name folders in OPENQUERY_DOCUMENT_FOLDERS to add from the server's disk.")


def _address(line: str) -> IngestSource:
    path = line.partition("?")[0].lower()
    return Sitemap(line) if path.endswith((".xml", ".xml.gz")) else Address(line)


def _run_pages(name: str) -> None:
    try:
        labels = distinct_labels({summary.id: summary.question for summary in runtime.history(RUNS)})
    except OpenQueryError:
        labels = {}
    if not labels:
        st.caption("After your first question, the pages that it read can be added here.")
        return
    with st.form("run_form", border=False):
        chosen = st.selectbox(
            "Pages of a run", list(labels), format_func=labels.__getitem__, key="run_of_pages"
        )
        if st.form_submit_button("Add its pages", key="add_run", icon=":material/history:"):
            run = runtime.runs().get(chosen)
            _start(name, [RunPages(run)] if run else [])


def _start(name: str, sources: list[IngestSource]) -> None:
    library, registry = document_library.library(), runtime.runs()
    with runtime.errors_after_rerun, st.spinner("Adding …"):
        adding = library.ingests.add(name, sources, access=runtime.access())
        st.session_state["ingesting"] = registry.call(adding, timeout=START_TIMEOUT)
        document_library.forget_collections()
        select_collection(name)
    st.rerun()


# --- progress ---------------------------------------------------------------------------------------------


def ingest_of(name: str) -> tuple[RunningIngest, bool] | None:
    """Return the running or latest ingest into this collection, and whether it is live.

    A page calls this before it reads the collection: of an ingest that was not live then, all added documents
    are read. In the other order, an ingest that ended in between would be reported as finished above a
    collection without its documents.
    """
    job: RunningIngest | None = st.session_state.get("ingesting")
    if job is None or job.progress.collection != name:
        job = next(iter(document_library.library().ingests.running(name)), None)
    return (job, job.progress.live) if job else None


def progress(ingest: tuple[RunningIngest, bool] | None) -> None:
    """Draw the progress and report of an ingest by task. The whole page is drawn again at the end."""
    _resume_offer()
    if ingest is None:
        return
    job, live = ingest

    @st.fragment(run_every=0.5 if live else None, key="ingest")
    def draw() -> None:
        state = job.progress
        if live and not state.live:
            document_library.forget_collections()
            st.rerun()
        _report(job, state)

    draw()


def _resume_offer() -> None:
    registry, library = runtime.runs(), document_library.library()
    try:
        unfinished = registry.call(library.ingests.unfinished(), timeout=10)
    except OpenQueryError:
        return
    if unfinished and document_library.may_change_library():
        waiting = sum(len(ingest.tasks) - ingest.ended for ingest in unfinished)
        with st.container(horizontal=True, vertical_alignment="center", border=True, key="left_behind"):
            st.markdown(
                f"An import was interrupted: {pluralize(waiting, 'document')} still to be added.",
                width="stretch",
            )
            widgets.button("Resume", "play_arrow", _resume, key="go_on")


def _resume() -> None:
    with runtime.errors_after_rerun:
        resuming = document_library.library().ingests.resume(access=runtime.access())
        if jobs := runtime.runs().call(resuming, timeout=START_TIMEOUT):
            st.session_state["ingesting"] = jobs[0]


def _report(job: RunningIngest, state: Ingest) -> None:
    counts, total = state.counts, len(state.tasks)
    with st.container(border=True, key="ingest_report", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{_headline(state)}**", width="stretch")
            if not state.live:
                widgets.close_button(st.session_state.pop, "ingesting", key="close_ingest")
            elif document_library.may_change_library():
                widgets.button("Stop", "stop_circle", job.cancel, key="stop_ingest")
        markup.show(
            markup.meter(state.ended / max(1, total)),
            markup.facts(
                markup.fact(f"{counts[TaskState.DONE]:,}", "added"),
                markup.fact(f"{counts[TaskState.SKIPPED]:,}", "skipped"),
                markup.fact(
                    f"{counts[TaskState.FAILED]:,}", "failed", tone="bad" if counts[TaskState.FAILED] else ""
                ),
                markup.count(state.passages, "passage"),
                markup.fact(markup.duration(state.seconds), ""),
            ),
        )
        if state.message:
            st.warning(markdown_label(state.message, 400), icon=":material/power_off:")
        ordered = sorted(state.tasks, key=lambda task: (task.state is not TaskState.FAILED, task.state.ended))
        more = total > LISTED and p[f"… and {total - LISTED:,} more."]
        markup.show(markup.region("oq-ingest", "Import report")[map(_row, ordered[:LISTED]), more])


def _headline(state: Ingest) -> str:
    adding = state.action is IngestAction.ADD
    if state.live:
        verb = "Adding" if adding else "Re-embedding"
        return f"{verb} {state.ended:,} of {pluralize(len(state.tasks), 'document')}"
    subject = "Import" if adding else "Re-embedding"
    stopped = state.state in (IngestState.STOPPED, IngestState.INTERRUPTED)
    words = {TaskState.DONE: "added" if adding else "embedded"}
    counts = [
        f"{state.counts[task_state]:,} {words.get(task_state, task_state)}"
        for task_state in (TaskState.DONE, TaskState.SKIPPED, TaskState.FAILED)
        if state.counts[task_state] or task_state is TaskState.DONE
    ]
    return f"{subject} {state.state if stopped else 'finished'}: {', '.join(counts)}"


def _row(task: IngestTask) -> Element:
    symbol, tone = MARKS[task.state]
    facts = (
        pluralize(task.passages, "passage") if task.passages else "",
        pluralize(task.pages, "page") if task.pages else "",
        task.reason,
    )
    details = " · ".join(filter(None, facts if task.state is TaskState.DONE else (task.reason,))) or str(
        task.state
    )
    return div(".oq-hit.full.bare")[
        markup.status_icon(symbol, str(task.state), f"oq-status {tone}"),
        div(".oq-run")[b[task.name], span[details]],
    ]
