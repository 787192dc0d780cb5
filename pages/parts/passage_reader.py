"""Passage reader: a passage highlighted inside its article."""

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st
from htpy import Node, div, mark, span

from core.analysis.rankings.ranked_passages import passage_in_context
from core.model import TEXT_LEFT_OUT, Article, Page, Place, is_left_out
from core.model.passage_urls import site
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import one_line
from pages.parts import markup, widgets


def reader(
    page: Page,
    place: Place,
    *,
    given_place: Place | None = None,
    label: str,
    facts: Sequence[Node] = (),
    key: str,
    opened: str | None = None,
    also: tuple[str, ...] = (),
    controls: Callable[[], None] | None = None,
) -> None:
    """Draw the article scrolled to a passage, below a short label.

    The passage is at `place`. The label is its rank, for example.

    Args:
        page: The page with the article's text.
        given_place: The span that the answer was written from, if longer than the passage.
        facts: Facts about the passage, elements of `markup.fact`.
        key: The key of the container and prefix of its widgets' keys.
        opened: The session key of the open item, which the close button sets to None. None: no button.
        also: Sites of other pages with the same text.
        controls: Draws more controls above the text.
    """
    with st.container(border=True, key=key, gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{key}_head"):
            st.badge(label, icon=":material/format_quote:", color="orange")
            title = markdown_label(page.title or page.url, 110)
            st.markdown(
                f"**{title}** :small[:gray[{markdown_label(site(page.url), 50)}]]",
                width="stretch",
                wrap=False,
            )
            if target := markup.open_url(page.url, page.article.page_at(place.start)):
                st.link_button(
                    "Open", target, icon=":material/open_in_new:", type="tertiary", key=f"{key}_open"
                )
            if opened:
                widgets.close_button(st.session_state.update, {opened: None}, key=f"{key}_close")
        if controls:
            controls()
        if is_left_out(page.text[place.start : place.end]):
            markup.show_empty(TEXT_LEFT_OUT, "visibility_off")
            return
        part = passage_in_context(page, place)
        earlier, later = (
            (place.start - given_place.start, given_place.end - place.end) if given_place else (0, 0)
        )
        before, lead = part.before[: len(part.before) - earlier], part.before[len(part.before) - earlier :]
        tail, after = part.after[:later], part.after[later:]
        drawn = partial(with_structures, page.article)
        markup.show(
            div(
                ".oq-article.reading",
                data_place=f"{place.page}#{place.start}-{place.end}",
                tabindex="0",
                dir="auto",
                role="region",
                aria_label=f"{label}: the passage in its article",
            )[
                None if part.begins else "… ",
                drawn(place.start - len(part.before), before),
                _given(drawn(place.start - len(lead), lead)),
                mark[drawn(place.start, part.passage)],
                _given(drawn(place.end, tail)),
                drawn(place.end + len(tail), after),
                None if part.ends else " …",
            ]
        )
        markup.show(
            markup.facts(
                facts,
                earlier + later > 0 and markup.count(earlier + later, "character", " around it given too"),
                also and span[f"the same text on {', '.join(also[:3])}"],
                page.article.left_out and span[one_line(page.article.left_out, 200)],
            )
        )


def with_structures(article: Article, start: int, text: str) -> list[Node]:
    """Return `text` with its tables and code as elements.

    `text` begins at `start` in the article. The nodes together have exactly this text, so that marks in it
    stay exact.
    """
    nodes: list[Node] = []
    done, end = start, start + len(text)
    for first, last, kind in article.structures:
        if first < end and last > start:
            inside = slice(max(first - start, 0), last - start)
            nodes += (text[done - start : inside.start], span(class_=kind.value)[text[inside]])
            done = min(last, end)
    return [node for node in (*nodes, text[done - start :]) if node]


def _given(nodes: list[Node]) -> Node:
    """Return text around the passage that the answer also used."""
    return bool(nodes) and span(".given")[nodes]
