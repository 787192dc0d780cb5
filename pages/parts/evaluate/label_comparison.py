"""Two rankings compared by labels: what they say so far, and the next passage to label, over all questions."""

import streamlit as st
from htpy import Element

from core.config.knobs import Knobs, RankKnobs, Strategy
from core.evaluation.labels.comparison_power import POWER, QuestionPlan
from core.evaluation.labels.label_samples import DEPTH, LARGEST
from core.evaluation.labels.label_verdict import LabelVerdict, Proposal
from core.evaluation.statistics.significance import Verdict
from core.evaluation.sweep import knobs_of
from core.model import Passage
from core.run.state import Run
from core.runtime.run_comparisons import SampledRun, latest_runs
from core.storage.run_summaries import RunSummary
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import plural, pluralize
from pages.parts import markup, runtime, widgets
from pages.parts.compared_rankings import ON, SIDES, ordering
from pages.parts.passage_reader import reader
from pages.parts.problems import shown
from pages.parts.research import label_view
from pages.parts.research.passage_table import OPENED

RUNS = 500
"""The latest runs, the questions of which are compared."""
_SHOWN, _BEFORE, _AGAIN = "verdict_shown", "verdict_before", "verdict_again"
"""The proposal that is shown, the one before it, and one that is shown once more."""


@st.fragment(key="label_comparison")
@shown
def section() -> None:
    """Draw the choice of two rankings, and once it is switched on, their comparison."""
    markup.show(markup.kicker("Which ranking is better on your own questions?", "decided by labels"))
    first, second = _choice()
    if not st.session_state.get(ON):
        return
    if first == second:
        st.info("Choose two different rankings.", icon=":material/info:")
        return
    runs = _sampled(latest_runs(runtime.history(RUNS)), knobs_of(first).rank, knobs_of(second).rank)
    if not runs:
        markup.show(markup.empty("There are no runs with passages yet: ask your questions first.", "history"))
        return
    comparison = runtime.runs().comparisons.compare(runs, runtime.label_user())
    with st.container(key="verdict_part", gap="xsmall"):
        markup.show(_facts(comparison))
        st.markdown(comparison.summary)
    if comparison.verdict not in (Verdict.BETTER, Verdict.WORSE) and (comparison.next or comparison.labels):
        planned = runtime.runs().comparisons.plan(runs, runtime.label_user())
        with st.expander(what_is_shown(planned), icon=":material/calculate:", expanded=not comparison.labels):
            st.markdown(questions_needed(planned))
    _passage(comparison.next, {sampled.sample.question: sampled.run for sampled in runs})


def what_is_shown(planned: QuestionPlan) -> str:
    """What the questions in hand can decide, in a sentence."""
    have = pluralize(planned.questions, "question")
    verb = "shows" if planned.questions == 1 else "show"
    if planned.shown > LARGEST:
        return f"{have} {verb} no difference of DCG@{DEPTH}, however large: ask more"
    return f"{have} {verb} a difference of DCG@{DEPTH} from about {planned.shown:.2f} on"


def questions_needed(planned: QuestionPlan) -> str:
    """What smaller differences take, as a table, and which design decides them."""
    rows = "\n".join(
        f"| {plan.difference:.2f} | {plan.questions:,} | {plan.labels:,} |" for plan in planned.plans
    )
    return (
        f"| difference of DCG@{DEPTH} | questions, about | labels, about |\n|---:|---:|---:|\n{rows}\n\n"
        f"These give a verdict with a chance of {POWER:.0%}. A relevant passage at rank 1 instead of 2 in every "
        "question is a difference of 0.37. **More questions with few labels each decide**, not more labels of the same "
        f"questions: ask more of your own, up to {RUNS:,} are compared. Where the answers are known already, an "
        "experiment on a data set needs no labels."
    )


def _choice() -> tuple[str, str]:
    """The two rankings, each as the name of its settings."""
    names = _names()
    for side, default in zip(SIDES, list(names)[:2], strict=True):
        st.session_state.setdefault(side, default)
        names.setdefault(st.session_state[side], st.session_state[side])
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="verdict_choice"):
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
        st.toggle(
            "Compare by labels",
            key=ON,
            help="Ranks the latest run of each of your questions both ways, and proposes the passages whose labels "
            "tell most. Nothing is searched or fetched.",
            persist_state="session",
        )
    return first, second


