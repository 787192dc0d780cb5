"""Labels on the Ask page: metrics, grade buttons, and their file.

The labels measure the shown ranking.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st
from htpy import Element, span

from core.analysis.rankings.context_membership import context_sources
from core.config.knobs import Knobs
from core.config.schema import ordering_knobs
from core.errors import BadInput, ErrorHandler, OpenQueryError
from core.features.evaluate.labels.graded_ranking import (
    DEPTH,
    GradedRanking,
    NdcgComparison,
    compare,
    graded,
    next_to_label,
)
from core.features.evaluate.labels.passage_labels import PlacedLabels, label, place_labels
from core.features.evaluate.labels.qrels import from_qrels, to_qrels
from core.features.evaluate.metrics.metric_help import with_unit
from core.features.evaluate.statistics.significance import Verdict
from core.features.evaluate.sweep import name_of
from core.model import Grade, Passage
from core.run.run_ids import is_link
from core.run.state import Run
from core.storage.label_store import PERSON
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import one_line, pluralize
from pages.parts import markup, runtime, widgets

FILE_LIMIT = 2_000_000
"""Largest file of labels to import, in bytes."""
NAMES = {Grade.RELEVANT: "relevant", Grade.PARTLY: "partly", Grade.NOT_RELEVANT: "not"}
_BUTTONS = (
    (Grade.RELEVANT, "Relevant", "1", "It answers the question, or a part of it."),
    (Grade.PARTLY, "Partly", "2", "It is about the question and does not answer it alone."),
    (Grade.NOT_RELEVANT, "Not relevant", "3", "It does not help to answer the question."),
)
_HINTS = {
    f"nDCG@{DEPTH}": "Grades are the gain. The range is what the labels that are missing can still make of it.",
    f"MRR@{DEPTH}": "1 / the rank of the first relevant passage",
    "recall": "Characters labelled as relevant or partly so that are in the context",
    "precision": "Characters of the context that are labelled so",
}
SIDES = ("verdict_first", "verdict_second")
"""Session keys of the two rankings that the Evaluate page compares."""
_PROBLEM = "label_problem"
_reported = ErrorHandler(lambda error: st.session_state.update({_PROBLEM: str(error)}))
"""Handles errors of a change of labels. The error is shown below the labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLabels:
    """The question's labels, and both rankings graded by them.

    One ranking is tuned, the other is the answer's.
    """

    placed: PlacedLabels
    tuned: GradedRanking | None
    answered: GradedRanking | None
    """None when it is the same ranking."""
    names: Mapping[str, str]
    """Grade names of the labelled passages, by passage id."""
    problem: str = ""
    """Why labels cannot be read."""


def ordering(knobs: Knobs) -> str:
    """Return the name of the settings that order passages."""
    return name_of(Knobs(rank=ordering_knobs(knobs.rank)))


def labeller() -> str:
    """Return the user of labels.

    It is `runtime.label_user`, or else the name given on the Evaluate page.
    """
    name = one_line(st.session_state.get("labeller", ""), 40)
    return runtime.label_user() or (PERSON + name if name else "")


def run_labels(answered: Run, tuned: Run) -> RunLabels:
    """Return the labels of the run's question for its passages."""
    try:
        labels, problem = runtime.runs().labels.of(tuned.question, labeller()), ""
    except OpenQueryError as error:
        labels, problem = (), str(error)
    placed = place_labels(labels, tuned.pages)
    ranking = _graded(tuned, placed)
    return RunLabels(
        placed=placed,
        tuned=ranking,
        answered=None if answered.ranking is tuned.ranking else _graded(answered, placed),
        names={passage_id: NAMES[Grade(grade)] for passage_id, grade in ranking.grades.items()}
        if ranking
        else {},
        problem=problem,
    )


