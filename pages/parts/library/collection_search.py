"""Search in one collection: the passages most similar to some words, as a run would find them."""

from __future__ import annotations

import streamlit as st

from core.errors import OpenQueryError
from core.library.search_ports import shown_text, title_of
from core.model import Neighbour
from core.text.display import decimal
from core.text.markdown.safe_markdown import escape_html
from pages.parts import markup, runtime
from pages.parts.problems import problem


def search(name: str) -> None:
    words = st.text_input(
        "Search this collection",
        key="inside_words",
        placeholder="Search this collection",
        icon=":material/search:",
        label_visibility="collapsed",
        width=560,
    )
    if not words:
        st.caption("Passages by cosine similarity to your words.")
        return
    try:
        neighbours = runtime.runs().call(
            runtime.library().search(name, words, limit=20, access=runtime.access()), timeout=30
        )
    except OpenQueryError as error:
        problem(error)
        return
    rows = "".join(_row(name, rank, neighbour) for rank, neighbour in enumerate(neighbours, 1))
    st.html(f'<div class="oq-found">{rows}</div>' if rows else markup.empty("This collection is empty."))


def _row(name: str, rank: int, neighbour: Neighbour) -> str:
    section = f"<span>{escape_html(neighbour.passage.section)}</span>" if neighbour.passage.section else ""
    link = markup.passage_link(name, neighbour.passage.id, title_of(neighbour.passage))
    return (
        f'<div class="oq-hit full"><div class="place">{rank}</div><div class="what">'
        f'<div class="title">{link}</div><div class="where">{escape_html(neighbour.passage.source)}{section}</div>'
        f"<p>{escape_html(shown_text(neighbour.passage))}</p></div>"
        f'<div class="tags"><span class="oq-tag">{decimal(neighbour.score, 3)}</span></div></div>'
    )
