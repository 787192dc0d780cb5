"""Search in one collection, with the same ranking as in a run."""

import streamlit as st
from htpy import Element, div, p, span

from core.features.library.search_ports import shown_text, title_of
from core.model import Neighbour
from core.text.display import decimal
from pages.parts import document_library, markup, problems, runtime, widgets


@problems.errors_inline
def search(name: str) -> None:
    """Draw a search field and the nearest passages."""
    words = widgets.search_field(
        "Search this collection", "Search this collection", key="inside_words", width=560
    )
    if not words:
        st.caption("Passages by cosine similarity to your words.")
        return
    searching = document_library.library().search(name, words, limit=20, access=runtime.access())
    neighbours = runtime.runs().call(searching, timeout=30)
    rows = [_row(name, rank, neighbour) for rank, neighbour in enumerate(neighbours, 1)]
    markup.show(div(".oq-found")[rows] if rows else markup.empty("This collection is empty."))


def _row(name: str, rank: int, neighbour: Neighbour) -> Element:
    passage = neighbour.passage
    return div(".oq-hit.full")[
        div(".place")[rank],
        div(".what")[
            div(".title")[markup.passage_link(name, passage.id, title_of(passage))],
            div(".where")[passage.source, passage.section and span[passage.section]],
            p[shown_text(passage)],
        ],
        div(".tags")[span(".oq-tag")[decimal(neighbour.score, 3)]],
    ]
