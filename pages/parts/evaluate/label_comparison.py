"""Two rankings compared by labels: next passage, totals and verdict."""

from functools import partial
from typing import NamedTuple, cast

import streamlit as st
from htpy import Element, b, div, h2, p, span

from core.config.knobs import Knobs, RankKnobs, Strategy
from core.features.evaluate.labels.graded_ranking import compare
from core.features.evaluate.labels.label_samples import in_random_order
from core.features.evaluate.labels.label_verdict import LabelVerdict, Proposal
from core.features.evaluate.services.run_comparisons import RunComparisons, SampledRun, latest_runs
from core.features.evaluate.sweep import knobs_of
from core.model import Passage, Place
from core.run.run_summary import RunSummary
from core.run.state import Run
from core.storage.label_store import PERSON
from core.text.sanitize import one_line, pluralize
from pages.parts import markup, runtime, widgets
from pages.parts.evaluate import label_figures
from pages.parts.passage_reader import reader
from pages.parts.problems import errors_inline
from pages.parts.research import label_view
from pages.parts.research.label_view import SIDES, ordering
from pages.parts.research.passage_table import OPENED

TITLE = "Which ranking is better on your own questions?"
LEAD = "Label passages without seeing which ranking found them, as few as decide. Look at the verdict as often as you like."
RUNS = 500
"""Number of latest runs with compared questions."""
_MADE, _SKIPPED, _OPEN = "labels_made", "labels_skipped", "label_open"
"""Session keys: labels that can be undone, skipped passages, and the open passage."""
_VIEW = "label_several"
"""Session key: whether all passages of a question are shown."""


class MadeLabel(NamedTuple):
    """A label that can be undone."""

    proposal: Proposal
    question: str
    place: Place
    user: str


@st.fragment(key="label_comparison")
@errors_inline
def section() -> None:
    """Draw the next passage to label, and the verdict."""
    choice = st.container(
        horizontal=True, vertical_alignment="center", gap="small", key="verdict_choice_line"
    )
    with choice:
        line = st.container(key="verdict_facts")
        names = _names()
        first, second = _choice(names)
    if first == second:
        st.info("Choose two different rankings.", icon=":material/info:")
        return
    runs = _sampled(latest_runs(runtime.history(RUNS)), knobs_of(first).rank, knobs_of(second).rank)
    if not runs:
        markup.show_empty("There are no runs with passages yet: ask your questions first.", "history")
        return
    comparison = runtime.runs().service(RunComparisons).compare(runs, label_view.labeller())
    with line:
        markup.show(_facts(names[first], names[second], comparison))
    by_question = {sampled.sample.question: sampled for sampled in runs}
    proposal = _proposal(comparison)
    sampled = by_question.get(proposal.question) if proposal else None
    run = runtime.runs().get(sampled.run) if sampled else None
    left, right = st.columns([1.9, 1], gap="medium")
    with left:
        if run and sampled and proposal and (passage := _passage(run, proposal.passage)):
            order = [sample.question for sample in in_random_order(sampled.sample for sampled in runs)]
            number = f"Question {order.index(proposal.question) + 1:,} of {len(order):,}"
            with st.container(horizontal=True, vertical_alignment="bottom", key="label_question"):
                markup.show(div(".oq-to-label")[span[number], h2(dir="auto")[run.question]])
                several = _choice_of_view()
            if several:
                _label_passages(run, sampled)
            else:
                _label_passage(run, sampled, passage, proposal)
        else:
            markup.show_empty("Every passage that tells the two apart is labelled.", "done_all")
            widgets.undo_button(_MADE, _undo, key="label_undo")
        _people()
    with right, st.container(key="verdict_part", gap="small"):
        _figures(comparison, by_question, proposal)
        if run and sampled and proposal and not st.session_state[_VIEW]:
            markup.show(_passages(run, sampled, proposal))


