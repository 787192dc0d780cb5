"""Two answers side by side with their citations, and what differs between them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from core.analysis.answers.answer_cards import author
from core.analysis.answers.answer_comparison import Difference, difference
from core.analysis.answers.answer_figures import Figure, Unit, figures, marks
from core.analysis.extraction.extractor_comparison import PagePart
from core.model import Source
from core.model.passage_urls import site
from core.run.state import AnswerVersion, Run
from core.text import safe_markdown
from core.text.safe_markdown import escape_html, markdown_label
from core.text.sanitize import one_line
from pages.parts import markup
from pages.parts.passage_reader import reader

PICKED = "bench_told"
CURSOR = " ▍"
_CITATION = re.compile(r"\]\(#src-(?=\d+\))")
"""How `render.safe_markdown` links a citation. Both answers have a source 1, so the links must say whose."""
TAGS = {PagePart.KEPT: "span", PagePart.LEFT_OUT: "del", PagePart.ADDED: "ins"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSide:
    """One of the two. `name` is a or b, `run` has the pages that the sources stand in."""

    name: str
    label: str
    title: str
    run: Run
    version: AnswerVersion | None
    live: bool = False
    seconds: float | None = None
    fault: str = ""
    missing: str = ""
    """What is said while there is no answer."""


def pick(name: str) -> None:
    """A click on a citation or a source: `a/3` is source 3 of the first."""
    side, _, number = name.partition("/")
    if number.isdecimal():
        st.session_state[PICKED] = (side, int(number))


def answer_pair(first: AnswerSide, second: AnswerSide) -> None:
    """Both answers, the passage that was picked in one of them, and what differs."""
    found = None
    if first.version and second.version and not (first.live or second.live):
        found = difference(first.version, second.version)
    own_marks = marks(found) if found else ({}, {})
    for column, side, own in zip(st.columns(2, gap="medium"), (first, second), own_marks, strict=True):
        with column:
            _card(side, own)
    _picked(first, second)
    if found:
        _differs(found, first, second)


def _card(side: AnswerSide, own: Mapping[int, str]) -> None:
    with st.container(border=True, key=f"told_{side.name}"):
        st.html(
            f'<div class="oq-told-head"><span class="oq-side {side.name}">{escape_html(side.label)}</span>'
            f"<b>{escape_html(side.title)}</b><span>{escape_html(author(side.version.answer if side.version else None))}</span></div>"
        )
        if side.fault:
            st.error(markdown_label(side.fault, 400), icon=":material/error:")
        if side.version is None:
            words = "The answer is on its way …" if side.live else side.missing
            if words:
                st.html(markup.empty(words, "hourglass_empty" if side.live else "edit_note"))
            return
        with st.container(key=f"told_body_{side.name}"):
            text = safe_markdown.safe_markdown(side.version.answer.text, len(side.version.sources))
            text = _CITATION.sub(f"](#pick-told/{side.name}/", text)
            st.markdown(text + (CURSOR if side.live else ""), anchors=False)
        cited = side.version.check.cited
        rows = "".join(
            _source(side, one, used=one.number in cited, mark=own.get(one.number, ""))
            for one in side.version.sources
        )
        st.html(f'<div class="oq-told" role="group" aria-label="Sources">{rows}</div>')


def _source(side: AnswerSide, one: Source, *, used: bool, mark: str) -> str:
    tag = f'<span class="oq-tag {mark.partition(" ")[0]}">{escape_html(mark)}</span>' if mark else ""
    on = " on" if st.session_state.get(PICKED) == (side.name, one.number) else ""
    return (
        f'<a class="{"used" if used else ""}{on}" href="#pick-told/{side.name}/{one.number}" '
        f'title="{escape_html(one_line(one.passage.text, 300))}"><span class="n">{one.number}</span>'
        f"<span>{escape_html(one_line(one.title or site(one.url), 80))}</span>{tag}"
        f"<span>{escape_html(one.site or site(one.url))}</span></a>"
    )


def _picked(*sides: AnswerSide) -> None:
    name, number = st.session_state.get(PICKED, ("", 0))
    for side in sides:
        if side.name != name or side.version is None:
            continue
        source = next((one for one in side.version.sources if one.number == number), None)
        if source is None:
            return
        place = source.passage.place
        page = side.run.pages.get(place.page)
        label = f"{side.label}: source {number}"
        if page is not None and page.text[place.start : place.end] == source.passage.text:
            reader(page, place, label=label, told=(), key="reader_told", close=_forget)
        else:
            with st.container(border=True, key="reader_told"):
                st.html(
                    f"{markup.kicker(label, 'the page has another text by now')}"
                    f'<div class="oq-article"><mark>{escape_html(source.passage.text)}</mark></div>'
                )
                st.button("Close", icon=":material/close:", type="tertiary", on_click=_forget)


def _forget() -> None:
    st.session_state.pop(PICKED, None)


# --- what differs -----------------------------------------------------------------------------------------


def _differs(found: Difference, first: AnswerSide, second: AnswerSide) -> None:
    st.html(markup.kicker("What differs", f"from {first.label} to {second.label}"))
    st.html(_table(figures(found, first.seconds, second.seconds), first, second))
    if found.shared == 1 and not found.recited:
        st.html('<p class="oq-verdict">Word for word the same answer.</p>')
        return
    recited = f" {found.recited} of them cite other passages now." if found.recited else ""
    st.html(
        f'<p class="oq-verdict">{found.count(PagePart.KEPT)} sentences are in both, '
        f"{found.count(PagePart.LEFT_OUT)} only in {escape_html(first.label)}, "
        f"{found.count(PagePart.ADDED)} only in {escape_html(second.label)}.{recited}</p>"
    )
    inner = " ".join(
        f"<{TAGS[piece.part]}>{escape_html(piece.text)}</{TAGS[piece.part]}>" for piece in found.pieces
    )
    st.html(
        f'<div class="oq-xray diff flow" tabindex="0" role="region" aria-label="Both answers as one text">{inner}</div>'
        f'<div class="oq-legend"><span><i></i>in both</span><span class="out"><i></i>only in {escape_html(first.label)}'
        f'</span><span class="in"><i></i>only in {escape_html(second.label)}</span></div>'
    )


def _table(told: tuple[Figure, ...], first: AnswerSide, second: AnswerSide) -> str:
    head = "".join(
        f'<th scope="col" title="{escape_html(one.hint)}">{escape_html(one.label)}</th>' for one in told
    )

    def row(label: str, cells: list[str]) -> str:
        return f'<tr><th scope="row">{label}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'

    rows = (
        row(_badge(first), [_value(one.before, one.unit) for one in told]),
        row(_badge(second), [_value(one.after, one.unit) for one in told]),
        row("difference", [_value(one.difference, one.unit, signed=True) for one in told]),
    )
    return (
        f'<div class="oq-figures" tabindex="0" role="region" aria-label="Figures of both answers"><table>'
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _badge(side: AnswerSide) -> str:
    return f'<span class="oq-side {side.name}">{escape_html(side.label)}</span>'


def _value(value: float | None, unit: Unit, *, signed: bool = False) -> str:
    if value is None:
        return "–"
    sign = "" if not signed else "+" if value > 0 else "−" if value < 0 else "±"
    size = abs(value) if signed else value
    match unit:
        case Unit.COUNT:
            return f"{sign}{size:,.0f}"
        case Unit.SECONDS:
            return f"{sign}{markup.duration(size)}"
        case Unit.DOLLARS:
            return f"{sign}${size:.5f}"
