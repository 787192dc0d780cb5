"""The Handbook page: articles about retrieval, which the demo library searches too."""

import streamlit as st

from core.analysis.handbook import Chapter, chapters, matching
from core.config.settings import HANDBOOK
from core.text.safe_markdown import escape_html
from pages.parts import markup

ALL = {chapter.slug: chapter for chapter in chapters(HANDBOOK)}
PAGE = "pages/handbook.py"


def index() -> None:
    st.html(
        '<h1 class="oq-title">Handbook</h1><p class="oq-lead">How a question becomes a cited answer, in short '
        "articles. The offline demo library searches these articles.</p>"
    )
    words = st.text_input(
        "Search the handbook",
        key="handbook_words",
        placeholder=f"Filter {len(ALL)} articles …",
        icon=":material/search:",
        label_visibility="collapsed",
        width=420,
    )
    found = matching(tuple(ALL.values()), words or "")
    if not found:
        st.html(markup.empty("No article matches.", "search_off"))
    columns = st.columns(3, gap="small")
    for place, chapter in enumerate(found):
        with columns[place % 3], st.container(border=True, key=f"chapter_{chapter.slug}", gap="xsmall"):
            st.page_link(PAGE, label=f"**{chapter.title}**", query_params={"article": chapter.slug})
            st.html(f'<p class="oq-lead oq-clamp">{escape_html(chapter.lead)}</p>')


def article(chapter: Chapter) -> None:
    st.page_link(PAGE, label="All articles", icon=":material/arrow_back:", query_params={})
    with st.container(key="handbook"):
        st.title(chapter.title, anchor=False)
        st.markdown(chapter.body)
        related = [ALL[slug] for slug in chapter.related if slug in ALL]
        if related:
            st.html(markup.kicker("See also"))
            with st.container(horizontal=True, gap="small"):
                for other in related:
                    st.page_link(
                        PAGE,
                        label=other.title,
                        icon=":material/article:",
                        query_params={"article": other.slug},
                    )


slug = st.query_params.get("article", "")
if slug and slug not in ALL:
    st.warning("This article does not exist. All articles are listed below.", icon=":material/search_off:")
if slug in ALL:
    article(ALL[slug])
else:
    index()
