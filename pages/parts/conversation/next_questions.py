"""Suggested next questions from the pages already read."""

from collections.abc import Callable
from concurrent.futures import Future

import streamlit as st

from core.run.state import Run
from core.stages.conversation.next_questions import next_questions as questions_from_headings
from core.text.markdown.safe_markdown import markdown_label
from pages.parts import markup, page_frame, problems, runtime, widgets

WRITING = "next_questions"
"""Session key: a run, and the next questions being written for it."""


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
