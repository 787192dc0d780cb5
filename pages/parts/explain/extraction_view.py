"""Extraction view: a page and the article of each extractor. The page's extractor can be changed."""

from collections.abc import Mapping

import streamlit as st
from htpy import Element, del_, div, i, ins, p, span

from core.analysis.extractor_comparison import (
    SHOWN_SOURCE,
    ExtractorComparison,
    ExtractorResult,
    compare_extractors,
)
from core.analysis.rankings.context_diff import context_diff, context_differs
from core.analysis.text_diff import DiffBlock, DiffKind, diff_blocks
from core.config.access import Access
from core.model import Extractor, Unreadable
from core.model.passage_urls import site
from core.run.state import Run
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import distinct_labels, one_line, pluralize
from core.text.urls import canonical_url
from pages.parts import markup, page_frame, runtime, widgets
from pages.parts.explain import left_out_text
from pages.parts.research import tuning_bar

PAGE = "extraction_page"
FETCH = "extraction_fetch"
PICKED = 200
"""Characters of a clicked line to look for."""
SOURCE, VISIBLE = "source", "visible text"
TAGS = {DiffKind.REMOVED: ("left out", del_), DiffKind.ADDED: ("only in the article", ins)}
KEPT = "The share of the visible text's characters, menus and footers included"
SWITCH = "Extracts this page with this extractor and ranks all passages again; other pages do not change."


def view(run: Run) -> None:
    """Draw a fetched page next to each extractor's article."""
    names = _names(run)
    if not names:
        markup.show_empty("No page was found.", "article")
        return
    key = _selected_page(names)
    access = runtime.access()
    tries = _tries(key)
    comparison = page_frame.run_on_loop(
        "extraction", run, lambda: _compared(run, key, access, fetch=tries > 0), (key, tries)
    )
    if isinstance(comparison, Unreadable):
        markup.show_empty(f"The page could not be fetched: {comparison}.", "link_off")
        _fetch_again(key)
    elif comparison is None:
        markup.show_empty(
            "This page is not cached: its server forbids caching, or the cache was full.", "cloud_off"
        )
        _fetch_again(key)
    else:
        _comparison(run, comparison)


async def _compared(
    run: Run, key: str, access: Access, *, fetch: bool
) -> ExtractorComparison | Unreadable | None:
    ports = await runtime.runs().engine.ports(run.knobs, access, run, writes=False)
    try:
        return await compare_extractors(run, key, ports, fetch=fetch)
    except Unreadable as why:
        return why


# --- page selection ---------------------------------------------------------------------------------------


def _names(run: Run) -> dict[str, str]:
    """Return page labels by key, best hits first. Skipped pages follow the pages that were read."""
    read = {
        page.key: f"{one_line(page.title or page.url, 90)} — {site(page.url)}" for page in run.ranked_pages
    }
    skipped = {
        hit.key: f"{one_line(hit.title or hit.url, 70)} — {site(hit.url)} (skipped: {run.skips[hit.key].reason})"
        for hit in run.hits
        if hit.key in run.skips
    }
    return distinct_labels({**read, **skipped})


def _selected_page(names: Mapping[str, str]) -> str:
    """Return the page in the address or the select box. Both are kept equal."""
    requested = st.query_params.get("page", "")
    if requested in names or (requested and (requested := canonical_url(requested)) in names):
        st.session_state[PAGE] = requested
    elif st.session_state.get(PAGE) not in names:
        st.session_state[PAGE] = next(iter(names))
    key = st.selectbox(
        "Page",
        list(names),
        key=PAGE,
        format_func=names.__getitem__,
        on_change=lambda: st.query_params.update(page=st.session_state[PAGE]),
        label_visibility="collapsed",
        width=720,
    )
    if st.query_params.get("page") != key:
        st.query_params["page"] = key
    return key


def _tries(key: str) -> int:
    """Return how often the user asked to fetch this page again."""
    fetched_page, tries = st.session_state.get(FETCH, ("", 0))
    return tries if fetched_page == key else 0


def _fetch_again(key: str) -> None:
    with st.container(horizontal=True, horizontal_alignment="center"):
        widgets.button(
            "Fetch again",
            "refresh",
            lambda: st.session_state.update({FETCH: (key, _tries(key) + 1)}),
            key="extraction_fetch_again",
        )


# --- comparison -------------------------------------------------------------------------------------------