def _figures(comparison: LabelVerdict, by_question: dict[str, SampledRun], proposal: Proposal | None) -> None:
    """Draw the metrics of the latest label's question and of all."""
    user, comparisons = label_view.labeller(), runtime.runs().service(RunComparisons)
    latest = next(
        (label.proposal for label in reversed(_given_labels()) if label.proposal.question in by_question),
        None,
    )
    if current := latest or proposal:
        sampled = by_question[current.question]
        title = "This question"
        if proposal and proposal.question != current.question:
            title = "The question before"
        rankings = comparisons.graded(sampled, user)
        before = compare(*comparisons.graded(sampled, user, latest.passage)) if latest else None
        with st.container(border=True, key="verdict_question"):
            markup.show(label_figures.question_card(title, compare(*rankings), rankings[1], before))
    with st.container(border=True, key="verdict_all", gap="xsmall"):
        markup.show(label_figures.all_questions(comparison))
        st.markdown(comparison.summary)


def _choice_of_view() -> bool:
    """Draw the choice between one passage and all of the question. Returns whether all are shown."""
    titles = {False: ":material/article: One passage", True: ":material/view_list: All of the question"}
    return widgets.choice(
        "Passages to label",
        list(titles),
        key=_VIEW,
        default=None if _VIEW in st.session_state else False,
        format_func=titles.__getitem__,
        persist_state="session",
    )


def _label_passages(run: Run, sampled: SampledRun) -> None:
    """Draw every passage of the question with a choice of its grade, in no ranking's order."""
    labels = label_view.run_labels(run, run)
    label_view.problems(labels)
    with st.container(key="label_passages", gap="small"):
        for number, name in enumerate(sampled.sample.factors):
            if (passage := _passage(run, name)) is None:
                continue
            proposal = Proposal(question=sampled.sample.question, passage=name)
            label = MadeLabel(proposal, run.question, passage.place, label_view.labeller())
            with st.container(border=True, gap="xxsmall", key=f"label_passage_{number}"):
                with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                    markup.show(b(dir="auto")[_title(run, passage)])
                    label_view.grade_choice(
                        labels, run, passage, partial(_given_labels().append, label), key=f"grade_of_{number}"
                    )
                markup.show(p(".oq-clamp", dir="auto", title=one_line(passage.text, 2000))[passage.text])
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="label_keys"):
        proposals = [
            Proposal(question=sampled.sample.question, passage=name) for name in sampled.sample.factors
        ]
        widgets.button(
            "Next question",
            "skip_next",
            _skip,
            *proposals,
            key="label_skip",
            shortcut="s",
            type="tertiary",
            help="Leaves out the passages of this question that have no label",
        )
        widgets.undo_button(_MADE, _undo, key="label_undo")


def _label_passage(run: Run, sampled: SampledRun, passage: Passage, proposal: Proposal) -> None:
    """Draw the passage in its article, and the grade buttons."""
    labels = label_view.run_labels(run, run)
    label_view.problems(labels)
    order = list(sampled.sample.factors)

    def controls() -> None:
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="label_keys"):
            label_view.grade_buttons(labels, run, passage, lambda: _given_labels().append(label))
            widgets.button(
                "Skip", "skip_next", _skip, proposal, key="label_skip", shortcut="s", type="tertiary"
            )
            widgets.undo_button(_MADE, _undo, key="label_undo")

    label = MadeLabel(proposal, run.question, passage.place, label_view.labeller())
    reader(
        run.pages[passage.place.page],
        passage.place,
        label=f"Passage {order.index(proposal.passage) + 1} of {len(order)}",
        key="reader_verdict",
        controls=controls,
    )
    if widgets.button("Open in its run", "travel_explore", key="verdict_open", type="tertiary"):
        runtime.show_run(run.id)
        st.session_state[OPENED] = passage.id
        st.switch_page(runtime.RESEARCH, query_params={"run": run.id})


def _given_labels() -> list[MadeLabel]:
    return cast("list[MadeLabel]", st.session_state.setdefault(_MADE, []))


def _proposal(comparison: LabelVerdict) -> Proposal | None:
    """Return the next passage to label.

    A passage whose label was undone comes before the next unskipped passage.
    """
    pinned: Proposal | None = st.session_state.get(_OPEN)
    if pinned in comparison.open:
        return pinned
    skipped: set[Proposal] = st.session_state.get(_SKIPPED, set())
    return next((proposal for proposal in comparison.open if proposal not in skipped), comparison.next)


def _skip(*proposals: Proposal) -> None:
    st.session_state.setdefault(_SKIPPED, set()).update(proposals)
    st.session_state[_OPEN] = None


