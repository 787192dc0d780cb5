"""The follow-up question at the end of a conversation.

It is shown as written, as rewritten, and with its sources of pages.
"""

import difflib
import secrets
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import streamlit as st
from htpy import Element, Node, div, i, mark, p, span
from numpy.typing import NDArray

from core.analysis.conversation import turn_cost
from core.errors import OpenQueryError
from core.model import AnswerFrom
from core.run.state import Run
from core.stages.conversation.coverage import ENOUGH_COVERAGE, Coverage
from core.stages.conversation.follow_up import FollowUpDraft
from core.stages.conversation.next_questions import next_questions as questions_from_headings
from core.text.display import decimal
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import pluralize
from pages.parts import browser, markup, page_frame, problems, runtime, widgets
from pages.parts.problems import problem
from pages.parts.sidebar import controls

ANSWER_FROM = {
    AnswerFrom.PAGES: "The pages in hand",
    AnswerFrom.SEARCH: "Search again",
    AnswerFrom.BOTH: "Both",
}
FIRST_WAIT = 0.3
"""Seconds to wait for a draft before drawing the page. Without a chat model a draft takes less."""
DRAFT = "follow_up_draft"
"""Session key of the follow-up being drafted, or drafted last."""
COVERAGE = (
    "How well the best passage covers the question: half of it is the share of the question's words that it has, "
    "rare words counting more, half its similarity to the question."
)
WRITING = "next_questions"
"""Session key: a run, and the next questions being written for it."""


@dataclass(frozen=True)
class Drafting:
    """A follow-up of a run, and its future draft."""

    run_id: str
    written: str
    draft: Future[FollowUpDraft]
    id: str = field(default_factory=lambda: secrets.token_hex(8))


def follow_up(run: Run) -> None:
    """Draw the follow-up field of an ended run.

    The run is the last turn of its conversation. Its draft and suggested questions are drawn too.
    """
    if run.live or not run.pages:
        return
    drafting: Drafting | None = st.session_state.get(DRAFT)
    with st.container(key="follow_up"):
        if drafting is None or drafting.run_id != run.id:
            _form(run)
        elif not drafting.draft.done():
            text = f"Rewriting “{drafting.written}” so that it stands alone …"
            page_frame.waiting(drafting.draft.done, "edit_note", text, key="follow_up_waiting")
            widgets.button("Cancel", "", _cancel, key="cancel_follow_up", type="tertiary")
        else:
            try:
                draft = drafting.draft.result()
            except OpenQueryError as error:
                problem(error)
                _form(run)
            else:
                _draft(draft, run)
                browser.reveal("follow_up_card", drafting.id)
                return
        next_questions(run, start)


def drafted_vector(run: Run) -> NDArray[np.float32] | None:
    """Return the vector of the follow-up of a run that is drafted but not asked, or None."""
    drafting: Drafting | None = st.session_state.get(DRAFT)
    if drafting is None or drafting.run_id != run.id or not drafting.draft.done():
        return None
    if drafting.draft.cancelled() or drafting.draft.exception():
        return None
    coverage = drafting.draft.result().coverage
    return coverage.vector if coverage else None


def _form(run: Run) -> None:
    with (
        st.form("follow_up_form", border=False),
        st.container(key="follow_up_line", horizontal=True, vertical_alignment="center", gap="small"),
    ):
        st.text_input(
            "Follow-up",
            key="follow_up_text",
            label_visibility="collapsed",
            placeholder="Ask a follow-up",
            icon=":material/chat:",
            width="stretch",
            autocomplete="off",
        )
        st.form_submit_button(
            "Follow up",
            key="follow_up_go",
            icon=":material/arrow_forward:",
            icon_position="right",
            on_click=start,
            args=(run.id,),
        )


def start(run_id: str, question: str | None = None) -> None:
    """Start rewriting a follow-up, and wait briefly. Without `question`, the text of the field is used."""
    written = st.session_state.get("follow_up_text", "") if question is None else question
    for name in ("standalone", "answer_from"):
        st.session_state.pop(name, None)
    with runtime.errors_after_rerun:
        draft = runtime.runs().conversations.draft(run_id, written, runtime.access())
        st.session_state[DRAFT] = Drafting(run_id, written, draft)
        wait([draft], FIRST_WAIT)


def _draft(draft: FollowUpDraft, run: Run) -> None:
    st.session_state.setdefault("standalone", draft.question)
    st.session_state.setdefault("answer_from", draft.turn.answer_from)
    with st.container(border=True, key="follow_up_card"):
        markup.show(p(".oq-written", dir="auto")["You wrote ", span[f"“{draft.turn.written}”"]])
        by = f"rewritten by {draft.turn.author}" if draft.turn.author else ""
        with st.container(horizontal=True, vertical_alignment="center", key="runs_as"):
            markup.show(markup.section_heading("Runs as", by))
            if draft.question != draft.turn.written:
                as_written = partial(st.session_state.update, standalone=draft.turn.written)
                widgets.button("Use my words", "", as_written, key="my_words", type="tertiary")
        # A form, so that Ctrl+Enter asks it from its own field alone.
        with st.form("follow_up_draft_form", border=False):
            st.text_area("Runs as", key="standalone", label_visibility="collapsed", height="content")
            if added := _added(draft):
                markup.show(added)
            for note in draft.turn.notes:
                st.caption(f":material/info: {markdown_label(note, 400)}")
            _answer_from(draft, run)
            with st.container(horizontal=True, horizontal_alignment="right", key="draft_actions"):
                st.form_submit_button(
                    "Ask",
                    key="follow_up_ask",
                    icon=":material/arrow_forward:",
                    icon_position="right",
                    type="primary",
                    on_click=_ask,
                    args=(draft,),
                )
                st.form_submit_button("Cancel", key="cancel_follow_up", type="tertiary", on_click=_cancel)


