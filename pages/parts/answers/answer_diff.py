"""Two answers with their sources, metrics and a sentence diff."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Self

import streamlit as st
from htpy import Element, Node, a, b, del_, div, i, ins, li, mark, span, td, th, tr, ul

from core.analysis.answers.answer_comparison import (
    MOST_SENTENCES,
    AnswerComparison,
    AnswerMetric,
    Unit,
    answer_metrics,
    compare_answers,
    source_labels,
)
from core.analysis.answers.answer_stats import answer_author, answer_seconds, current_version, partial_version
from core.analysis.rankings.context_membership import context_sources
from core.analysis.run_activity import current_activity
from core.analysis.text_diff import DiffKind, DiffPiece
from core.model import Source, readable, snippet_numbers, source_numbers
from core.model.passage_urls import site
from core.run.state import AnswerVersion, Run
from core.runtime.jobs import Job
from core.text.markdown import safe_markdown
from core.text.markdown.safe_markdown import markdown_label
from core.text.markdown.tail import closed_markdown
from core.text.sanitize import one_line, plural, pluralize
from pages.parts import markup, runtime, widgets
from pages.parts.passage_reader import reader

SELECTED = "selected_source"
CURSOR = " ▍"
_CITATION = re.compile(r"\]\(#src-(?=\d+\))")
"""A citation link of `safe_markdown`. Both answers have a source 1, so the links must name the answer."""
TAGS = {DiffKind.COMMON: span, DiffKind.REMOVED: del_, DiffKind.ADDED: ins}
SIGNS = {DiffKind.COMMON: "", DiffKind.REMOVED: "−", DiffKind.ADDED: "+"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSide:
    """One of the two answers. `name` is a or b. `run` has the pages of the sources."""

    name: str
    label: str
    title: str
    run: Run
    version: AnswerVersion | None
    live: bool = False
    seconds: float | None = None
    error: str = ""
    missing: str = ""
    """Text shown without an answer."""

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources of the answer, or those that an answer from this ranking would have."""
        return self.version.sources if self.version else context_sources(self.run)

    @classmethod
    def of_run(cls, name: str, title: str, run: Run, missing: str) -> Self:
        """The complete answer of a run."""
        version, seconds = current_version(run), answer_seconds(run)
        label = name.upper()
        return cls(
            name=name, label=label, title=title, run=run, version=version, seconds=seconds, missing=missing
        )

    @classmethod
    def of_job(cls, name: str, title: str, job: Job, missing: str = "") -> Self:
        """Return the answer that a job is writing, as far as written."""
        side = replace(cls.of_run(name, title, job.run, missing), version=partial_version(job.run))
        return replace(side, live=job.live, error=str(job.run.error or ""))


def pick(name: str) -> None:
    """Select a clicked citation or source. `a/3` is source 3 of the first answer."""
    side, _, number = name.partition("/")
    if number.isdecimal():
        st.session_state[SELECTED] = (side, int(number))


def side_by_side(
    first: AnswerSide, second: AnswerSide, *, between: Callable[[], object] | None = None
) -> None:
    """Draw both answers, what is `between` them, the selected source and the differences."""
    comparison = None
    if first.version and second.version and not (first.live or second.live):
        comparison = compare_answers(first.version, second.version)
    labels = source_labels(first.sources, second.sources, (first.label, second.label))
    columns = st.columns([1, 0.52, 1] if between else 2, gap="medium")
    for column, side, own in zip((columns[0], columns[-1]), (first, second), labels, strict=True):
        with column:
            _card(side, own)
    if between:
        with columns[1]:
            between()
    _selected_passage(first, second)
    if comparison:
        _differences(comparison, first, second)


def _card(side: AnswerSide, labels: Mapping[int, str]) -> None:
    with st.container(border=True, key=f"version_card_{side.name}"):
        author = answer_author(side.version.answer if side.version else None)
        markup.show(div(".oq-version-head")[_badge(side), b[side.title], span[author]])
        if side.error:
            st.error(markdown_label(side.error, 400), icon=":material/error:")
        if side.version is not None:
            _body(side, side.version)
        else:
            seconds = runtime.clock(side.run, side.name)
            words = f"{current_activity(side.run, seconds)} …" if side.live else side.missing
            if words:
                markup.show_empty(words, "hourglass_empty" if side.live else "edit_note")
        cited = side.version.check.cited if side.version else ()
        rows = [
            _source(side, source, used=source.number in cited, label=labels.get(source.number, ""))
            for source in side.sources
        ]
        if rows:
            markup.show(div(".oq-version", role="group", aria_label="Sources")[rows])


