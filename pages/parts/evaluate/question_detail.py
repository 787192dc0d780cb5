"""A question of an experiment, ranked again on the data set.

The rankings, missed texts with reasons, and helpful knobs are shown.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
from htpy import Element, Node, b, li, mark, ol, p, span, td, th, tr

from core.analysis.rankings.context_membership import overlaps
from core.analysis.rankings.ranking_comparison import compare_rankings
from core.errors import OpenQueryError
from core.features.evaluate.data_sets.data_set import Question
from core.features.evaluate.metrics.metric_help import with_unit
from core.features.evaluate.question_runs import (
    Neighbour,
    RelevantText,
    explanation,
    neighbours,
    relevant_texts,
)
from core.features.evaluate.results import Change, Results
from core.features.evaluate.services.experiments import Experiments
from core.features.evaluate.sweep import column, value_text, values_of, words
from core.model import Place, Source
from core.run.recorded_run import RecordedRun
from core.run.state import Run
from core.text.display import metric_text
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import one_line, pluralize
from pages.parts import markup, page_frame, runtime, widgets
from pages.parts.compare.rank_lines import rank_lines
from pages.parts.problems import problem

STORED = "evaluate_question_runs"
"""Session key of the ids of stored runs, by the ids of their original runs."""
MOST_TEXTS = 4
"""Most relevant texts to explain."""
AROUND = 160
"""Characters to show around a relevant text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """An experiment's open setting and baseline, by one metric."""

    experiment: str
    results: Results
    metric: str
    baseline: str
    setting: str


def question_detail(compared: Compared, change: Change) -> None:
    """Draw the question under both settings."""
    near = neighbours(compared.results, compared.setting)
    settings = (compared.baseline, compared.setting, *(neighbour.setting for neighbour in near))
    try:
        with st.spinner("Ranking the question on the data set …", show_time=True):
            experiments = runtime.runs().service(Experiments)
            question, runs = experiments.question_runs(compared.experiment, change.question, settings)
    except OpenQueryError as error:
        st.subheader(markdown_label(compared.results.questions[change.question], 300))
        problem(error)
        return
    before, after, *others = runs
    texts = relevant_texts(question, after.run)
    texts_before = relevant_texts(question, before.run)
    earlier = {text.place: text for text in texts_before}
    _head(compared, change, question, (before, after))
    missed = [text for text in texts if text.number is None]
    left, right = st.columns([1.45, 1], gap="medium")
    with left:
        _rankings(before, after, texts_before, texts)
    with right:
        title = "Missed" if missed else "Relevant"
        count = (
            f"{len(missed)} of {pluralize(len(texts), 'relevant text')}" if missed else "all in the context"
        )
        markup.show(
            markup.section_heading(title, count),
            [_relevant(text, earlier.get(text.place), after.run) for text in (missed or texts)[:MOST_TEXTS]],
        )
    if near and texts:
        text = (missed or texts)[0]
        ranked = [
            (neighbour, _same(text, relevant_texts(question, recorded.run)))
            for neighbour, recorded in zip(near, others, strict=True)
        ]
        markup.show(_knobs(compared, change.question, text, ranked))
    markup.show(
        markup.section_heading(
            "Context", f"the {pluralize(len(after.run.sources), 'source')} of this setting"
        ),
        ol(".oq-context")[(li[_source(source, texts)] for source in after.run.sources)],
    )


def _same(text: RelevantText, texts: Sequence[RelevantText]) -> RelevantText | None:
    return next((other for other in texts if other.place == text.place), None)


def _head(
    compared: Compared, change: Change, question: Question, recorded: tuple[RecordedRun, RecordedRun]
) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="evaluate_question_head"):
        st.markdown(f"## {markdown_label(question.text, 300)}", width="stretch")
        widgets.button(
            "Explain",
            "troubleshoot",
            _open,
            recorded[1:],
            key="evaluate_explain",
            help="Opens the question under this setting in Explain, with the documents of the data set as its pages.",
        )
        widgets.button(
            "Compare",
            "compare_arrows",
            _open,
            recorded,
            key="evaluate_compare",
            help="Opens the question under the baseline and under this setting in What if.",
        )
    markup.show(
        markup.facts(
            markup.fact(
                f"{metric_text(change.before)} → {metric_text(change.after)}", with_unit(compared.metric)
            ),
            markup.fact(words(compared.setting), ""),
            markup.fact(_relevant_count(question), ""),
            bool(question.answers) and markup.fact(one_line(question.answers[0], 120), "is the answer"),
        )
    )


def _relevant_count(question: Question) -> str:
    documents = sum(grade > 0 for grade in question.judgements.values())
    excerpts = f"{pluralize(len(question.excerpts), 'relevant text')} in " if question.excerpts else ""
    return f"{excerpts}{pluralize(documents, 'relevant document' if not excerpts else 'document')}"


