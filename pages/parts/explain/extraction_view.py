"""X-ray: a page as it came beside what each extractor kept of it, and another extractor for this page alone."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.analysis.extraction.extractor_comparison import (
    RAW,
    ExtractorComparison,
    PagePart,
    Reading,
    compare_extractors,
)
from core.analysis.extraction.text_blocks import Block, blocks
from core.analysis.rankings.context_changes import other_context
from core.config.access import Access
from core.model import Extractor, Unreadable
from core.model.passage_urls import site
from core.run.state import Run
from core.text.safe_markdown import escape_html, markdown_label
from core.text.sanitize import one_line
from core.text.urls import canonical_url
from pages.parts import markup, page_frame, runtime
from pages.parts.research import tuning_bar

PAGE = "xray_page"
FETCH = "xray_fetch"
HTML, SEEN = "source", "what a reader sees"
SIGNS = {PagePart.LEFT_OUT: ("left out", "del"), PagePart.ADDED: ("only in the article", "ins")}


def view(run: Run) -> None:
    names = _names(run)
    if not names:
        page_frame.nothing("No page was found, so there is none to look into.", "article")
        return
    key = _picked(names)
    access = runtime.access()
    tries = _tries(key)
    found = page_frame.on_loop("xray", run, lambda: _looked(run, key, access, fetch=tries > 0), (key, tries))
    if isinstance(found, Unreadable):
        page_frame.nothing(f"The page could not be had: {found}.", "link_off")
        _fetch_again(key)
    elif found is None:
        page_frame.nothing(
            "This page was not kept, because its server asked for that or because the cache was full.",
            "cloud_off",
        )
        _fetch_again(key)
    else:
        _shown(run, found)


async def _looked(
    run: Run, key: str, access: Access, *, fetch: bool
) -> ExtractorComparison | Unreadable | None:
    ports = await runtime.runs().engine.ports(run.knobs, access)
    try:
        return await compare_extractors(run, key, ports, fetch=fetch)
    except Unreadable as why:
        return why


# --- which page -------------------------------------------------------------------------------------------


def _names(run: Run) -> dict[str, str]:
    """Pages that were read, best hits first, then those that were skipped, each as a person would say it."""
    read = {
        page.key: f"{one_line(page.title or page.url, 90)} — {site(page.url)}" for page in run.ranked_pages
    }
    skipped = {
        hit.key: f"{one_line(hit.title or hit.url, 70)} — {site(hit.url)} (skipped: {run.skips[hit.key].reason})"
        for hit in run.hits
        if hit.key in run.skips
    }
    return {**read, **skipped}


def _picked(names: Mapping[str, str]) -> str:
    """The page that the address names, or the one that was picked; both are then the same."""
    asked = st.query_params.get("page", "")
    if asked in names or (asked and (asked := canonical_url(asked)) in names):
        st.session_state[PAGE] = asked
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
    """How often a person asked for this page to be fetched again."""
    wanted, tries = st.session_state.get(FETCH, ("", 0))
    return tries if wanted == key else 0


def _fetch_again(key: str) -> None:
    with st.container(horizontal=True, horizontal_alignment="center"):
        st.button(
            "Fetch it again",
            key="xray_fetch_again",
            icon=":material/refresh:",
            on_click=lambda: st.session_state.update({FETCH: (key, _tries(key) + 1)}),
        )


# --- what is seen -----------------------------------------------------------------------------------------


def _shown(run: Run, found: ExtractorComparison) -> None:
    told = {one.extractor: one for one in (*found.readings, found.visible)}
    if st.session_state.get("xray_by") not in told:
        st.session_state["xray_by"] = found.in_use or Extractor.ACCURATE
    left, right = st.columns(2, gap="medium")
    with left:
        _came(found)
    with right:
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="xray_head"):
            by = st.segmented_control(
                "Extractor",
                list(told),
                key="xray_by",
                required=True,
                format_func=lambda one: f"{one} ✓" if one is found.in_use else str(one),
                label_visibility="collapsed",
                help="The one with the check mark is the one whose text was ranked.",
            )
            folded = st.toggle("Only differences", key="xray_folded")
            st.space("stretch")
            reading = told[Extractor(by)]
            _switch(run, found, reading)
        _figures(reading, found)
        _article(reading, folded=folded)
    if other_context(run, run):
        st.html(markup.kicker("Ranked anew", "the answer was written from another context"))
        tuning_bar.tuning(run, run, lasts=False)


def _came(found: ExtractorComparison) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="xray_came_head"):
        as_what = st.segmented_control(
            "The page as",
            [HTML, SEEN],
            key="xray_as",
            default=HTML,
            required=True,
            label_visibility="collapsed",
        )
    shown = found.raw if as_what == HTML else _seen(found)
    cut = "" if as_what == SEEN or found.length <= RAW else f", of which the first {RAW:,} are shown"
    characters = found.length if as_what == HTML else len(shown)
    kept = "fetched just now" if _tries(found.key) and not found.from_cache else "at hand"
    st.html(
        markup.facts(
            markup.fact(f"{characters:,}", f"characters{cut}"),
            markup.fact(found.media_type or "no type", ""),
            f"<span>{kept}</span>",
        )
    )
    if not shown:
        page_frame.nothing(
            f"This page is no text but {markdown_label(found.media_type or 'something else', 60)}; "
            "on the right is what was read from it."
            if as_what == HTML
            else f"Nothing is to be seen: {found.visible.fault or 'the page is empty'}.",
            "code_off",
        )
        return
    label = "The page's source, as text" if as_what == HTML else "All that a reader sees of the page"
    st.html(
        f'<div class="oq-xray {"code" if as_what == HTML else "seen"}" tabindex="0" role="region" '
        f'aria-label="{label}">{escape_html(shown)}</div>'
    )


def _seen(found: ExtractorComparison) -> str:
    return found.visible.article.text[:RAW] if found.visible.article else ""


def _figures(reading: Reading, found: ExtractorComparison) -> None:
    if reading.article is None:
        return
    parts = [
        markup.fact(f"{len(reading.article.text):,}", "characters"),
        markup.fact(f"{reading.kept:.0%}", "of what a reader sees", KEPT),
        markup.fact(f"{reading.left_out:,}", "sentences left out", "", "bad" if reading.left_out else ""),
    ]
    if reading.article.seconds:
        parts.append(markup.fact(f"{1000 * reading.article.seconds:.0f} ms", "CPU"))
    parts.append(f'<span class="who">{escape_html(reading.article.extractor)}</span>')
    st.html(markup.facts(*parts))


KEPT = "Share of the characters of all that a reader sees, menus and footers included"


def _article(reading: Reading, *, folded: bool) -> None:
    if reading.article is None:
        page_frame.nothing(f"{reading.extractor} finds no article here: {reading.fault}.", "article")
        return
    inner = "".join(map(_block, blocks(reading.pieces, folded=folded)))
    if not inner:
        inner = escape_html(reading.article.text[:RAW])
    note = "Only the beginning was compared: the page is very long." if reading.cut else ""
    st.html(
        '<div class="oq-xray diff" tabindex="0" role="region" '
        f'aria-label="What {reading.extractor} kept, left out and added">{inner}</div>'
        '<div class="oq-legend"><span><i></i>kept</span><span class="out"><i></i>left out</span>'
        f'<span class="in"><i></i>only in the article: joined, unwrapped or spelt differently</span>'
        f"<span>{escape_html(note)}</span></div>"
    )


def _block(block: Block) -> str:
    text = escape_html(block.text)
    if block.part is PagePart.KEPT:
        middle = (
            f'<span class="fold">{block.hidden:,} characters that both have</span>' if block.hidden else ""
        )
        return f"<p>{text}{middle}{escape_html(block.rest)}</p>"
    label, tag = SIGNS[block.part]
    return f'<p><{tag} title="{label}">{text}</{tag}></p>'


def _switch(run: Run, found: ExtractorComparison, reading: Reading) -> None:
    in_use = reading.extractor is found.in_use
    st.button(
        "In use" if in_use else f"Rank with {reading.extractor}",
        key="xray_switch",
        icon=":material/check:" if in_use else ":material/swap_vert:",
        type="secondary" if in_use else "primary",
        disabled=in_use or reading.article is None,
        on_click=_read_as,
        args=(run.id, found.key, reading.extractor),
        help=None if in_use else SWITCH,
    )


SWITCH = (
    "Reads this one page with this extractor and ranks all passages again. The other pages stay as they are, "
    "and nothing is fetched that is at hand."
)


def _read_as(run_id: str, key: str, extractor: Extractor) -> None:
    runtime.go_on(run_id, lambda: runtime.runs().read_as(run_id, key, extractor, runtime.access()))