def _graded(run: Run, placed: PlacedLabels) -> GradedRanking | None:
    if run.index is None or run.ranking is None:
        return None
    context = context_sources(run) if placed.excerpts else ()
    return graded(run.index, run.ranking, placed, [source.place for source in context])


def summary(labels: RunLabels, answered: Run, run: Run, opened: str) -> None:
    """Draw the metrics, and the controls of all labels. `opened` names the open passage in the session state."""
    if labels.tuned is None or is_link(run.id):
        return
    tuned, other = labels.tuned, labels.answered
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="labels"):
        markup.show(_facts(tuned, other), width="stretch")
        widgets.button(
            "Next to label" if labels.names else "Label passages",
            "label",
            lambda: st.session_state.update({opened: next_to_label(tuned, other)}),
            key="label_next",
            shortcut="n",
            type="tertiary",
            disabled=tuned.labelled == len(tuned.order[:DEPTH]),
            help=f"Opens the passage among the first {DEPTH} whose label can change these figures most.",
        )
        if ordering(answered.knobs) != ordering(run.knobs) and widgets.button(
            "Over all questions",
            "science",
            key="label_all",
            type="tertiary",
            help="Compares the answer's ranking with this one over all of your questions, on the Evaluate page.",
        ):
            st.session_state.update(zip(SIDES, map(ordering, (answered.knobs, run.knobs)), strict=True))
            st.switch_page(runtime.EVALUATE, query_params={"view": "labels"})
        if labels.names or labels.placed.gone or labels.placed.elsewhere:
            with st.popover("Labels", icon=":material/more_horiz:", type="tertiary"):
                _all_labels(labels, run)
    problems(labels)


def problems(labels: RunLabels) -> None:
    """Draw why labels cannot be read or saved."""
    for text in (labels.problem, st.session_state.pop(_PROBLEM, "")):
        if text:
            st.caption(f":red[{markdown_label(text, 300)}]")


def grade_buttons(
    labels: RunLabels, run: Run, passage: Passage, then: Callable[[], object] | None = None
) -> None:
    """Draw a button for each grade of a passage.

    The button of the current grade is filled, and removes the label. A read-only link has no buttons. `then`
    is called after a label was stored or removed.
    """
    if is_link(run.id):
        return
    grade_name = labels.names.get(passage.id)
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="grades"):
        for grade, title, key, meaning in _BUTTONS:
            widgets.button(
                title,
                "",
                _label,
                labels,
                run,
                passage,
                grade,
                then,
                key=f"grade_{grade.name}",
                shortcut=key,
                type="primary" if NAMES[grade] == grade_name else "secondary",
                help=f"{meaning} Once more removes the label." if NAMES[grade] == grade_name else meaning,
            )


def grade_choice(
    labels: RunLabels, run: Run, passage: Passage, then: Callable[[], object], *, key: str
) -> None:
    """Draw the grades of one of several passages as a choice. Choosing the current grade removes the label."""
    titles = {NAMES[grade]: title for grade, title, _, _ in _BUTTONS}
    current = st.session_state[key] = labels.names.get(passage.id)

    def chosen() -> None:
        name = st.session_state[key] or current
        _label(labels, run, passage, next(grade for grade in NAMES if NAMES[grade] == name), then)

    st.segmented_control(
        "Grade",
        list(titles),
        format_func=titles.__getitem__,
        key=key,
        on_change=chosen,
        label_visibility="collapsed",
        disabled=is_link(run.id),
    )


@_reported
def _label(
    labels: RunLabels, run: Run, passage: Passage, grade: Grade, then: Callable[[], object] | None
) -> None:
    page = run.pages[passage.place.page]
    current_label = next(
        (candidate for candidate in labels.placed.labels if candidate.place == passage.place), None
    )
    store, user = runtime.runs().labels, labeller()
    if current_label:
        stored_place = labels.placed.moved.get(current_label.place, current_label.place)
        store.remove(run.question, stored_place, user=user)
    if current_label is None or current_label.grade is not grade:
        store.add(run.question, run.id, label(page, passage.place, grade), user=user)
    if then:
        then()


