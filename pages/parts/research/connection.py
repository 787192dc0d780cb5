"""The connection chip: what is searched and who writes, with the fields of a visitor's own model server."""

import streamlit as st
from htpy import p

from pages.parts import markup, services
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
