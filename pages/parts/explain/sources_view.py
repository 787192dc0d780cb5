"""Sources view: near-duplicate pages, and rankings without some pages.

A limit applies to near-identical passages.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import streamlit as st

from core.analysis.rankings.ablation import without_pages
from core.analysis.rankings.context_membership import cited_rows
from core.analysis.rankings.duplicate_clusters import DuplicateClusters, duplicate_clusters, duplicate_limit
from core.model import Page
from core.model.passage_urls import site
from core.run.state import Run
from core.text.sanitize import distinct_labels, one_line
from pages.parts import markup, page_frame, runtime, widgets
from pages.parts.answers import answer_pair
from pages.parts.answers.answer_diff import AnswerSide, side_by_side
from pages.parts.compare import rank_changes

LIMITS = (1, 2, 3)
ANSWER = "without_answer"
"""Session key: excluded pages, and the name of the answer without them."""


def view(run: Run) -> None:
    """Draw groups of near-duplicate pages, and rankings without a page."""
    pages = run.ranked_pages
    if not pages:
        markup.show_empty("No page was read.", "article")
        return
    duplicates = page_frame.cached("duplicates", run, lambda: duplicate_clusters(run))
    markup.show(markup.verdict(duplicates.summary))
    _table(run, duplicates)
    if run.index is None or run.ranking is None:
        return
    if len(pages) < 2:
        markup.show_empty("There is only one page, so none can be left out.", "looks_one")
        return
    _duplicate_limit(run)
    _without(run)


def _duplicate_limit(run: Run) -> None:
    """Draw the rankings with and without a limit of near-identical passages."""
    own = run.knobs.rank.per_cluster
    note = f"limit of this run: {own}" if own else "this run has no limit"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="duplicate_limit_head"):
        markup.show(markup.section_heading("Near-identical passages", note), width="stretch")
        limit = widgets.choice(
            "Near-identical passages",
            LIMITS,
            key="duplicate_limit",
            default=own if own in LIMITS else LIMITS[0],
            format_func=lambda count: f"at most {count}",
        )
    effect = page_frame.cached("duplicate_limit", run, lambda: duplicate_limit(run, int(limit)), limit)
    if effect is None:
        return
    markup.show(
        rank_changes.comparison_facts(
            effect.comparison,
            markup.fact(
                f"{effect.copies_unlimited} → {effect.copies_limited}",
                "passages of the context that repeat another",
                "Most of their words are in a better passage of another page",
            ),
        )
    )
    if effect.comparison.contexts == 1:
        markup.show_empty("The context is the same with and without this limit.", "equal")
        return
    names = ("no limit", f"at most {limit}")
    rankings = effect.unlimited, effect.limited
    rank_changes.change_table(effect.comparison.context_only, *rankings, "limit_changes", names)


def _table(run: Run, duplicates: DuplicateClusters) -> None:
    passages: Counter[str] = Counter()
    context: Counter[str] = Counter()
    cited: Counter[str] = Counter()
    if run.index is not None:
        passages.update(passage.place.page for passage in run.index.passages)
        rows = run.ranking.context if run.ranking else ()
        context.update(run.index.passages[row].place.page for row in rows)
        cited.update(run.index.passages[row].place.page for row in cited_rows(run))
    shared = {
        key: (number, containment)
        for number, cluster in enumerate(duplicates.clusters, 1)
        for key, containment in cluster.items()
    }
    text, number = st.column_config.TextColumn, st.column_config.NumberColumn
    meaning = (
        "Near-duplicate pages have the same number; the share is how much of the page is in the longest one."
    )
    columns: dict[str, tuple[Any, Callable[[Page], object]]] = {
        "group": (
            text("duplicate group", width=112, help=meaning),
            lambda page: "{}, {:.0%}".format(*shared[page.key]) if page.key in shared else "unique",
        ),
        "title": (text("page", width="large"), lambda page: one_line(page.title or page.url, 120)),
        "site": (text("site", width=170), lambda page: site(page.url)),
        "characters": (number("characters", width=90, format="localized"), lambda page: len(page.text)),
        "passages": (number("passages", width=76), lambda page: passages[page.key]),
        "context": (number("in context", width=82), lambda page: context[page.key]),
        "cited": (number("cited", width=60), lambda page: cited[page.key]),
        "link": page_frame.link_column(),
    }
    alt = "Pages with their duplicate groups"
    page_frame.table(run.ranked_pages, columns, "clusters", max_rows=9, alt=alt)


def _without(run: Run) -> None:
    markup.show(markup.section_heading("Ranking without pages", "the answer is unchanged"))
    titles = distinct_labels(
        {page.key: f"{one_line(page.title or page.url, 70)} — {site(page.url)}" for page in run.ranked_pages}
    )
    out = st.multiselect(
        "Leave out",
        list(titles),
        key="left_out",
        format_func=lambda page: titles.get(page, "a page that is no longer in the run"),
        placeholder="Select pages to leave out …",
        label_visibility="collapsed",
        width=720,
    )
    keys = frozenset(page for page in out if page in titles)
    if not keys:
        return
    rest = page_frame.cached("without_pages", run, lambda: without_pages(run, keys), keys)
    if rank_changes.changes_without(run, rest, "without_pages", "Nothing is left to rank."):
        _answer_without(run, rest, keys)


def _answer_without(run: Run, rest: Run, keys: frozenset[str]) -> None:
    """Draw an answer without these pages, on request. The run's answer is unchanged."""
    question, name = st.session_state.get(ANSWER, (None, ""))
    job = runtime.runs().side_answers.get(name) if question == keys else None
    live = job is not None and job.live
    label = "this page" if len(keys) == 1 else "these pages"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="without_head"):
        markup.show(
            markup.section_heading("Answer without pages", "the run's answer is unchanged"), width="stretch"
        )
        widgets.button(
            f"Answer without {label}", "edit_note", _begin, rest, keys, key="answer_without", disabled=live
        )
    if job is None:
        return
    page_frame.until(
        lambda: not job.live,
        lambda: side_by_side(
            AnswerSide.of_run("a", "Original answer", run, "The run has no answer."),
            AnswerSide.of_job("b", f"Without {label}", job),
        ),
        key="without_answers",
        every=0.3 if live else None,
    )


def _begin(rest: Run, keys: frozenset[str]) -> None:
    name = answer_pair.begin(f"{runtime.session_id()} without", rest, runtime.access())
    if name:
        st.session_state[ANSWER] = (keys, name)
