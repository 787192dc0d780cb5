"""The question box, and the page before the first question."""

import streamlit as st
from htpy import div, h1, p, style

from core.config.knobs import SearchScope
from core.run.state import Run
from pages.parts import document_library, markup, runtime, services, widgets
from pages.parts.problems import refusal
from pages.parts.sidebar import controls


def connection() -> None:
    """Draw the chip. What leaves this machine, and the fields, are drawn while it is open."""
    with st.container(key="connection"):
        _chip()


@st.fragment(key="connection_chip")
def _chip() -> None:
    backend = controls.chosen("search.backend")
    chip = st.popover(services.connection_label(backend), key="connect", on_change="rerun")
    if not chip.open:
        return
    with chip:
        connected = services.connections(backend, controls.chosen("search.origin"))
        sentences = (
            connected.search_note,
            "" if connected.chat else WRITTEN_ANSWERS,
            connected.egress,
            f"Passages are embedded by {connected.embedder}.",
        )
        markup.show(p(".oq-reading")[sentence] for sentence in sentences if sentence)
        _access_fields()


WRITTEN_ANSWERS = "For written answers start Ollama on this machine, or enter a key here."


def _access_fields() -> None:
    """Draw the fields of the model server. Their values last as long as the browser session."""
    st.text_input(
        "API key",
        key="access_key",
        type="password",
        autocomplete="off",
        persist_state="session",
        help="The key for OpenRouter, OpenAI or the server below; it stays in this browser session.",
    )
    st.text_input(
        "Base URL",
        key="access_url",
        placeholder="https://openrouter.ai/api/v1",
        persist_state="session",
        help="The address of an OpenAI-compatible server; empty means OpenRouter or OpenAI by the key, else the operator's server.",
    )
    st.text_input(
        "Chat model",
        key="access_model",
        placeholder="server default",
        persist_state="session",
        help="The model that writes queries and answers.",
    )
    st.caption("Never stored: these fields last as long as this browser session.")


EXAMPLES = (
    "How does chunk overlap affect retrieval?",
    "When does hybrid search beat cosine similarity alone?",
)


def question_box(run: Run | None) -> None:
    """Draw the question field, the search scope, and Stop for a live run."""
    with st.container(key="question_line", horizontal=True, vertical_alignment="center", gap="small"):
        if run is not None and run.live:
            _asked(run)
        else:
            _form()
        controls.origin_control()
        connection()
        if run is not None and (text := st.session_state.get("question")) in (run.question, run.written):
            _say_once(text)
    refusal()


def _say_once(question: str) -> None:
    """Show what the field is for in a narrow window in place of its question, which the answer shows as well.

    An edited field shows its text.
    """
    value = "".join(f"\\{ord(letter):x} " for letter in question)
    unedited = f"[data-testid=stApp]:has(.st-key-question input[value={value}])"
    markup.show(style(".oq-purpose")[f"{unedited} {{ --unedited: -99em; --purpose: visible; }}"])


def _asked(run: Run) -> None:
    with st.container(key="ask", horizontal=True, vertical_alignment="center", gap="small"):
        st.text_input(
            "Question",
            key="question",
            label_visibility="collapsed",
            icon=":material/search:",
            disabled=True,
            width="stretch",
        )
        widgets.button("Stop", "stop_circle", runtime.stop, run.id, key="stop")


def _form() -> None:
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
            on_click=_ask,
        )


def _ask(question: str | None = None) -> None:
    with runtime.errors_after_rerun:
        text = st.session_state.get("question", "") if question is None else question
        runtime.ask(text, controls.knobs())


def _ask_example(question: str) -> None:
    st.session_state["question"] = question
    _ask(question)


def introduction() -> None:
    """Draw the heading of the page without a run."""
    with st.container(key="front_heading"):
        markup.show(div(".oq-front")[h1["Ask. See how the answer is made."]])


def _examples() -> tuple[str, ...]:
    """Return example questions that suit the search scope."""
    origin = controls.chosen("search.origin")
    if origin == SearchScope.WEB:
        return EXAMPLES
    about_documents = document_library.example_questions(tuple(controls.chosen_collections()))
    return about_documents or (EXAMPLES if origin == SearchScope.BOTH else ())


def examples() -> None:
    """Draw example questions."""
    with st.container(key="examples", horizontal=True, horizontal_alignment="center", gap="small"):
        for number, question in enumerate(_examples(), 1):
            widgets.button(question, "", _ask_example, question, key=f"example_{number}")
