"""Sources: which pages are one text, and the ranking without some of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import streamlit as st

from core.analysis.compare import compare
from core.analysis.context import cited_rows
from core.analysis.duplicates import Duplicates, duplicates
from core.analysis.subset import without_pages
from core.render import escaped
from core.run import Run
from core.views.progress import site
from core.words import one_line
from pages.parts import markup
from pages.parts.bench import frame, moves


def view(run: Run) -> None:
    pages = run.ranked_pages
    if not pages:
        frame.nothing("No page was read.", "article")
        return
    found = frame.kept("duplicates", run, lambda: duplicates(run))
    st.html(f'<p class="oq-verdict">{escaped(found.summary)}</p>')
    _table(run, found)
    if run.index is None or run.evidence is None:
        return
    if len(pages) < 2:
        frame.nothing("There is one page only; without it nothing would be left.", "looks_one")
        return
    _without(run)


def _table(run: Run, found: Duplicates) -> None:
    passages: Counter[str] = Counter()
    context: Counter[str] = Counter()
    cited: Counter[str] = Counter()
    if run.index is not None:
        passages.update(passage.place.page for passage in run.index.passages)
        rows = run.evidence.context if run.evidence else ()
        context.update(run.index.passages[row].place.page for row in rows)
        cited.update(run.index.passages[row].place.page for row in cited_rows(run))
    shared = {
        twin.key: (number, twin.held) for number, one in enumerate(found.clusters, 1) for twin in one.pages
    }
    columns: dict[str, Any] = {
        "text": st.column_config.TextColumn(
            "text",
            width=96,
            help="Pages with the same number carry nearly the same text; the share is what the longest holds of it",
        ),
        "title": st.column_config.TextColumn("page", width="large"),
        "site": st.column_config.TextColumn("site", width=170),
        "characters": st.column_config.NumberColumn("characters", width=90, format="localized"),
        "passages": st.column_config.NumberColumn("passages", width=76),
        "context": st.column_config.NumberColumn("in context", width=82),
        "cited": st.column_config.NumberColumn("cited", width=60),
        "link": st.column_config.LinkColumn("link", display_text=":material/open_in_new:", width=48),
    }
    told = [
        {
            "text": "{}, {:.0%}".format(*shared[page.key]) if page.key in shared else "its own",
            "title": one_line(page.title or page.url, 120),
            "site": site(page.url),
            "characters": len(page.text),
            "passages": passages[page.key],
            "context": context[page.key],
            "cited": cited[page.key],
            "link": markup.way_out(page.url) or None,
        }
        for page in run.ranked_pages
    ]
    frame.table(
        told,
        list(columns),
        "clusters",
        most=9,
        config=columns,
        alt="Pages, with those that carry nearly the same text",
    )


def _without(run: Run) -> None:
    st.html(markup.kicker("Leave out", "the ranking without these pages; the answer stays what it was"))
    titles = {
        page.key: f"{one_line(page.title or page.url, 70)} — {site(page.url)}" for page in run.ranked_pages
    }
    out = st.multiselect(
        "Leave out",
        list(titles),
        key="left_out",
        format_func=lambda one: titles.get(one, "a page that is gone"),
        placeholder="Pick one or more pages …",
        label_visibility="collapsed",
        width=720,
    )
    keys = frozenset(one for one in out if one in titles)
    if not keys:
        return
    rest = frame.kept("without_pages", run, lambda: without_pages(run, keys), keys)
    found = compare(run, rest)
    if found is None or rest.index is None or not rest.index.passages:
        frame.nothing("Nothing is left to rank.", "playlist_remove")
        return
    st.html(moves.told(found))
    if picked := moves.table(found, "without_pages"):
        moves.opened(picked, run, rest, "without_pages")
