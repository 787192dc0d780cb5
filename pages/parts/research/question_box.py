"""The question box, and the page before the first question."""

from __future__ import annotations

import streamlit as st

from core.errors import OpenQueryError
from core.run.state import Run
from core.text.safe_markdown import escape_html
from pages.parts import controls, markup, runtime
from pages.parts.problems import refusal

EXAMPLES = (
    "How does chunk overlap affect retrieval?",
    "When does hybrid search beat cosine similarity alone?",
    "How can a web page smuggle orders into a prompt?",
)


def question_box(run: Run | None) -> None:
    live = run is not None and run.live
    if live and run is not None:
        with st.container(key="ask", horizontal=True, vertical_alignment="center", gap="small"):
            st.text_input(
                "Question", key="question", label_visibility="collapsed", disabled=True, width="stretch"
            )
            st.button(
                "Stop",
                key="stop",
                icon=":material/stop_circle:",
                on_click=runtime.runs().stop,
                args=(run.id,),
            )
        return
    with (
        st.form("ask_form", border=False),
        st.container(key="ask", horizontal=True, vertical_alignment="center", gap="small"),
    ):
        st.text_input(
            "Question",
            key="question",
            label_visibility="collapsed",
            placeholder="What do you want to know?",
            icon=":material/search:",
            width="stretch",
            autocomplete="off",
        )
        st.form_submit_button(
            "Ask",
            key="go",
            icon=":material/arrow_forward:",
            icon_position="right",
            type="primary",
            shortcut="Ctrl+Enter",
            on_click=_ask,
        )
    controls.places()
    refusal()


def _ask(question: str | None = None) -> None:
    try:
        knobs = controls.knobs()
    except OpenQueryError as error:
        runtime.refuse(error.message, error.hint)
        return
    runtime.ask(st.session_state.get("question", "") if question is None else question, knobs)


def _ask_example(question: str) -> None:
    st.session_state["question"] = question
    _ask(question)


def hero() -> None:
    st.html(
        '<div class="oq-hero"><h1>Ask the web. See how the answer is made.</h1>'
        "<p>Queries, hits, articles, passages and their scores appear as they happen. "
        "Every sentence of the answer points at the passage that it rests on, and every setting can be turned.</p></div>"
    )


def welcome() -> None:
    """Below the question box: examples, and what a run would use."""
    with st.container(key="examples", horizontal=True, horizontal_alignment="center", gap="small"):
        for number, question in enumerate(EXAMPLES, 1):
            st.button(question, key=f"example_{number}", on_click=_ask_example, args=(question,))
    told = runtime.connected(controls.chosen("search.backend"), controls.chosen("search.origin"))
    chat = f"written by {told.chat}" if told.chat else "quoted from the sources"
    st.html(
        '<div class="oq-connected">'
        f"<span>{markup.icon('travel_explore')}{escape_html(told.search)}</span>"
        f"<span>{markup.icon('auto_awesome')}answers {escape_html(chat)}</span>"
        f"<span>{markup.icon('scatter_plot')}{escape_html(told.embedder)} embedder</span></div>"
        + (
            ""
            if told.chat
            else '<p class="oq-hint">For written answers start Ollama on this machine, '
            "or give a key under “Model and key” in the sidebar.</p>"
        )
        + '<div class="oq-how">'
        f"<div>{markup.icon('travel_explore')}<b>Find</b>Queries run side by side, pages are read while others load. Nothing is hidden: skipped pages say why.</div>"
        f"<div>{markup.icon('tune')}<b>Tune</b>Turn passage size, ranking or cut-off on the finished run. Table, map and curve follow at once.</div>"
        f"<div>{markup.icon('format_quote')}<b>Check</b>Click a number in the answer to see its passage, marked inside its article.</div></div>"
    )
