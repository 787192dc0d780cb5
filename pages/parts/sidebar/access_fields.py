"""Fields of the sidebar for the visitor's own model server and key."""

import streamlit as st


def access_fields() -> None:
    """Draw the fields; what they hold lasts as long as the browser session."""
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
