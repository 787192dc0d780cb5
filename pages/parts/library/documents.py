"""The documents of a collection: their table, a search in them, and one document.

A document is shown by the passages of a page, or around a passage, with an image of the page.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
from htpy import Element, div, h2, h3, mark, p, small, span

from core.errors import OpenQueryError
from core.features.library.search_ports import shown_text, title_of
from core.model import Collection, LibraryDocument, LibraryPassage, Neighbour
from core.model.library import document_key
from core.reading import file_types
from core.text.display import decimal, embedder_names
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import has_words, one_line, pluralize
from pages.parts import document_library, markup, problems, runtime, tables, widgets
from pages.parts.library import add_documents
from pages.parts.problems import problem

AROUND = 5
"""Passages to show before and after the addressed passage, if the document has no pages."""
FIRST = 200
"""Passages to show of a whole document without pages."""
WAIT = 20.0
"""Seconds."""
OPENED = "selected_document"
"""Session key of the document with the checked row."""
KINDS = {
    "application/pdf": "PDF",
    "text/html": "HTML",
    "text/markdown": "Markdown",
    "text/plain": "text",
    "text/csv": "CSV",
    "application/json": "JSON",
    "application/xml": "XML",
    "application/xhtml+xml": "HTML",
    "application/epub+zip": "EPUB",
    file_types.DOCX: "Word",
    file_types.DOC: "Word",
    file_types.RTF: "RTF",
    file_types.SAVED_PAGE: "HTML",
    file_types.MAIL: "e-mail",
    file_types.MAILBOX: "mailbox",
    file_types.ODT: "OpenDocument",
    **dict.fromkeys((file_types.PPTX, file_types.PPT, file_types.ODP), "slides"),
    **dict.fromkeys((file_types.XLSX, file_types.XLSB, file_types.XLS, file_types.ODS), "spreadsheet"),
}


def reembed_offer(collection: Collection) -> None:
    """Offer to re-embed a collection made with another embedder."""
    if not collection.embedder or not document_library.may_change_library():
        return
    try:
        current = runtime.runs().call(
            document_library.library().embedder(collection.name, runtime.access()), timeout=10
        )
    except OpenQueryError:
        return  # questions will say that they cannot be embedded
    if collection.embedder == current:
        return
    before, current_name = embedder_names(collection.embedder, current)
    with st.container(horizontal=True, vertical_alignment="center", border=True, key="reembed_offer"):
        st.markdown(
            f"This collection was embedded with {markdown_label(before, 80)}, but the current embedder is "
            f"{markdown_label(current_name, 80)}. Vectors of different models cannot be compared.",
            width="stretch",
        )
        widgets.button("Re-embed collection", "autorenew", reembed, collection.name, key="reembed")


def reembed(name: str) -> None:
    """Start to re-embed a collection with the current embedder."""
    with runtime.errors_after_rerun:
        starting = document_library.library().ingests.reembed(name, access=runtime.access())
        job = runtime.runs().call(starting, timeout=add_documents.START_TIMEOUT)
        st.session_state["ingesting"] = job


@problems.errors_inline
def documents(name: str) -> None:
    """Draw the documents of a collection."""
    listed = runtime.runs().call(document_library.library().documents(name), timeout=20)
    words = widgets.search_field(
        "Filter documents", f"Filter {pluralize(len(listed), 'document')} …", key="document_words", width=420
    )
    matching = [document for document in listed if has_words(f"{document.title} {document.source}", words)]
    if not matching:
        markup.show_empty("No document matches." if words else "This collection is empty.", "search_off")
        return
    tables.selectable_table(
        matching,
        lambda document: document.key,
        _cells,
        {
            "Document": st.column_config.TextColumn(width="large"),
            "Source": st.column_config.TextColumn(),
            "Type": st.column_config.TextColumn(),
            "Pages": st.column_config.NumberColumn(format="localized"),
            "Passages": st.column_config.NumberColumn(format="localized"),
            "Size (kB)": st.column_config.NumberColumn(format="%.1f"),
            "Added": st.column_config.DatetimeColumn(format="distance"),
        },
        key="documents",
        opened=OPENED,
        max_rows=10,
        alt="Documents",
    )
    chosen = next((document for document in listed if document.key == st.session_state.get(OPENED)), None)
    if chosen:
        _selected(name, chosen)
    else:
        st.caption("Select a row to open, download or delete a document.")


def _cells(document: LibraryDocument) -> dict[str, Any]:
    return {
        "Document": one_line(document.title or document.source),
        "Source": one_line(document.source),
        "Type": KINDS.get(document.media_type, document.media_type),
        "Pages": document.pages or None,
        "Passages": document.passages,
        "Size (kB)": document.size / 1000 if document.size else None,
        "Added": pd.to_datetime(document.added_at, utc=True, errors="coerce"),
    }


def _selected(name: str, document: LibraryDocument) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="chosen_document", border=True):
        st.markdown(f"**{markdown_label(document.title or document.source, 120)}**", width="stretch")
        open_it = partial(st.query_params.update, document=document.key)
        widgets.button("Open", "open_in_full", open_it, key="open_document")
        if document.stored:
            widgets.download_button("Download", *document_library.file(document), key="download_document")
        if document_library.may_change_library():
            with st.popover("Delete", icon=":material/delete:", type="tertiary", key="ask_delete_document"):
                st.markdown(
                    f"Delete **{markdown_label(document.title or document.source, 120)}** from {markdown_label(name, 100)}?"
                )
                widgets.button(
                    "Delete this document",
                    "",
                    _delete,
                    name,
                    document.key,
                    key="delete_document",
                    type="primary",
                )


def _delete(name: str, key: str) -> None:
    with runtime.errors_after_rerun:
        runtime.runs().call(document_library.library().delete(name, key), timeout=60)


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
    target = await library.passage(name, passage) if passage else None
    key = document_key(target.document, target.source) if target else key
    document = await library.document(name, key)
    number = _page(page, target, document)
    if number is not None:
        return target, document, number, await library.passages_on_page(name, key, number)
    if target is not None:
        return target, document, None, await library.passages_around(name, target, AROUND)
    return (
        target,
        document,
        None,
        (await library.passages(name, key, limit=FIRST))[0] if document else (),
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