def _comparison(run: Run, comparison: ExtractorComparison) -> None:
    results = {result.extractor: result for result in (*comparison.results, comparison.visible)}
    shown = st.session_state.get(
        "extraction_by"
    )  # set in every run: the browser forgets the choice during a live run
    st.session_state["extraction_by"] = shown if shown in results else comparison.in_use or Extractor.ACCURATE
    left, right = st.columns(2, gap="medium")
    with left:
        _page_source(comparison)
    with right:
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="extraction_head"):
            by = widgets.choice(
                "Extractor",
                list(results),
                key="extraction_by",
                format_func=lambda extractor: (
                    f"{extractor} ✓" if extractor is comparison.in_use else str(extractor)
                ),
                help="A check mark shows the extractor whose text is ranked.",
            )
            folded = st.toggle("Only differences", key="extraction_folded")
            st.space("stretch")
            result = results[by or Extractor.ACCURATE]
            _switch(run, comparison, result)
        _facts(result)
        left_out_text.kept_blocks(run, comparison)
        left_out_text.absence(run, comparison, result.extractor)
        _article(result, folded=folded)
    if difference := (context_diff(run, run) if context_differs(run, run) else None):
        markup.show(markup.section_heading("Ranked again", "the answer was written from another context"))
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="tuned"):
            tuning_bar.tuning(run, run, difference)


def _page_source(comparison: ExtractorComparison) -> None:
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key="extraction_source_head"
    ):
        shown_as = widgets.choice("The page as", [SOURCE, VISIBLE], key="extraction_as", default=SOURCE)
    shown_text = comparison.source if shown_as == SOURCE else _visible_text(comparison)
    cut = (
        ""
        if shown_as == VISIBLE or comparison.length <= SHOWN_SOURCE
        else f"; the first {SHOWN_SOURCE:,} are shown"
    )
    characters = comparison.length if shown_as == SOURCE else len(shown_text)
    origin = "fetched just now" if _tries(comparison.key) and not comparison.from_cache else "cached"
    markup.show(
        markup.facts(
            markup.count(characters, "character", cut),
            markup.fact(comparison.media_type or "no media type", ""),
            span[origin],
        )
    )
    if not shown_text:
        markup.show_empty(
            f"This page is not text but {markdown_label(comparison.media_type or 'of unknown type', 60)}; "
            "the extracted text is on the right."
            if shown_as == SOURCE
            else f"No visible text: {comparison.visible.error or 'the page is empty'}.",
            "code_off",
        )
        return
    label = "Source of the page" if shown_as == SOURCE else "Visible text of the page"
    classes = f"oq-text {'code' if shown_as == SOURCE else 'visible'}"
    markup.show(markup.region(classes, label)[shown_text])


def _visible_text(comparison: ExtractorComparison) -> str:
    return comparison.visible.article.text[:SHOWN_SOURCE] if comparison.visible.article else ""


def _facts(result: ExtractorResult) -> None:
    if result.article is None:
        return
    parts = [
        markup.count(len(result.article.text), "character"),
        markup.fact(f"{result.kept:.0%}", "of the visible text", KEPT),
        markup.count(result.left_out, "sentence", " left out", "", "bad" if result.left_out else ""),
    ]
    if result.article.seconds:
        parts.append(markup.fact(f"{1000 * result.article.seconds:.0f} ms", "CPU"))
    if result.article.kind:
        parts.append(markup.fact(result.article.kind_and_parts, "by its signs", result.article.kind_reason))
    parts.append(markup.author(result.article.extractor))
    markup.show(markup.facts(*parts))


def _article(result: ExtractorResult, *, folded: bool) -> None:
    if result.article is None:
        markup.show_empty(
            f"{result.extractor} extracts no article from this page: {result.error}.", "article"
        )
        return
    label = f"What {result.extractor} kept, left out and added"
    blocks = list(map(_block, diff_blocks(result.pieces, folded=folded)))
    markup.show(
        markup.region("oq-text diff", label)[blocks or result.article.text[:SHOWN_SOURCE]],
        div(".oq-legend")[
            span[i, "kept"],
            span(".out")[i, "left out"],
            span(".in")[i, "only in the article (joined, unwrapped or spelt differently)"],
            span[result.truncated and "Only the beginning was compared, because the page is very long."],
        ],
    )


def _block(block: DiffBlock) -> Element:
    if block.kind is DiffKind.COMMON:
        hidden = block.hidden and span(".fold")[f"{pluralize(block.hidden, 'character')} in both"]
        return p[block.text, hidden or None, block.rest]
    label, tag = TAGS[block.kind]
    if block.kind is DiffKind.ADDED:
        return p[tag(title=label)[block.text]]
    lines = block.text.split("\n")
    links = (markup.pick_link("left-out", line[:PICKED])[line] for line in lines)
    return p[tag(title=f"{label}: click for the reason")[(node for link in links for node in (link, "\n"))]]


def _switch(run: Run, comparison: ExtractorComparison, result: ExtractorResult) -> None:
    in_use = result.extractor is comparison.in_use
    widgets.button(
        "In use" if in_use else f"Rank with {result.extractor}",
        "check" if in_use else "swap_vert",
        runtime.continue_run,
        run.id,
        runtime.runs().read_as,
        comparison.key,
        result.extractor,
        comparison.kept_by_hand,
        key="extraction_switch",
        type="secondary" if in_use else "primary",
        disabled=in_use or result.article is None,
        help=None if in_use else SWITCH,
    )
