"""One document: passages of a page, or around a passage. An image of the page is shown with them."""

from collections.abc import Sequence
from functools import partial

import streamlit as st
from htpy import h2, h3, mark, p, small

from core.errors import OpenQueryError
from core.features.library.search_ports import title_of
from core.model import LibraryDocument, LibraryPassage
from core.model.library import document_key
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import one_line
from pages.parts import document_library, markup, runtime, widgets
from pages.parts.library import add_documents
from pages.parts.problems import problem

AROUND = 5
"""Passages to show before and after the addressed passage, if the document has no pages."""
FIRST = 200
"""Passages to show of a whole document without pages."""
WAIT = 20.0
"""Seconds."""


def document(name: str) -> None:
    """Draw the document in the page's address. The address has a passage, or a document's key and a page."""
    try:
        address_parts = (st.query_params.get(part, "") for part in ("passage", "document", "page"))
        target, document, number, passages = runtime.runs().call(
            _addressed(name, *address_parts), timeout=WAIT
        )
    except OpenQueryError as error:
        _back(name)
        problem(error)
        return
    _back(name)
    if document is None and target is None:
        st.warning("This document is no longer in the collection.", icon=":material/search_off:")
        return
    _head(document, target, number)
    with_image = number is not None and document is not None and document.stored
    left, right = st.columns([1, 1], gap="large") if with_image else (st.container(), None)
    with left:
        _text(passages, target)
    if right is not None and document is not None and number is not None:
        with right:
            _image(document, number)


def _page(requested_page: str, target: LibraryPassage | None, document: LibraryDocument | None) -> int | None:
    """Return the page to show, or None without pages."""
    if requested_page.isdecimal() and document and document.pages:
        return min(max(1, int(requested_page[:7])), document.pages)
    if target:
        return target.page
    return 1 if document and document.pages else None


async def _addressed(
    name: str, passage: str, key: str, page: str
) -> tuple[LibraryPassage | None, LibraryDocument | None, int | None, Sequence[LibraryPassage]]:
    """Return the addressed passage, document, page, and passages to show. The passages are in order."""
    library = document_library.library()
    target = await library.reader.passage(name, passage) if passage else None
    key = document_key(target.document, target.source) if target else key
    document = await library.document(name, key)
    number = _page(page, target, document)
    if number is not None:
        return target, document, number, await library.reader.passages_on_page(name, key, number)
    if target is not None:
        return target, document, None, await library.reader.passages_around(name, target, AROUND)
    return (
        target,
        document,
        None,
        (await library.reader.passages(name, key, limit=FIRST))[0] if document else (),
    )


def _back(name: str) -> None:
    widgets.button(
        "All documents",
        "arrow_back",
        add_documents.select_collection,
        name,
        key="back_to_all",
        type="tertiary",
    )


def _head(document: LibraryDocument | None, target: LibraryPassage | None, number: int | None) -> None:
    title = (document.title or document.source) if document else title_of(target) if target else ""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="book_head"):
        where = one_line(document.source, 120) if document and document.source != title else ""
        markup.show(h2(".oq-subtitle")[one_line(title, 160), where and small[where]])
        if number is not None and document and document.pages:
            first, last = number <= 1, number >= document.pages
            back, on = (partial(turn, document.key, number + step) for step in (-1, 1))
            widgets.button("Previous page", "chevron_left", back, key="previous_page", disabled=first)
            st.markdown(f"Page {number:,} of {document.pages:,}")
            widgets.button(
                "Next page", "chevron_right", on, key="next_page", icon_position="right", disabled=last
            )
        if document and document.stored:
            file = document_library.file(document)
            widgets.download_button("Download", *file, key="download_book", type="tertiary")
    if document and document.left_out:
        st.caption(f":material/info: {markdown_label(document.left_out, 400)}.")


def turn(key: str, number: int) -> None:
    """Show another page of the document."""
    st.query_params.pop("passage", None)
    st.query_params["document"] = key
    st.query_params["page"] = str(number)


def _text(passages: Sequence[LibraryPassage], target: LibraryPassage | None) -> None:
    if not passages:
        markup.show_empty("No passage begins on this page.", "article")
        return
    parts = []
    section = ""
    for passage in passages:
        if passage.section and passage.section != section:
            section = passage.section
            parts.append(h3[section])
        is_target = target is not None and passage.id == target.id
        parts.append(p[mark[passage.content] if is_target else passage.content])
    markup.show(markup.region("oq-article reading book", "Passages")[parts])


def _image(document: LibraryDocument, number: int) -> None:
    if document.media_type != "application/pdf":
        return
    try:
        image = _page_image(document.key, number)
    except OpenQueryError as error:
        st.caption(markdown_label(str(error), 300))
        return
    with st.container(key="page_picture"):
        st.image(image, caption=f"{document.source}, page {number}", width="stretch")


@st.cache_data(max_entries=32, show_spinner="Rendering the page …")
def _page_image(key: str, number: int) -> bytes:
    return runtime.runs().call(document_library.library().page_image(key, number), timeout=WAIT)
