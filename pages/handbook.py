"""The Handbook page: articles about retrieval in reading order. The demo library searches them too."""

from collections.abc import Sequence

import streamlit as st
from htpy import div, h2, p, span

from core.analysis.handbook import Chapter, chapters, parts
from core.config.settings import HANDBOOK
from core.text.sanitize import has_words
from pages.parts import address, markup, widgets
from pages.parts.problems import missing

PARTS = parts(HANDBOOK)
ALL = {chapter.slug: chapter for chapter in chapters(HANDBOOK)}
NUMBERS = {slug: number for number, slug in enumerate(ALL, 1)}
PAGE = "pages/handbook.py"


def index() -> None:
    """Draw the list of all articles, with a search."""
    lead = "How a question becomes a cited answer, in short articles. The offline demo library searches these articles."
    markup.show(markup.title("Handbook", lead))
    words = widgets.search_field(
        "Search the handbook", f"Filter {len(ALL)} articles …", key="handbook_words", width=420
    )
    if words:
        articles = [
            chapter for chapter in ALL.values() if has_words(f"{chapter.title} {chapter.body}", words)
        ]
        if not articles:
            markup.show_empty("No article matches.", "search_off")
        cards(articles)
        return
    for number, part in enumerate(PARTS, 1):
        markup.show(div(".oq-part")[h2[span[number], part.title], p[part.lead]])
        cards(part.chapters)


def cards(some: Sequence[Chapter]) -> None:
    """Draw the articles row by row. A single narrow column then keeps the reading order."""
    for first in range(0, len(some), 3):
        columns = st.columns(3, gap="small")
        for column, chapter in zip(columns, some[first : first + 3], strict=False):
            with (
                column,
                st.container(border=True, key=f"chapter_{chapter.slug}", gap="xsmall", height="stretch"),
            ):
                st.page_link(
                    PAGE,
                    label=f"{NUMBERS[chapter.slug]} · **{chapter.title}**",
                    query_params={"article": chapter.slug},
                )
                markup.show(p(".oq-lead.oq-clamp")[chapter.lead])


def article(chapter: Chapter) -> None:
    """Draw an article with links to neighbouring and related articles."""
    part = next(part for part in PARTS if chapter in part.chapters)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="handbook_place"):
        st.page_link(PAGE, label="All articles", icon=":material/arrow_back:", query_params={})
        markup.show(markup.section_heading(part.title, f"article {NUMBERS[chapter.slug]} of {len(ALL)}"))
    with st.container(key="handbook"):
        st.title(chapter.title, anchor=False)
        st.markdown(chapter.body)
        related = [ALL[slug] for slug in chapter.related if slug in ALL]
        if related:
            markup.show(markup.section_heading("See also"))
            with st.container(horizontal=True, gap="small"):
                for other in related:
                    link(other, other.title, "article")
        order, number = list(ALL.values()), NUMBERS[chapter.slug]
        with st.container(horizontal=True, gap="small", key="handbook_turn"):
            if number > 1:
                link(order[number - 2], f"Previous: {order[number - 2].title}", "arrow_back")
            st.space("stretch")
            if number < len(order):
                link(order[number], f"Next: {order[number].title}", "arrow_forward")


def link(chapter: Chapter, label: str, symbol: str) -> None:
    """Draw a link to an article."""
    st.page_link(PAGE, label=label, icon=f":material/{symbol}:", query_params={"article": chapter.slug})


address.write_again()
slug = st.query_params.get("article", "")
if slug and slug not in ALL:
    missing("article", slug, "All articles are listed below.")
if slug in ALL:
    article(ALL[slug])
else:
    index()
