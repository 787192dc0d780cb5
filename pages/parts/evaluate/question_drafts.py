"""Test questions drafted from passages, approved, and saved as a data set. Keys approve them."""

import streamlit as st
from htpy import Element, Node, div, h2, span, td, tr

from core.features.evaluate.labels.question_drafts import FAR, LEAK, TEMPLATE, Draft
from core.features.evaluate.services.question_drafting import Drafts, QuestionDrafting
from core.text.sanitize import one_line, pluralize
from pages.parts import document_library, markup, page_frame, runtime, widgets
from pages.parts.evaluate.label_comparison import RUNS
from pages.parts.passage_reader import reader
from pages.parts.problems import errors_inline

TITLE = "Test questions from your own passages"
LEAD = "Drafted, checked for repeating the words of their passage, approved by you, and kept as a data set."
MOST_ROWS = 200
_DECIDED, _OPEN = "drafts_decided", "draft_open"
"""Session keys: decisions that can be undone, as source and passage, and the open draft."""


@st.fragment(key="question_drafts")
@errors_inline
def section() -> None:
    """Draw the source, the draft to decide on, and the table."""
    drafts, running = _head()  # read once: all parts must wait for the same state
    if running:
        count = len(drafts.by_passage)
        page_frame.waiting(
            lambda: drafts.task is None or not drafts.task.live or len(drafts.by_passage) > count,
            "edit_note",
            f"Drafting … {pluralize(count, 'question')} so far",
            key="drafts_waiting",
        )
    elif drafts.task and (error := drafts.task.failure):
        drafts.task = None
        with errors_inline:
            raise error
    source: str = st.session_state["drafts_source"]
    if not drafts.by_passage:
        markup.show_empty("Nothing is drafted from these passages yet.", "edit_note")
        return
    left, right = st.columns([1, 1.35], gap="medium")
    undecided = [draft for draft in drafts.all if draft.approved is None]
    opened = drafts.by_passage.get(st.session_state.get(_OPEN) or "")
    current = opened if opened in undecided else next(iter(undecided), None)
    with left:
        if current:
            _decide_on(source, drafts, current, len(undecided))
        else:
            markup.show_empty("Every draft is decided on.", "done_all")
            widgets.undo_button(_DECIDED, _undo, key="draft_undo")
    with right:
        markup.show(_table(drafts, current))


def _head() -> tuple[Drafts, bool]:
    """Draw the source, the number of questions, and the new data set.

    Returns the drafts, and whether more are being written.
    """
    drafting = runtime.runs().service(QuestionDrafting)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="drafts_head"):
        source = st.selectbox(
            "Passages of",
            ["", *document_library.collections()],
            key="drafts_source",
            format_func=lambda name: name or "stored runs",
            width=220,
            persist_state="session",
        )
        count = st.number_input(
            "Questions", 1, 200, 20, key="drafts_count", width=120, persist_state="session"
        )
        drafts = drafting.of(source)
        running = drafts.task is not None and drafts.task.live
        widgets.button(
            f"Draft {count}",
            "edit_note",
            _start,
            source,
            int(count),
            key="drafts_start",
            type="secondary" if drafts.by_passage else "primary",
            disabled=running,
            help="The connected chat model writes a question for each passage; without one, they are made of headings.",
        )
        if drafts.by_passage:
            name = st.text_input("Name", "drafted questions", key="drafts_name", max_chars=60, width=200)
            widgets.button(
                f"Make a data set of {drafts.approved:,}",
                "database",
                _save,
                source,
                name,
                key="drafts_save",
                type="primary",
                disabled=not drafts.approved,
            )
    if saved := st.session_state.pop("drafts_saved", ""):
        st.success(f"The data set “{saved}” can be chosen under New, and by `openquery eval run`.")
    return drafts, running


def _start(source: str, count: int) -> None:
    with runtime.errors_after_rerun:
        runs = [] if source else [run.id for run in runtime.history(RUNS) if run.passages]
        runtime.runs().service(QuestionDrafting).start(source, runs, count, runtime.access())


def _save(source: str, name: str) -> None:
    with runtime.errors_after_rerun:
        st.session_state["drafts_saved"] = (
            runtime.runs().service(QuestionDrafting).save(source, one_line(name) or "drafts")
        )


def _decide_on(source: str, drafts: Drafts, draft: Draft, left: int) -> None:
    """Draw the draft with passage, checks and decision buttons."""
    pages, passages = drafts.material
    place, drafting = draft.passage.place, runtime.runs().service(QuestionDrafting)

    def decide(approved: bool) -> None:
        drafting.decide(source, draft.passage.id, approved)
        st.session_state[_DECIDED].append((source, draft.passage.id))

    def controls() -> None:
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="draft_keys"):
            widgets.button("Approve", "check", decide, True, key="draft_approve", shortcut="a")
            widgets.button("Drop", "close", decide, False, key="draft_drop", shortcut="d")
            widgets.undo_button(_DECIDED, _undo, key="draft_undo")

    by = "made of a heading" if draft.author == TEMPLATE else f"by {draft.author}"
    markup.show(div(".oq-to-label")[span[f"{left:,} to decide on, {by}"], h2(dir="auto")[draft.question]])
    reader(
        pages[place.page],
        place,
        label="Answered by",
        facts=(
            markup.fact(
                f"{draft.overlap:.0%}", "of its words stand in the passage", f"Above {LEAK:.0%} it leaks."
            ),
            markup.fact(
                f"rank {draft.rank:,}", f"of {len(passages):,} by BM25", f"Below {FAR} it is not found."
            ),
            span(".bad")[draft.warning],
        ),
        key="reader_draft",
        controls=controls,
    )
    key = f"draft_words_{draft.passage.id}"

    def edit() -> None:
        words = one_line(st.session_state[key])
        if words and words != draft.question:
            drafting.edit(source, draft.passage.id, words)

    st.text_input("Edit the question", draft.question, key=key, max_chars=300, on_change=edit)


def _undo(decided: tuple[str, str]) -> None:
    runtime.runs().service(QuestionDrafting).decide(*decided, None)
    st.session_state[_OPEN] = decided[1]


def _table(drafts: Drafts, current: Draft | None) -> Element:
    every = drafts.all
    warnings = sum(bool(draft.warning) for draft in every)
    titles = ("question", "passage", "overlap", "BM25", "by", "check")
    rows = (_row(drafts, draft, current) for draft in every[:MOST_ROWS])
    return div(".oq-labelled")[
        markup.section_heading(
            "Drafts", f"{len(every):,} drafted, {drafts.approved:,} approved; {warnings:,} with a warning"
        ),
        markup.data_table("Drafts and their checks", titles, rows, "oq-settings drafts"),
    ]


def _row(drafts: Drafts, draft: Draft, current: Draft | None) -> Element:
    place = draft.passage.place
    page = drafts.material[0][place.page]
    outcome: Node = {True: "approved", False: "dropped"}.get(bool(draft.approved))
    if draft.approved is None:
        warning = draft.warning and span(".oq-tag.warn")[draft.warning]
        outcome = [warning, " now" if draft is current else "" if warning else "to decide"]
    return tr(class_={"on": draft is current})[
        td(dir="auto")[draft.question],
        td[page.article.section_at(place.start) or page.title],
        td[f"{draft.overlap:.2f}"],
        td[f"{draft.rank:,}"],
        td["template" if draft.author == TEMPLATE else "model"],
        td[outcome],
    ]
