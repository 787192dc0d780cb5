"""The Library page: collections of the user's own documents."""

import streamlit as st

from core.errors import LibraryFailed, OpenQueryError
from core.model import Collection
from core.model.library import DEFAULT_COLLECTION
from core.text.display import embedder_name
from core.text.markdown.safe_markdown import markdown_label
from pages.parts import document_library, markup, runtime, widgets
from pages.parts.library import add_documents, documents
from pages.parts.problems import missing, problem, refusal

LISTED = 10
"""Most collections to name when the address has an unknown collection."""


def current_name() -> str:
    """Return the name of the collection on screen.

    Without a name in the address or session, it is the first collection.
    """
    requested: str | None = st.query_params.get("collection") or st.session_state.get("collection")
    return requested or next(iter(document_library.collections()), DEFAULT_COLLECTION)


def choose() -> None:
    """Open the collection that was chosen."""
    if name := st.session_state.get("chosen_collection"):
        add_documents.select_collection(name)


def create() -> None:
    """Create and open the collection with the typed name."""
    name = st.session_state.get("new_collection", "")
    with runtime.errors_after_rerun:
        created = runtime.runs().call(
            document_library.library().create(name, access=runtime.access()), timeout=60
        )
        document_library.forget_collections()
        st.session_state["new_collection"] = ""
        add_documents.select_collection(created.name)


def drop(name: str) -> None:
    """Delete a collection."""
    with runtime.errors_after_rerun:
        runtime.runs().call(document_library.library().drop(name), timeout=60)
        document_library.forget_collections()
        add_documents.select_collection("")


def header(collections: tuple[str, ...], name: str) -> None:
    """Draw the choice of the collection and its actions."""
    names = list(dict.fromkeys((*collections, name)))
    st.session_state["chosen_collection"] = name
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="library_head"):
        st.selectbox(
            "Collection",
            names,
            key="chosen_collection",
            on_change=choose,
            label_visibility="collapsed",
            width=300,
        )
        if document_library.may_change_library():
            with st.popover("New", icon=":material/add:", type="tertiary", key="ask_new"):
                st.text_input("Name of the new collection", key="new_collection", placeholder="field_notes")
                widgets.button("Create", "", create, key="make_collection", type="primary")
            if name in collections:
                with st.popover("Delete", icon=":material/delete:", type="tertiary", key="ask_drop"):
                    st.markdown(
                        f"Delete the collection **{markdown_label(name, 100)}** and all its documents?"
                    )
                    widgets.button(
                        "Delete this collection", "", drop, name, key="drop_collection", type="primary"
                    )


def summary(collection: Collection) -> None:
    """Draw the figures of a collection."""
    markup.show(
        markup.facts(
            markup.count(collection.passages, "passage"),
            markup.count(collection.width, "dimension"),
            markup.fact(collection.distance, "distance"),
            collection.embedder and markup.author(embedder_name(collection.embedder), collection.embedder),
        )
    )


LEAD = (
    "Your own documents, split into passages that questions search instead of the web, or together with it."
)
markup.show(markup.title("Library", LEAD))
name = current_name()
ingest = add_documents.ingest_of(name)
try:
    collections = runtime.runs().call(document_library.library().collections(), timeout=20)
except OpenQueryError as error:
    problem(error)
    st.caption("Questions to the web still work.")
    st.stop()

header(tuple(collections), name)
refusal()
# The default collection need not exist, nor need a collection that an import is about to create.
if name not in collections and name != DEFAULT_COLLECTION and ingest is None:
    there_is = f"The collections are {', '.join(list(collections)[:LISTED])}." if collections else ""
    creates = "Adding documents creates it." if document_library.may_change_library() else ""
    missing("collection", name, f"{there_is or 'There are none yet.'} {creates}")
collection = collections.get(name)
if isinstance(collection, LibraryFailed):
    problem(collection)
    st.stop()

if "document" in st.query_params or "passage" in st.query_params:
    documents.document(name)
else:
    if collection:
        summary(collection)
        documents.reembed_offer(collection)
    add_documents.progress(ingest)
    if collection and collection.passages:
        listed, search, add = st.tabs(["Documents", "Search", "Add"], key="library_tabs")
        with listed:
            documents.documents(name)
        with search:
            documents.search(name)
        with add:
            add_documents.form(name)
    else:
        add_documents.form(name)
