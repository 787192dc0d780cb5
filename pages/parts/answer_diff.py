"""Two answers side by side with their sources, a table of metrics, and a sentence diff."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from core.analysis.answers.answer_comparison import (
    MOST_SENTENCES,
    AnswerComparison,
    AnswerMetric,
    Unit,
    answer_metrics,
    compare_answers,
)
from core.analysis.answers.answer_stats import answer_author
from core.analysis.run_activity import current_activity
from core.analysis.text_diff import DiffKind, DiffPiece
from core.model import Source
from core.model.passage_urls import site
from core.run.state import AnswerVersion, Run
from core.text.markdown import safe_markdown
from core.text.markdown.safe_markdown import escape_html, markdown_label
from core.text.sanitize import one_line, pluralize
from pages.parts import markup, runtime
from pages.parts.passage_reader import reader

SELECTED = "selected_source"
CURSOR = " ▍"
_CITATION = re.compile(r"\]\(#src-(?=\d+\))")
"""A citation link of `safe_markdown`. Both answers have a source 1, so the links must name the answer."""
TAGS = {DiffKind.COMMON: "span", DiffKind.REMOVED: "del", DiffKind.ADDED: "ins"}
SIGNS = {DiffKind.COMMON: "", DiffKind.REMOVED: "−", DiffKind.ADDED: "+"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSide:
    """One of the two answers. `name` is a or b; `run` has the pages of the sources."""

    name: str
    label: str
    title: str
    run: Run
    version: AnswerVersion | None
    live: bool = False
    seconds: float | None = None
    error: str = ""
    missing: str = ""
    """What is shown while there is no answer."""


def pick(name: str) -> None:
    """Handle a click on a citation or source: `a/3` is source 3 of the first answer."""
    side, _, number = name.partition("/")
    if number.isdecimal():
        st.session_state[SELECTED] = (side, int(number))


def side_by_side(first: AnswerSide, second: AnswerSide) -> None:
    """Draw both answers, the passage of the selected source, and the differences."""
    comparison = None
    if first.version and second.version and not (first.live or second.live):
        comparison = compare_answers(first.version, second.version)
    labels = comparison.source_labels if comparison else ({}, {})
    for column, side, own in zip(st.columns(2, gap="medium"), (first, second), labels, strict=True):
        with column:
            _card(side, own)
    _selected_passage(first, second)
    if comparison:
        _differences(comparison, first, second)


def _card(side: AnswerSide, labels: Mapping[int, str]) -> None:
    with st.container(border=True, key=f"version_card_{side.name}"):
        st.html(
            f'<div class="oq-version-head"><span class="oq-side {side.name}">{escape_html(side.label)}</span>'
            f"<b>{escape_html(side.title)}</b><span>{escape_html(answer_author(side.version.answer if side.version else None))}</span></div>"
        )
        if side.error:
            st.error(markdown_label(side.error, 400), icon=":material/error:")
        if side.version is None:
            seconds = runtime.clock(side.run, side.name)
            words = f"{current_activity(side.run, seconds)} …" if side.live else side.missing
            if words:
                st.html(markup.empty(words, "hourglass_empty" if side.live else "edit_note"))
            return
        with st.container(key=f"version_body_{side.name}"):
            text = safe_markdown.safe_markdown(side.version.answer.text, len(side.version.sources))
            text = _CITATION.sub(f"](#pick-source/{side.name}/", text)
            st.markdown(text + (CURSOR if side.live else ""), anchors=False)
        cited = side.version.check.cited
        rows = "".join(
            _source(side, source, used=source.number in cited, label=labels.get(source.number, ""))
            for source in side.version.sources
        )
        st.html(f'<div class="oq-version" role="group" aria-label="Sources">{rows}</div>')


def _source(side: AnswerSide, source: Source, *, used: bool, label: str) -> str:
    tag = f'<span class="oq-tag {label.partition(" ")[0]}">{escape_html(label)}</span>' if label else ""
    on = " on" if st.session_state.get(SELECTED) == (side.name, source.number) else ""
    title, where = one_line(source.title or site(source.url), 80), source.site or site(source.url)
    return (
        f'<a class="{"used" if used else ""}{on}" href="#pick-source/{side.name}/{source.number}" '
        f'title="{escape_html(one_line(source.passage.text, 300))}" '
        f'data-source="{escape_html(f"Source {source.number}: {title}, {where}")}"><span class="n">{source.number}</span>'
        f"<span>{escape_html(title)}</span>{tag}<span>{escape_html(where)}</span></a>"
    )


def _selected_passage(*sides: AnswerSide) -> None:
    name, number = st.session_state.get(SELECTED, ("", 0))
    for side in sides:
        if side.name != name or side.version is None:
            continue
        source = next((candidate for candidate in side.version.sources if candidate.number == number), None)
        if source is None:
            return
        place, passage_place = source.passage.place, source.place
        page = side.run.pages.get(place.page)
        label = f"{side.label}: source {number}"
        if page is not None and page.text[passage_place.start : passage_place.end] == source.text:
            reader(
                page, place, given=passage_place, label=label, facts=(), key="reader_source", close=_deselect
            )
        else:
            with st.container(border=True, key="reader_source"):
                st.html(
                    f"{markup.kicker(label, 'the page has changed since')}"
                    f'<div class="oq-article"><mark>{escape_html(source.text)}</mark></div>'
                )
                st.button(
                    "Close",
                    icon=":material/close:",
                    type="tertiary",
                    key="reader_source_close",
                    on_click=_deselect,
                )


def _deselect() -> None:
    st.session_state.pop(SELECTED, None)


# --- differences ------------------------------------------------------------------------------------------


def _differences(comparison: AnswerComparison, first: AnswerSide, second: AnswerSide) -> None:
    st.html(markup.kicker("Differences", f"from {first.label} to {second.label}"))
    st.html(_table(answer_metrics(comparison, first.seconds, second.seconds), first, second))
    if comparison.similarity == 1 and not comparison.citations_changed:
        st.html('<p class="oq-verdict">Both answers have the same sentences and citations.</p>')
        return
    changed = (
        f" {comparison.citations_changed} common sentences cite other passages."
        if comparison.citations_changed
        else ""
    )
    st.html(
        f'<p class="oq-verdict">{pluralize(comparison.count(DiffKind.COMMON), "sentence")} in both, '
        f"{comparison.count(DiffKind.REMOVED)} only in {escape_html(first.label)}, "
        f"{comparison.count(DiffKind.ADDED)} only in {escape_html(second.label)}.{changed}</p>"
    )
    inner = "".join(_piece(piece, first, second) for piece in comparison.pieces)
    st.html(
        f'<div class="oq-text diff flow" tabindex="0" role="region" aria-label="Diff of both answers"><ul>{inner}</ul></div>'
        f'<div class="oq-legend"><span><i></i>in both</span><span class="out"><i>−</i>only in {escape_html(first.label)}'
        f'</span><span class="in"><i>+</i>only in {escape_html(second.label)}</span></div>'
    )
    if comparison.left_out:
        st.caption(f"Only the first {MOST_SENTENCES:,} sentences of an answer are compared.")


def _piece(piece: DiffPiece, first: AnswerSide, second: AnswerSide) -> str:
    """A sentence on a line of its own, with the side that has it in words for a screen reader."""
    side = first if piece.kind is DiffKind.REMOVED else second
    only = "" if piece.kind is DiffKind.COMMON else f"only in {escape_html(side.label)}: "
    tag = TAGS[piece.kind]
    cited = "".join(
        f'<a href="#pick-source/{side.name}/{number}" aria-label="source {number}">{number}</a>'
        for number in piece.cites
    )
    return (
        f'<li class="{piece.kind}"><b aria-hidden="true">{SIGNS[piece.kind]}</b><span dir="auto">'
        f'<span class="oq-unseen">{only}</span><{tag}>{escape_html(piece.text)}</{tag}>{cited}</span></li>'
    )


def _table(metrics: tuple[AnswerMetric, ...], first: AnswerSide, second: AnswerSide) -> str:
    head = "".join(
        f'<th scope="col" title="{escape_html(metric.hint)}">{escape_html(metric.label)}</th>'
        for metric in metrics
    )

    def row(label: str, cells: list[str]) -> str:
        return f'<tr><th scope="row">{label}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'

    rows = (
        row(_badge(first), [_value(metric.before, metric.unit) for metric in metrics]),
        row(_badge(second), [_value(metric.after, metric.unit) for metric in metrics]),
        row("difference", [_value(metric.difference, metric.unit, signed=True) for metric in metrics]),
    )
    return (
        f'<div class="oq-figures" tabindex="0" role="region" aria-label="Counts of both answers"><table>'
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
