"""Attrition: what was lost on the way from search results to citations, and the fate of any one sentence."""

from __future__ import annotations

import streamlit as st

from core.analysis.losses.attrition import Attrition, Band, attrition
from core.analysis.losses.loss_details import loss_details
from core.analysis.losses.trace import End, Trace, why_not
from core.analysis.losses.trace_steps import Outcome, milestones
from core.model import Place
from core.run.state import Run
from core.text.safe_markdown import escape_html
from pages.parts import charts, markup, page_frame
from pages.parts.passage_reader import reader

BAND = "bench_band"
WHY = "why"
MOST = 2000
SIGNS = {
    Outcome.PASSED: "check",
    Outcome.ENDED: "close",
    Outcome.BEYOND: "remove",
    Outcome.UNKNOWN: "question_mark",
}


def view(run: Run) -> None:
    found = page_frame.kept("attrition", run, lambda: attrition(run))
    bands = {band.key: band for band in found.bands if band.count}
    if not bands:
        page_frame.nothing("No search result came in, so nothing could be lost.", "filter_alt_off")
        return
    if st.session_state.get(BAND) not in bands:
        st.session_state[BAND] = None
    with st.container(key="pickable_sankey"):
        st.plotly_chart(
            charts.sankey(found, st.session_state[BAND], dark=page_frame.dark()),
            key="sankey",
            config=page_frame.CONFIG,
            theme=None,
            alt="Flow from search results to cited passages, with a red end for every loss",
        )
    if not found.answered:
        st.caption("The answer was written from another context, so nothing is said about citations here.")
    _behind(run, found, bands)
    _why(run)


def pick(name: str) -> None:
    st.session_state[BAND] = name


def _behind(run: Run, found: Attrition, bands: dict[str, Band]) -> None:
    losses = [key for key, band in bands.items() if band.to is None]
    order = [*losses, *(key for key in bands if key not in losses)]
    key = st.selectbox(
        "What is behind",
        order,
        index=None,
        key=BAND,
        format_func=lambda one: _named(bands[one]),
        placeholder=f"What is behind? Click a band above, or pick one of {len(losses)} losses …"
        if losses
        else "What is behind? Click a band above, or pick one …",
        label_visibility="collapsed",
        icon=":material/filter_alt:",
    )
    if key is None:
        return
    items = loss_details(run, bands[key])
    more = f"; the first {MOST:,} are listed" if len(items) > MOST else ""
    st.html(markup.kicker(_named(bands[key]), f"{len(items):,} in all{more}"))
    page_frame.table(
        [(one.label, one.detail, markup.way_out(one.url) or None) for one in items[:MOST]],
        ("what", "where", "link"),
        "behind",
        most=8,
        config={
            "what": st.column_config.TextColumn("what", width="large"),
            "where": st.column_config.TextColumn("where", width="medium"),
            "link": st.column_config.LinkColumn("link", display_text=":material/open_in_new:", width=48),
        },
        alt="What is behind the band",
    )


def _named(band: Band) -> str:
    return (
        f"Lost after “{band.start}”: {band.reason} ({band.count:,})"
        if band.to is None
        else (f"{str(band.start).capitalize()} → {band.to} ({band.count:,})")
    )


# --- why was this not found? ------------------------------------------------------------------------------


def _why(run: Run) -> None:
    with st.container(border=True, key="why_card"):
        st.html('<h2 class="oq-bench-title">Why was this not found?</h2>')
        sought = st.text_area(
            "A sentence or an address",
            key=WHY,
            placeholder="Paste a sentence that you expected in the answer, or the address of a page …",
            label_visibility="collapsed",
            height=80,
            max_chars=2000,
            bind="query-params",
        )
        st.button("Trace it", key="trace", icon=":material/route:")
        fate = page_frame.kept("why", run, lambda: why_not(run, sought or ""), sought)
        if fate.end is End.NOTHING_SOUGHT:
            return
        st.html(_way(fate))
        _parts(run, fate)
    _passage(run, fate)


def _way(fate: Trace) -> str:
    steps = "".join(
        f'<li class="{one.outcome}" aria-label="{one.title}: {one.outcome}">{markup.icon(SIGNS[one.outcome])}'
        f"<span>{one.title}</span></li>"
        for one in milestones(fate)
    )
    near = (
        ""
        if fate.likeness >= 1
        else (f"These are not the very words: {fate.likeness:.0%} of them, by weight, stand there.")
    )
    tone = "good" if fate.end is End.CITED else "bad"
    return (
        f'<ol class="oq-way" data-end="{fate.end.name}">{steps}</ol>'
        f'<p class="oq-verdict {tone}">{escape_html(fate.message)} {escape_html(near)}</p>'
    )


def _parts(run: Run, fate: Trace) -> None:
    if len(fate.parts) < 2 or run.index is None:
        return
    passages = run.index.passages
    score = fate.score_name or "score"
    page_frame.table(
        [
            (
                part.rank,
                part.score,
                part.number,
                part.reason or "in the context",
                _start(passages[part.row].text),
            )
            for part in fate.parts
        ],
        ("rank", score, "context", "why", "passage"),
        "fate_parts",
        most=6,
        config={
            score: st.column_config.NumberColumn(format="%.3f"),
            "passage": st.column_config.TextColumn(width="large"),
        },
        alt="The passages that hold it or a piece of it",
    )


def _start(text: str) -> str:
    return " ".join(text.split())[:160]


def _passage(run: Run, fate: Trace) -> None:
    """The place in its article, or the best passage of the page."""
    page = run.pages.get(fate.page or "")
    if page is None:
        return
    place: Place | None = fate.place
    if place is None and fate.parts and run.index is not None:
        place = run.index.passages[fate.parts[0].row].place
    if place is None or place.page != page.key:
        return
    best = fate.parts[0] if fate.parts else None
    told = [] if best is None else [markup.fact(f"{best.rank:,}", "rank of its best passage")]
    if best is not None and best.score is not None:
        told.append(markup.fact(f"{best.score:.3f}", fate.score_name))
    if fate.cutoff is not None:
        told.append(markup.fact(f"{fate.cutoff:.3f}", "of the last source"))
    reader(page, place, label="It stands here", told=tuple(told), key="reader_fate", close=_forget)


def _forget() -> None:
    st.session_state[WHY] = ""