def _answer_from(draft: FollowUpDraft, run: Run) -> None:
    """Draw the choice of pages, with what each choice is expected to take."""
    coverage, suggested = draft.coverage, draft.turn.answer_from
    markup.show(
        markup.section_heading(
            "Answer from", f"at {decimal(ENOUGH_COVERAGE, 2)} or more no search is needed" if coverage else ""
        )
    )
    in_hand, new = _expected(run, searched=False), _expected(run, searched=True)
    captions = {AnswerFrom.PAGES: in_hand, AnswerFrom.SEARCH: new, AnswerFrom.BOTH: new}
    st.radio(
        "Answer from",
        list(ANSWER_FROM),
        format_func=ANSWER_FROM.__getitem__,
        captions=[
            ", ".join(filter(None, (captions[choice], "suggested" if choice is suggested else "")))
            for choice in ANSWER_FROM
        ],
        key="answer_from",
        horizontal=True,
        label_visibility="collapsed",
        width="stretch",
    )
    if coverage:
        markup.show(_coverage(coverage))


def _expected(run: Run, *, searched: bool) -> str:
    """Return what the next turn is expected to take, or "". It is what an earlier turn took."""
    prices = runtime.prices()
    cost = turn_cost(run, prices, searched=searched)
    if cost is None and searched and (first := runtime.runs().get(run.conversation)):
        cost = turn_cost(first, prices, searched=True)
    if cost is None:
        return ""
    tokens = cost.usage.tokens
    parts = [
        f"about {markup.duration(cost.seconds)}",
        pluralize(tokens.total_tokens, "token") if tokens else "",
        str(cost.usage.cost or ""),
    ]
    return ", ".join(filter(None, parts))


def _added(draft: FollowUpDraft) -> Node:
    """Return the standalone question with added words marked, or None if unchanged."""
    written, words = draft.turn.written.casefold().split(), draft.question.split()
    matcher = difflib.SequenceMatcher(None, written, [word.casefold() for word in words], autojunk=False)
    if draft.question == draft.turn.written:
        return None
    pieces: list[Node] = []
    for kind, _, _, start, end in matcher.get_opcodes():
        text = " ".join(words[start:end])
        pieces += [text if kind == "equal" else mark[text], " "] if text else []
    return p(".oq-added", dir="auto")[pieces]


def _coverage(coverage: Coverage) -> Element:
    terms = (
        span(class_=["oq-term", {"missing": not term.passages}])[
            term.term, " ", span[pluralize(term.passages, "passage") if term.passages else "none"]
        ]
        for term in coverage.terms
    )
    return div(".oq-coverage")[
        div(".figure", title=COVERAGE)[
            "Coverage of the pages in hand ",
            span(".value")[decimal(coverage.value, 2)],
            div(".oq-meter", role="img", aria_label=f"Coverage {decimal(coverage.value, 2)}")[
                i(style=f"width:{coverage.value:.1%}"), span(style=f"left:{ENOUGH_COVERAGE:.0%}")
            ],
        ],
        div(".terms")[terms],
        coverage.note and p[coverage.note],
    ]


def _cancel() -> None:
    if drafting := st.session_state.pop(DRAFT, None):
        drafting.draft.cancel()


def _ask(draft: FollowUpDraft) -> None:
    asked = draft.changed(
        question=st.session_state["standalone"], answer_from=AnswerFrom(st.session_state["answer_from"])
    )
    with runtime.errors_after_rerun:
        run_id = runtime.runs().start(
            asked.question, controls.knobs(), runtime.access(), user=runtime.history_user(), turn=asked.turn
        )
        _cancel()
        st.session_state.pop("follow_up_text", None)
        runtime.show_run(run_id)


def next_questions(run: Run, ask: Callable[[str, str], None]) -> None:
    """Draw buttons with suggested next questions.

    The questions repeat headings, or the chat model writes them on request. `ask` gets the id of the run and
    the chosen question.
    """
    writing: tuple[str, Future[tuple[str, ...]]] | None = st.session_state.get(WRITING)
    written = writing[1] if writing and writing[0] == run.id else None
    if written is not None and not written.done():
        text = "Writing next questions from the pages in hand …"
        page_frame.waiting(written.done, "auto_awesome", text, key="next_questions_waiting")
        return
    headings: tuple[str, ...] = ()
    if run.index is not None and run.ranking is not None:
        headings = questions_from_headings(run.index, run.ranking, run.pages, [run.question, run.written])
    questions = _written(written) if written else headings
    model = run.answer.model if run.answer else ""
    if not questions and (written or not model):
        return
    markup.show(markup.section_heading("Next questions", "answerable from these pages"))
    with st.container(key="next_questions", horizontal=True, gap="small"):
        for number, question in enumerate(questions, 1):
            widgets.button(
                markdown_label(question, 120), "", ask, run.id, question, key=f"next_question_{number}"
            )
        if model and not written:
            widgets.button(
                f"Suggest more with {markdown_label(model, 60)}",
                "auto_awesome",
                _write,
                run.id,
                key="write_questions",
            )


def _written(written: Future[tuple[str, ...]]) -> tuple[str, ...]:
    with problems.errors_inline:
        return written.result()
    return ()


def _write(run_id: str) -> None:
    with runtime.errors_after_rerun:
        written = runtime.runs().conversations.write_next_questions(run_id, runtime.access())
        st.session_state[WRITING] = (run_id, written)