def _facts(tuned: GradedRanking, answered: GradedRanking | None) -> Element:
    count = len(tuned.order[:DEPTH])
    parts = [
        markup.fact(
            f"{tuned.labelled} of {count}",
            "labelled",
            f"Of the first {pluralize(count, 'passage')}. Labels stay when pages are cut into other passages.",
        )
    ]
    if not tuned.figures:
        if tuned.labelled:
            parts.append(span["none of them relevant"])
        return markup.facts(*parts)
    compared = compare(tuned, answered) if answered else None
    for name, value in tuned.figures.items():
        is_ndcg = name == f"nDCG@{DEPTH}"
        parts.append(
            markup.fact(
                str(compared.ranking) if compared and is_ndcg else value,
                with_unit(name, "passages"),
                _HINTS[name],
            )
        )
        parts += _comparison(compared, _HINTS[name]) if compared and is_ndcg else ()
    return markup.facts(*parts)


def _comparison(compared: NdcgComparison, bounds: str) -> tuple[Element, ...]:
    """Return nDCG of the answer's ranking, and the difference. Better or worse is stated only if certain."""
    hint = (
        "nDCG of this ranking minus that of the answer's, on this question. A label that is missing counts in both, so "
        "the difference can be certain where the two ranges overlap."
    )
    label, tone = {
        Verdict.BETTER: ("better than the answer's", "good"),
        Verdict.WORSE: ("worse than the answer's", "bad"),
        Verdict.EQUAL: ("equal to the answer's", ""),
        Verdict.OPEN: ("difference, open until more is labelled", ""),
    }[compared.verdict]
    return (
        markup.fact(str(compared.other), "the answer's ranking", bounds),
        markup.fact(compared.difference.signed, label, hint, tone),
    )


def _all_labels(labels: RunLabels, run: Run) -> None:
    placed = labels.placed
    notes = (
        (placed.moved, "moved with the text of a page that has changed"),
        (placed.gone, "left out: the page has changed and has the text no longer"),
        (placed.elsewhere, "of pages that this run does not have"),
    )
    st.caption(pluralize(len(placed.labels), "label") + " in this run.")
    for some, text in notes:
        if some:
            st.caption(f"{pluralize(len(some), 'label')} {text}.")
    if runtime.runs().settings.shared and labeller().startswith("session "):
        st.caption("Labels last for this browser session; sign in to keep them.")
    everything = (*placed.labels, *placed.gone, *placed.elsewhere)
    qrels = to_qrels(run.question, everything).encode()
    widgets.download_button(
        "Export labels (qrels)",
        lambda: qrels,
        "labels.qrels",
        "text/plain",
        key="labels_export",
        help="A line for each label with the question, the passage and the grade, as TREC's tools read it",
    )
    st.file_uploader(
        "Import labels (qrels)",
        key="labels_import",
        max_upload_size=2,
        on_change=_import,
        args=(run,),
        help="A file as Export writes it. Qrels are relevance judgements: a question, a passage and a grade a line.",
    )


@_reported
def _import(run: Run) -> None:
    file = st.session_state.get("labels_import")
    if file is None:
        return
    if file.size > FILE_LIMIT:
        raise BadInput("The file is too large for labels.", hint="Choose a qrels file of this question.")
    try:
        text = file.getvalue().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput("The file is not text in UTF-8.", hint="Choose a qrels file.") from error
    imported = from_qrels(text, run.question, run.pages)
    if imported.labels:
        runtime.runs().labels.add(run.question, run.id, *imported.labels, user=labeller())
    left_out = imported.other_questions + imported.other_pages
    if left_out:
        raise BadInput(
            f"{pluralize(len(imported.labels), 'label')} imported; {pluralize(left_out, 'line')} left out.",
            hint="They are of other questions, or of pages that this run does not have.",
        )
