"""The table of documents in a collection, and its re-embedding."""

from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from core.errors import OpenQueryError
from core.model import Collection, LibraryDocument
from core.reading import file_types
from core.text.display import embedder_names
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import has_words, one_line, pluralize
from pages.parts import document_library, markup, problems, runtime, tables, widgets
from pages.parts.library import add_documents

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
