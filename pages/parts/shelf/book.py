"""A document, opened where an excerpt stands: the excerpts of that page, and the page itself."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.errors import OpenQueryError
from core.library.recall import title_of
from core.library.reports import Held
from core.model import Excerpt
from core.render import escaped, plain
from pages.parts import markup, runtime
from pages.parts.shelf import adding

AROUND = 5
"""Excerpts before and after the one asked for, where a document has no pages."""
MOST = 400
WAIT = 20.0
"""Seconds."""


def opened(name: str) -> None:
    """The document that the address names by one of its excerpts, or by itself with a page."""
    try:
        target = _target(name, st.query_params.get("excerpt", ""))
        key = (
            (target.document or f"source:{target.source}") if target else st.query_params.get("document", "")
        )
        held = next(
            (one for one in runtime.runs().call(_documents(name), timeout=WAIT) if one.key == key), None
        )
        if held is None and target is None:
            _back(name)
            st.warning("This document is no longer in the collection.", icon=":material/search_off:")
            return
        number = _page(target, held)
        shown = _excerpts(name, key, number, target)
    except OpenQueryError as error:
        _back(name)
        st.warning(f"**{plain(error.message, 400)}** {plain(error.hint, 400)}", icon=":material/error:")
        return
    except TimeoutError:
        st.warning(f"The library did not answer within {WAIT:g} s.", icon=":material/error:")
        return
    _back(name)
    _head(held, target, number)
    drawn = number is not None and held is not None and held.kept
    left, right = st.columns([1, 1], gap="large") if drawn else (st.container(), None)
    with left:
        _text(shown, target)
    if right is not None and held is not None and number is not None:
        with right:
            _picture(held, number)


def _documents(name: str) -> object:
    return runtime.library().documents(name)


def _target(name: str, excerpt: str) -> Excerpt | None:
    if not excerpt:
        return None
    registry = runtime.runs()
    return next(iter(registry.call(registry.engine.collections.get(name, [excerpt]), timeout=WAIT)), None)


def _page(target: Excerpt | None, held: Held | None) -> int | None:
    """The page to show; None for a document without pages."""
    asked = st.query_params.get("page", "")
    if asked.isdecimal() and held and held.pages:
        return min(max(1, int(asked[:7])), held.pages)
    if target:
        return target.page
    return 1 if held and held.pages else None


def _excerpts(name: str, key: str, number: int | None, target: Excerpt | None) -> Sequence[Excerpt]:
    """The page's excerpts in their order, or those around the target, or the document's first."""
    registry, library = runtime.runs(), runtime.library()
    found: list[Excerpt] = []
    after = ""
    while len(found) < MOST:
        some, after = registry.call(library.excerpts(name, key, after, 200), timeout=WAIT)
        found += some
        if not after or (target is None and number is None):
            break
    if number is not None:
        return [one for one in found if one.page == number]
    if target is not None:
        place = next((i for i, one in enumerate(found) if one.id == target.id), None)
        return [target] if place is None else found[max(0, place - AROUND) : place + AROUND + 1]
    return found


def _back(name: str) -> None:
    st.button(
        "All documents",
        key="back_to_all",
        icon=":material/arrow_back:",
        type="tertiary",
        on_click=adding.show,
        args=(name,),
    )


def _head(held: Held | None, target: Excerpt | None, number: int | None) -> None:
    title = (held.title or held.source) if held else title_of(target) if target else ""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="book_head"):
        where = f" :small[:gray[{plain(held.source, 120)}]]" if held and held.source != title else ""
        st.markdown(f"#### {plain(title, 160)}{where}", width="stretch")
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
    st.query_params.pop("excerpt", None)
    st.query_params["document"] = document
    st.query_params["page"] = str(number)


def _text(shown: Sequence[Excerpt], target: Excerpt | None) -> None:
    if not shown:
        st.html(markup.empty("No excerpt begins on this page.", "article"))
        return
    parts = []
    section = ""
    for one in shown:
        if one.section and one.section != section:
            section = one.section
            parts.append(f"<h4>{escaped(section)}</h4>")
        text = escaped(one.content)
        parts.append(f"<p><mark>{text}</mark></p>" if target and one.id == target.id else f"<p>{text}</p>")
    st.html(
        f'<div class="oq-article reading book" tabindex="0" role="region" aria-label="Excerpts">{"".join(parts)}</div>'
    )


def _picture(held: Held, number: int) -> None:
    if held.media_type != "application/pdf":
        return
    try:
        picture = _drawn(held.key, number)
    except OpenQueryError as error:
        st.caption(plain(f"{error.message} {error.hint}", 300))
        return
    with st.container(key="page_picture"):
        st.image(picture, caption=f"{held.source}, page {number}", width="stretch")


@st.cache_data(max_entries=32, show_spinner="Drawing the page …")
def _drawn(document: str, number: int) -> bytes:
    return runtime.runs().call(runtime.library().page_image(document, number), timeout=WAIT)
