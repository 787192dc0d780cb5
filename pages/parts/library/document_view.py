"""A document, opened where a passage stands: the passages of that page, and the page itself."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.errors import OpenQueryError
from core.library.document_reader import key_of
from core.library.ingest_reports import Held
from core.library.search_ports import title_of
from core.model import LibraryPassage
from core.text.safe_markdown import escape_html, markdown_label
from pages.parts import markup, runtime
from pages.parts.library import add_documents
from pages.parts.problems import problem

AROUND = 5
"""Passages before and after the one asked for, where a document has no pages."""
FIRST = 200
"""Passages that are shown of a document without pages that was opened as a whole."""
WAIT = 20.0
"""Seconds."""


def opened(name: str) -> None:
    """The document that the address names by one of its passages, or by itself with a page."""
    try:
        named = (st.query_params.get(part, "") for part in ("passage", "document", "page"))
        target, held, number, shown = runtime.runs().call(_found(name, *named), timeout=WAIT)
    except OpenQueryError as error:
        _back(name)
        problem(error)
        return
    _back(name)
    if held is None and target is None:
        st.warning("This document is no longer in the collection.", icon=":material/search_off:")
        return
    _head(held, target, number)
    drawn = number is not None and held is not None and held.kept
    left, right = st.columns([1, 1], gap="large") if drawn else (st.container(), None)
    with left:
        _text(shown, target)
    if right is not None and held is not None and number is not None:
        with right:
            _picture(held, number)


def _page(asked: str, target: LibraryPassage | None, held: Held | None) -> int | None:
    """The page to show; None for a document without pages."""
    if asked.isdecimal() and held and held.pages:
        return min(max(1, int(asked[:7])), held.pages)
    if target:
        return target.page
    return 1 if held and held.pages else None


async def _found(
    name: str, passage: str, document: str, page: str
) -> tuple[LibraryPassage | None, Held | None, int | None, Sequence[LibraryPassage]]:
    """What the address names: a passage, its document, the page, and the passages to show in their order."""
    library = runtime.library()
    target = await library.leaves.one(name, passage) if passage else None
    key = key_of(target.document, target.source) if target else document
    held = await library.document(name, key)
    number = _page(page, target, held)
    if number is not None:
        return target, held, number, await library.leaves.on_page(name, key, number)
    if target is not None:
        return target, held, None, await library.leaves.around(name, target, AROUND)
    return target, held, None, (await library.leaves.in_order(name, key, limit=FIRST))[0] if held else ()


def _back(name: str) -> None:
    st.button(
        "All documents",
        key="back_to_all",
        icon=":material/arrow_back:",
        type="tertiary",
        on_click=add_documents.show,
        args=(name,),
    )


def _head(held: Held | None, target: LibraryPassage | None, number: int | None) -> None:
    title = (held.title or held.source) if held else title_of(target) if target else ""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="book_head"):
        where = f" :small[:gray[{markdown_label(held.source, 120)}]]" if held and held.source != title else ""
        st.markdown(f"#### {markdown_label(title, 160)}{where}", width="stretch")
        if number is not None and held and held.pages:
            st.button(
                "Previous page",
                key="previous_page",
                icon=":material/chevron_left:",
                disabled=number <= 1,
                on_click=turn,
                args=(held.key, number - 1),
            )
            st.markdown(f"Page {number:,} of {held.pages:,}")
            st.button(
                "Next page",
                key="next_page",
                icon=":material/chevron_right:",
                icon_position="right",
                disabled=number >= held.pages,
                on_click=turn,
                args=(held.key, number + 1),
            )
        if held and held.kept:
            st.download_button(
                "Download",
                data=lambda: runtime.runs().call(runtime.library().file(held.key), timeout=WAIT).body,
                file_name=held.source.rpartition("/")[2] or "document",
                mime="application/octet-stream",
                icon=":material/download:",
                type="tertiary",
                on_click="ignore",
                key="download_book",
            )


def turn(document: str, number: int) -> None:
    """Show another page of the document."""
    st.query_params.pop("passage", None)
    st.query_params["document"] = document
    st.query_params["page"] = str(number)


def _text(shown: Sequence[LibraryPassage], target: LibraryPassage | None) -> None:
    if not shown:
        st.html(markup.empty("No passage begins on this page.", "article"))
        return
    parts = []
    section = ""
    for one in shown:
        if one.section and one.section != section:
            section = one.section
            parts.append(f"<h4>{escape_html(section)}</h4>")
        text = escape_html(one.content)
        parts.append(f"<p><mark>{text}</mark></p>" if target and one.id == target.id else f"<p>{text}</p>")
    st.html(
        f'<div class="oq-article reading book" tabindex="0" role="region" aria-label="Passages">{"".join(parts)}</div>'
    )


def _picture(held: Held, number: int) -> None:
    if held.media_type != "application/pdf":
        return
    try:
        picture = _drawn(held.key, number)
    except OpenQueryError as error:
        st.caption(markdown_label(f"{error.message} {error.hint}", 300))
        return
    with st.container(key="page_picture"):
        st.image(picture, caption=f"{held.source}, page {number}", width="stretch")


@st.cache_data(max_entries=32, show_spinner="Drawing the page …")
def _drawn(document: str, number: int) -> bytes:
    return runtime.runs().call(runtime.library().page_image(document, number), timeout=WAIT)