def _names() -> dict[str, str]:
    """What is shown for each choice: the strategies, and the presets that order passages in other ways."""
    choices = {
        ordering(
            Knobs(rank=RankKnobs(strategy=strategy))
        ): f"{strategy.value}{' (default)' if strategy is RankKnobs().strategy else ''}"
        for strategy in Strategy
    }
    for preset in runtime.runs().presets.all(runtime.label_user()).presets:
        choices.setdefault(ordering(preset.knobs), f"{preset.name} (preset)")
    return choices


def _sampled(runs: tuple[RunSummary, ...], first: RankKnobs, second: RankKnobs) -> list[SampledRun]:
    """The runs ranked both ways, with a bar while that takes time."""
    comparisons = runtime.runs().comparisons
    new = [run for run in runs if not comparisons.is_ready(run, first, second)]
    if new:
        bar = st.progress(0.0)
        for count, run in enumerate(new):
            bar.progress(count / len(new), f"Ranking {pluralize(len(new), 'question')} both ways …")
            comparisons.sampled(run, first, second)
        bar.empty()
    return [sampled for run in runs if (sampled := comparisons.sampled(run, first, second)) is not None]


def _facts(comparison: LabelVerdict) -> Element:
    parts = [
        markup.fact(
            f"{comparison.labels:,}",
            plural(comparison.labels, "label"),
            f"Labelling the first {DEPTH} passages of both rankings in every question would take {comparison.pool:,}.",
        ),
        markup.fact(
            f"{comparison.questions:,} of {comparison.of:,}",
            "questions",
            "Those whose passages to label are labelled, in random order. Only these count.",
        ),
    ]
    if comparison.difference is not None:
        parts.append(
            markup.fact(
                str(comparison.difference),
                f"DCG@{DEPTH}, A minus B",
                "Mean over the questions, a relevant passage counts 1 and a partly relevant one ½. The 95 % interval "
                "holds whenever you look at it.",
            )
        )
    return markup.facts(*parts)


def _passage(proposed: Proposal | None, runs: dict[str, str]) -> None:
    """The next passage to label, or the one before it when that is asked for."""
    if proposed != st.session_state.get(_SHOWN):
        st.session_state[_BEFORE], st.session_state[_SHOWN] = st.session_state.get(_SHOWN), proposed
        st.session_state[_AGAIN] = None
    again = st.session_state.get(_AGAIN)
    shown_pair = again or proposed
    run = (
        runtime.runs().get(runs[shown_pair.question]) if shown_pair and shown_pair.question in runs else None
    )
    passages = run.index.passages if run and run.index else ()
    passage = next(
        (candidate for candidate in passages if shown_pair and candidate.id == shown_pair.passage), None
    )
    if run and passage:
        _reader(run, passage, "Labelled before" if again else "Next to label")
    with st.container(horizontal=True, gap="small", key="verdict_steps"):
        _step(again)
        if run and passage:
            _link(run, passage)


def _reader(run: Run, passage: Passage, title: str) -> None:
    labels = label_view.run_labels(run, run)
    label_view.problems(labels)
    st.markdown(f"**{markdown_label(run.question, 300)}**")
    reader(
        run.pages[passage.place.page],
        passage.place,
        label=title,
        facts=(),
        key="reader_verdict",
        close=lambda: st.session_state.update({ON: False}),
        controls=lambda: label_view.grade_buttons(labels, run, passage),
    )


def _step(again: Proposal | None) -> None:
    """The button to the passage that was labelled before, and back."""
    before = st.session_state.get(_BEFORE)
    if again or before:
        widgets.button(
            "Go on" if again else "The one before",
            "arrow_forward" if again else "arrow_back",
            lambda: st.session_state.update({_AGAIN: None if again else before}),
            key="verdict_back",
            shortcut="n" if again else "b",
            type="tertiary",
        )


def _link(run: Run, passage: Passage) -> None:
    if widgets.button("Open in its run", "travel_explore", key="verdict_open", type="tertiary"):
        runtime.show_run(run.id)
        st.session_state[OPENED] = passage.id
        st.switch_page(runtime.RESEARCH, query_params={"run": run.id})
