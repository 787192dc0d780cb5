"""A passage, marked inside its article."""

from __future__ import annotations

import streamlit as st

from core.analysis.rankings.passage_rows import passage_in_context
from core.model import Page, Place
from core.model.passage_urls import site
from core.text.safe_markdown import escape_html, markdown_label
from pages.parts import markup


def reader(
    page: Page,
    place: Place,
    *,
    label: str,
    told: tuple[str, ...],
    key: str,
    close: object,
    also: tuple[str, ...] = (),
) -> None:
    """The article around the passage, scrolled to it. `told` are facts about the passage, `close` a callback."""
    with st.container(border=True, key=key, gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{key}_head"):
            st.badge(label, icon=":material/format_quote:", color="orange")
            title = markdown_label(page.title or page.url, 110)
            st.markdown(
                f"**{title}** :small[:gray[{markdown_label(site(page.url), 50)}]]",
                width="stretch",
                wrap=False,
            )
            if target := markup.way_out(page.url, page.article.page_at(place.start)):
                st.link_button(
                    "Open", target, icon=":material/open_in_new:", type="tertiary", key=f"{key}_open"
                )
            st.button("Close", icon=":material/close:", type="tertiary", key=f"{key}_close", on_click=close)  # type: ignore[arg-type]
        part = passage_in_context(page, place)
        st.html(
            f'<div class="oq-article reading" data-place="{escape_html(place.page)}#{place.start}-{place.end}" '
            f'tabindex="0" role="region" aria-label="The passage in its article">'
            f"{'' if part.begins else '… '}{escape_html(part.before) + _gap(part.before)}"
            f"<mark>{escape_html(part.passage)}</mark>"
            f"{_gap(part.after, first=True) + escape_html(part.after)}{'' if part.ends else ' …'}</div>"
        )
        shared = f"the same text on {', '.join(also[:3])}" if also else ""
        st.html(markup.facts(*told, *([f"<span>{escape_html(shared)}</span>"] if shared else [])))


def _gap(text: str, *, first: bool = False) -> str:
    """The white space that escaping strips where the passage meets the text around it."""
    return text[: len(text) - len(text.lstrip())] if first else text[len(text.rstrip()) :]