def _rankings(
    before: RecordedRun,
    after: RecordedRun,
    texts_before: Sequence[RelevantText],
    texts: Sequence[RelevantText],
) -> None:
    """Draw the ranks of the sources and of the passages with relevant text under both settings."""
    diff = compare_rankings(before.run, after.run)
    if diff is None:
        return
    rows_before, rows = {text.row for text in texts_before}, {text.row for text in texts}
    relevant = {
        change.id
        for change in diff.changes
        if (change.before_row is not None and change.before_row in rows_before)
        or (change.after_row is not None and change.after_row in rows)
    }
    markup.show(
        markup.section_heading("Both rankings", "the baseline at the left, this setting at the right"),
        rank_lines(diff.changes, ("the baseline", "this setting"), relevant=relevant, labelled=True),
    )


def _relevant(text: RelevantText, before: RelevantText | None, run: Run) -> Element:
    """Return a relevant text in context, and the reason for its rank."""
    page = run.pages[text.place.page]
    shown = Place(
        page=page.key,
        start=max(text.place.start - AROUND, 0),
        end=min(text.place.end + AROUND, text.place.start + 4 * AROUND, len(page.text)),
    )
    return p(".oq-missed")[
        b(dir="auto")[one_line(page.title, 80)],
        span(".oq-tag")[f"rank {text.rank:,}" if text.rank else "in no passage"],
        span(".text", dir="auto")[_marked(page.text, shown, [text.place])],
        (span(".why")[sentence] for sentence in explanation(text, before, run.knobs.rank.top_k)),
    ]


def _source(source: Source, texts: Sequence[RelevantText]) -> Node:
    """Return a context source with its relevant parts marked."""
    place = source.passage.place
    own = [text.place for text in texts if overlaps(text.place, place)]
    shift = place.start
    inside = [
        Place(page=part.page, start=max(part.start, shift) - shift, end=min(part.end, place.end) - shift)
        for part in own
    ]
    whole = Place(page=place.page, start=0, end=len(source.passage.text))
    return [
        b(dir="auto")[one_line(source.title, 80)],
        span(dir="auto")[_marked(source.passage.text, whole, inside)],
    ]


def _marked(text: str, shown: Place, marked: Sequence[Place]) -> list[Node]:
    """Return the shown part of a text with spans marked. Offsets are in the whole text."""
    nodes: list[Node] = []
    end = shown.start
    for place in sorted(marked, key=lambda place: place.start):
        start, stop = max(place.start, end), min(place.end, shown.end)
        if start < stop:
            nodes += [text[end:start], mark[text[start:stop]]]
            end = stop
    return [*nodes, text[end : shown.end]]


def _knobs(
    compared: Compared,
    question: str,
    text: RelevantText,
    ranked: Sequence[tuple[Neighbour, RelevantText | None]],
) -> Node:
    """Return the effect of single knob changes, best rank first.

    The effect is on the rank of a relevant text and on the metric.
    """
    own = values_of(compared.setting)

    def row(neighbour: Neighbour, relevant_text: RelevantText | None) -> Element:
        values = compared.results.setting(neighbour.setting).values.get(question, {})
        figure = values.get(compared.metric)
        link = markup.pick_link("setting", neighbour.setting)[column(neighbour.path)]
        return tr[
            td[link],
            td[
                f"{value_text(neighbour.path, own[neighbour.path])} → ",
                b[value_text(neighbour.path, neighbour.value)],
            ],
            td(".n")[f"{relevant_text.rank:,}" if relevant_text and relevant_text.rank else "–"],
            td(".n")["" if figure is None else metric_text(figure)],
            td[
                f"source {relevant_text.number}"
                if relevant_text and relevant_text.number
                else "not in the context"
            ],
        ]

    best_first = sorted(ranked, key=lambda pair: (pair[1] and pair[1].rank) or sys.maxsize)
    present_rank = f"rank {text.rank:,} now" if text.rank else "in no passage now"
    return [
        markup.section_heading(
            "Which knob changes its rank", f"one changed, the others as in this setting; {present_rank}"
        ),
        markup.data_table(
            "Ranks with one knob changed",
            (
                "knob",
                "change",
                *(th(".n", scope="col")[name] for name in ("rank", with_unit(compared.metric))),
                "context",
            ),
            (row(neighbour, relevant_text) for neighbour, relevant_text in best_first),
        ),
    ]


def _open(recorded: Sequence[RecordedRun]) -> None:
    """Store each run once, and open the runs on a page. Two open in What if."""
    stored: dict[str, str] = st.session_state.setdefault(STORED, {})
    with runtime.errors_after_rerun:
        for run in recorded:
            if run.run.id not in stored or runtime.runs().get(stored[run.run.id]) is None:
                stored[run.run.id] = runtime.runs().import_run(run, runtime.history_user())
        st.session_state["evaluate_opens"] = [stored[run.run.id] for run in recorded]


def open_stored() -> None:
    """Go to the page of the runs that were just stored."""
    match st.session_state.pop("evaluate_opens", ()):
        case [run]:
            st.switch_page(page_frame.EXPLAIN, query_params={"run": run})
        case [before, after]:
            sides = {"a": "own", "b": f"run:{after}"}
            st.switch_page(page_frame.EXPLAIN, query_params={"run": before, **page_frame.WHAT_IF, **sides})