def _undo(label: MadeLabel) -> None:
    with runtime.errors_after_rerun:
        runtime.runs().labels.remove(label.question, label.place, user=label.user)
        st.session_state[_OPEN] = label.proposal


def _people() -> None:
    """Draw the labeller's name and differences to other people's labels.

    On a shared server, people see only their own labels.
    """
    if runtime.runs().settings.shared:
        return
    store, user = runtime.runs().labels, label_view.labeller()
    others = [person for person in store.people() if person != user and store.questions(person)]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="label_people"):
        st.text_input(
            "Your name (optional)",
            key="labeller",
            placeholder="everybody",
            max_chars=40,
            width=200,
            help="Labels under different names are kept apart. Without a name they are everybody's.",
            persist_state="session",
        )
        if others:
            other = st.selectbox(
                "Compared with",
                others,
                key="labeller_other",
                width=200,
                format_func=_person,
                persist_state="session",
            )
    if others:
        markup.show(label_figures.two_people(_person(user), _person(other), store.twice(user, other)))


def _person(user: str) -> str:
    return user.removeprefix(PERSON) or "everybody"


def _choice(names: dict[str, str]) -> tuple[str, str]:
    """Return the settings' names of both rankings. A tuned ranking is added to `names`."""
    for side, default in zip(SIDES, list(names)[:2], strict=True):
        st.session_state.setdefault(side, default)
        names.setdefault(st.session_state[side], st.session_state[side])
    with st.popover("Rankings", icon=":material/tune:", key="verdict_choice"):
        first, second = (
            st.selectbox(
                f"Ranking {letter}",
                list(names),
                key=side,
                format_func=lambda name: names.get(name, name),
                width=300,
                help="Of your presets, and of the settings that were tuned, only what orders passages counts; a "
                "reranking model is not asked.",
                persist_state="session",
            )
            for letter, side in zip("AB", SIDES, strict=True)
        )
    return first, second


def _names() -> dict[str, str]:
    """Return the title of each choice: strategies and presets.

    Only presets with another ordering are added.
    """
    default = RankKnobs().strategy
    choices = {ordering(Knobs()): f"{default.value} (default)"} | {
        ordering(Knobs(rank=RankKnobs(strategy=strategy))): strategy.value
        for strategy in Strategy
        if strategy is not default
    }
    for preset in runtime.runs().presets.all(runtime.label_user()).presets:
        choices.setdefault(ordering(preset.knobs), f"{preset.name} (preset)")
    return choices


def _sampled(runs: tuple[RunSummary, ...], first: RankKnobs, second: RankKnobs) -> list[SampledRun]:
    """Return the runs ranked both ways. A progress bar is shown if any has to be ranked."""
    comparisons = runtime.runs().service(RunComparisons)
    new = [run for run in runs if not comparisons.is_ready(run, first, second)]
    if new:
        bar = st.progress(0.0)
        for count, run in enumerate(new):
            bar.progress(count / len(new), f"Ranking {pluralize(len(new), 'question')} both ways …")
            comparisons.sampled(run, first, second)
        bar.empty()
    return [sampled for run in runs if (sampled := comparisons.sampled(run, first, second)) is not None]


def _facts(first: str, second: str, comparison: LabelVerdict) -> Element:
    """Return the compared rankings, and the passages left to label."""
    return p(".oq-lead")[
        b["A"], f" {first} · ", b["B"], f" {second} · ",
        f"{pluralize(comparison.of, 'question')} from the history, {pluralize(len(comparison.open), 'passage')} left",
    ]  # fmt: skip


def _passage(run: Run, name: str) -> Passage | None:
    passages = run.index.passages if run.index else ()
    return next((passage for passage in passages if passage.id == name), None)


def _title(run: Run, passage: Passage) -> str:
    """Return the section of a passage, or else the title or address of its page."""
    page = run.pages[passage.place.page]
    return page.article.section_at(passage.place.start) or page.title or page.url


def _passages(run: Run, sampled: SampledRun, proposal: Proposal) -> Element:
    """Return the question's passages to label, by section."""
    grades = label_view.run_labels(run, run).names
    rows = []
    for name in sampled.sample.factors:
        passage = _passage(run, name)
        rows.append((_title(run, passage) if passage else name, grades.get(name, "")))
    return label_figures.passages(rows, list(sampled.sample.factors).index(proposal.passage))
