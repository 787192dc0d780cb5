"""Sources: which pages are one text, and the ranking without some of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import streamlit as st

from core.analysis.answers.answer_comparison import present, so_far
from core.analysis.answers.answer_figures import answering_seconds
from core.analysis.rankings.context_membership import cited_rows
from core.analysis.rankings.duplicate_limit import duplicate_limit
from core.analysis.rankings.leave_out import without_pages
from core.analysis.rankings.near_duplicates import Duplicates, duplicates
from core.analysis.rankings.ranking_comparison import compare
from core.model.passage_urls import site
from core.run.state import Run
from core.text.safe_markdown import escape_html
from core.text.sanitize import one_line
from pages.parts import answer_diff, answer_pair, markup, page_frame, runtime
from pages.parts.compare import rank_changes

LIMITS = (1, 2, 3)
TEXTS = "Pages that carry nearly the same text count as one"
ANSWER = "without_answer"
"""In the session: which pages the answer without them was asked for, and its name."""


def view(run: Run) -> None:
    pages = run.ranked_pages
    if not pages:
        page_frame.nothing("No page was read.", "article")
        return
    found = page_frame.kept("duplicates", run, lambda: duplicates(run))
    st.html(f'<p class="oq-verdict">{escape_html(found.summary)}</p>')
    _table(run, found)
    if run.index is None or run.ranking is None:
        return
    if len(pages) < 2:
        page_frame.nothing("There is one page only; without it nothing would be left.", "looks_one")
        return
    _cap(run, found)
    _without(run)


def _cap(run: Run, found: Duplicates) -> None:
    """The ranking with a limit on passages of one text, and without."""
    own = run.knobs.rank.per_cluster
    note = f"this run allows {own} for each text" if own else "this run has no such limit"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="cap_head"):
        st.html(markup.kicker("Passages of one text in the context", note), width="stretch")
        limit = st.segmented_control(
            "Passages of one text",
            LIMITS,
            key="cap_limit",
            default=own if own in LIMITS else LIMITS[0],
            required=True,
            format_func=lambda one: f"at most {one}",
            label_visibility="collapsed",
        )
    if not found.clusters:
        st.caption("Every page is a text of its own here, so the limit counts the passages of each page.")
    effect = page_frame.kept("cap", run, lambda: duplicate_limit(run, int(limit)), limit)
    if effect is None:
        return
    st.html(
        rank_changes.told(
            effect.comparison,
            markup.fact(f"{effect.texts_free} → {effect.texts_capped}", "texts in the context", TEXTS),
            markup.fact(f"{effect.most_free} → {effect.most_capped}", "passages of one text at most"),
        )
    )
    if effect.comparison.contexts == 1:
        page_frame.nothing("The context is the same with this limit and without it.", "equal")
    elif picked := rank_changes.table(effect.comparison.changed, "cap", ("no limit", f"at most {limit}")):
        rank_changes.opened(picked, effect.free, effect.capped, "cap")


def _table(run: Run, found: Duplicates) -> None:
    passages: Counter[str] = Counter()
    context: Counter[str] = Counter()
    cited: Counter[str] = Counter()
    if run.index is not None:
        passages.update(passage.place.page for passage in run.index.passages)
        rows = run.ranking.context if run.ranking else ()
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
    lines = [
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
    page_frame.table(
        lines,
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
    rest = page_frame.kept("without_pages", run, lambda: without_pages(run, keys), keys)
    found = compare(run, rest)
    if found is None or rest.index is None or not rest.index.passages:
        page_frame.nothing("Nothing is left to rank.", "playlist_remove")
        return
    st.html(rank_changes.told(found))
    if picked := rank_changes.table(found, "without_pages"):
        rank_changes.opened(picked, run, rest, "without_pages")
    _answer_without(run, rest, keys)


def _answer_without(run: Run, rest: Run, keys: frozenset[str]) -> None:
    """On request, what the answer would be; the run keeps its own."""
    asked, name = st.session_state.get(ANSWER, (None, ""))
    job = runtime.runs().side_answers.get(name) if asked == keys else None
    live = job is not None and job.live
    what = "this page" if len(keys) == 1 else "these pages"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="without_head"):
        st.html(markup.kicker("The answer without", "the run keeps the answer that it has"), width="stretch")
        st.button(
            f"Answer without {what}",
            key="answer_without",
            icon=":material/edit_note:",
            disabled=live,
            on_click=_begin,
            args=(rest, keys),
        )
    if job is None:
        return

    @st.fragment(run_every=0.3 if live else None, key="without_answers")
    def answers() -> None:
        if live and not job.live:
            st.rerun()
        error = job.run.error
        answer_diff.answer_pair(
            answer_diff.AnswerSide(
                name="a",
                label="A",
                title="The run's answer",
                run=run,
                version=present(run),
                seconds=answering_seconds(run),
                missing="The run has no answer.",
            ),
            answer_diff.AnswerSide(
                name="b",
                label="B",
                title=f"Without {what}",
                run=rest,
                version=so_far(job.run),
                live=job.live,
                seconds=answering_seconds(job.run),
                fault=f"{error.message} {error.hint}" if error else "",
            ),
        )

    answers()


def _begin(rest: Run, keys: frozenset[str]) -> None:
    name = answer_pair.begin(f"{runtime.viewer()} without", rest, runtime.access())
    if name:
        st.session_state[ANSWER] = (keys, name)