def _body(side: AnswerSide, version: AnswerVersion) -> None:
    """Draw the text of an answer, with links from its citations to its own sources."""
    with st.container(key=f"version_body_{side.name}"):
        written = readable(version.answer.text)
        written = closed_markdown(written) if side.live else written
        text = safe_markdown.safe_markdown(
            written, source_numbers(version.sources), snippet_numbers(version.sources)
        )
        text = _CITATION.sub(f"](#pick-source/{side.name}/", text)
        st.markdown(text + (CURSOR if side.live else ""), anchors=False)


def _source(side: AnswerSide, source: Source, *, used: bool, label: str) -> Element:
    on = st.session_state.get(SELECTED) == (side.name, source.number)
    title, where = one_line(source.title or site(source.url), 80), source.site or site(source.url)
    return a(
        class_={"used": used, "on": on},
        href=f"#pick-source/{side.name}/{source.number}",
        title=one_line(readable(source.passage.text), 300),
        data_source=f"Source {source.number}: {title}, {where}",
    )[
        span(".n")[source.number],
        span(dir="auto")[title],
        label and span(class_=["oq-tag", label.partition(" ")[0]])[label],
        span[where],
    ]


def _selected_passage(*sides: AnswerSide) -> None:
    name, number = st.session_state.get(SELECTED) or ("", 0)
    for side in sides:
        if side.name != name:
            continue
        source = next((candidate for candidate in side.sources if candidate.number == number), None)
        if source is None:
            return
        place, passage_place = source.passage.place, source.place
        page = side.run.pages.get(place.page)
        label = f"{side.label}: source {number}"
        if page is not None and page.text[passage_place.start : passage_place.end] == source.text:
            reader(page, place, given_place=passage_place, label=label, key="reader_source", opened=SELECTED)
        else:
            with st.container(border=True, key="reader_source"):
                markup.show(
                    markup.section_heading(label, "the page has changed since"),
                    div(".oq-article")[mark[source.text]],
                )
                widgets.close_button(st.session_state.update, {SELECTED: None}, key="reader_source_close")


# --- differences ------------------------------------------------------------------------------------------


def _differences(comparison: AnswerComparison, first: AnswerSide, second: AnswerSide) -> None:
    markup.show(markup.section_heading("Differences", f"from {first.label} to {second.label}"))
    markup.show(_table(answer_metrics(comparison, first.seconds, second.seconds), first, second))
    if comparison.similarity == 1 and not comparison.citations_changed:
        markup.show(markup.verdict("Both answers have the same sentences and citations."))
        return
    changed = (
        f" {pluralize(changes, 'common sentence')} {plural(changes, 'cites', 'cite')} other passages."
        if (changes := comparison.citations_changed)
        else ""
    )
    markup.show(
        markup.verdict(
            f"{pluralize(comparison.count(DiffKind.COMMON), 'sentence')} in both, "
            f"{comparison.count(DiffKind.REMOVED)} only in {first.label}, "
            f"{comparison.count(DiffKind.ADDED)} only in {second.label}.{changed}"
        ),
        markup.region("oq-text diff flow", "Diff of both answers")[
            ul[(_piece(piece, first, second) for piece in comparison.pieces)]
        ],
        div(".oq-legend")[
            span[i, "in both"],
            span(".out")[i["−"], f"only in {first.label}"],
            span(".in")[i["+"], f"only in {second.label}"],
        ],
    )
    if comparison.left_out:
        st.caption(f"Only the first {MOST_SENTENCES:,} sentences of an answer are compared.")


def _piece(piece: DiffPiece, first: AnswerSide, second: AnswerSide) -> Element:
    """Return a sentence as a list item. A screen reader also reads out which side has it."""
    side = first if piece.kind is DiffKind.REMOVED else second
    cited = (
        a(href=f"#pick-source/{side.name}/{number}", aria_label=f"source {number}")[number]
        for number in piece.cites
    )
    return li(class_=str(piece.kind))[
        b(aria_hidden="true")[SIGNS[piece.kind]],
        span(dir="auto")[
            span(".oq-unseen")[piece.kind is not DiffKind.COMMON and f"only in {side.label}: "],
            TAGS[piece.kind][piece.text],
            cited,
        ],
    ]


def _table(metrics: tuple[AnswerMetric, ...], first: AnswerSide, second: AnswerSide) -> Element:
    def row(label: Node, cells: list[str]) -> Element:
        return tr[th(scope="row")[label], (td[cell] for cell in cells)]

    head = (td, *(th(scope="col", title=metric.hint or None)[metric.label] for metric in metrics))
    rows = (
        row(_badge(first), [_value(metric.before, metric.unit) for metric in metrics]),
        row(_badge(second), [_value(metric.after, metric.unit) for metric in metrics]),
        row("difference", [_value(metric.difference, metric.unit, signed=True) for metric in metrics]),
    )
    return markup.data_table("Counts of both answers", head, rows, "oq-figures")


def _badge(side: AnswerSide) -> Element:
    return span(class_=["oq-side", side.name])[side.label]


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
