"""The Answers view: answers of a data set, metrics and sources."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import streamlit as st
from htpy import Element, b, dd, div, dl, dt, i, span, td, th, tr

from core.config.permissions import Action
from core.errors import BadInput
from core.features.evaluate.answers.answering import AnsweredQuestion, Outcome
from core.features.evaluate.answers.answers_folder import AnswerEvaluation, Answers, PairedDifference
from core.features.evaluate.metrics.metric_help import (
    ANSWERED,
    CITATION_RECALL,
    EXACT,
    HELP,
    KAPPA,
    REFUSED,
    STABLE,
    TOKEN_F1,
)
from core.features.evaluate.services.answer_evaluations import AnswerEvaluations
from core.features.evaluate.statistics.significance import Interval, p_number
from core.runtime.event_loop import TaskStatus
from core.text.display import metric_text
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import plural, pluralize
from pages.parts import address, browser, markup, runtime, widgets
from pages.parts.evaluate.answers import answer_reader
from pages.parts.evaluate.answers.answers_form import EVALUATION, form, judge_menu, open_evaluation
from pages.parts.problems import errors_inline, missing, problem

LEAD = "Questions answered and measured: are the answers right, do their citations hold, are the right questions refused?"
ROWS = 40
"""Rows of the table at first."""
FILTERS: Mapping[str, Callable[[AnsweredQuestion], bool]] = {
    "all": lambda answer: True,
    "refused wrongly": lambda answer: answer.outcome is Outcome.WRONGLY_REFUSED,
    "not refused": lambda answer: answer.outcome is Outcome.WRONGLY_ANSWERED,
    "unsupported": lambda answer: answer.has_unsupported,
    "failed": lambda answer: answer.outcome is Outcome.FAILED,
}
OUTCOME_WORDS = {
    Outcome.FAILED: ("error", "failed", "bad"),
    Outcome.WRONGLY_ANSWERED: ("close", "not refused", "bad"),
    Outcome.WRONGLY_REFUSED: ("close", "refused", "bad"),
    Outcome.RIGHTLY_REFUSED: ("check", "refused", "good"),
    Outcome.ANSWERED: ("", "answered", ""),
}
_LISTED = (ANSWERED, TOKEN_F1, CITATION_RECALL)
"""The metrics of the table of all evaluations."""


class Evaluations(NamedTuple):
    """A snapshot of the evaluations for one drawing. An evaluation read again could have advanced."""

    all: AnswerEvaluations
    every: tuple[AnswerEvaluation, ...]
    """All evaluations that this visitor may see, newest first."""
    opened: AnswerEvaluation | None
    """The evaluation of the address, or else the newest."""


def head(drawn: Evaluations) -> None:
    """Draw the title and actions of the open evaluation."""
    service, _, opened = drawn
    if opened is None:
        markup.show(markup.title("Answers", LEAD))
        return
    data, *facts = _facts(opened)
    markup.show(markup.title(f"Answers to {data}", " · ".join(facts)))
    if opened.live:
        widgets.button("Stop", "stop", service.stop, opened.id, key="answers_stop")
        return
    if opened.failed or opened.status is not TaskStatus.DONE:
        again = f"Ask the {len(opened.failed):,} again" if opened.failed else "Continue"
        widgets.button(again, "play_arrow", _resume, service, opened.id, key="answers_continue")
    if opened.answers:
        judge_menu(opened, opened.answers)
    title = f"The evaluation of {opened.plan.data}"
    widgets.delete_button(
        service, opened.id, title, key="answers_delete", deleted="answers_deleted", parameter=EVALUATION
    )


def section(drawn: Evaluations) -> None:
    """Draw the open evaluation, the new form and the table."""
    if not runtime.caller().may(Action.EVALUATE_DATA_SETS):
        st.info(
            "On a shared server the operator evaluates answers: openquery eval answers.",
            icon=":material/info:",
        )
        return
    service, every, opened = drawn
    name = st.query_params.get(EVALUATION, "")
    if name and opened is None:
        with errors_inline:
            service.get(name)
        missing("evaluation", name, "Choose one of those below." if every else "There are none yet.")
    if opened:
        _progress(service, opened)
        if opened.answers and opened.answers.answers:
            _measured(opened.answers, [each for each in every if each.id != opened.id])
    widgets.deleted_offer(service, open_evaluation, key="answers_undo", deleted="answers_deleted")
    with st.expander("New evaluation", icon=":material/add:", expanded=not every, key="answers_new"):
        form()
    if every:
        markup.show(markup.section_heading("Evaluations of answers", f"{len(every):,}; click one to open it"))
        with st.container(key="answer_evaluations"):
            markup.show(_listed(every, opened))


def evaluations() -> Evaluations:
    """Return a snapshot of the evaluations of answers."""
    service = runtime.runs().service(AnswerEvaluations)
    every = service.all() if runtime.caller().may(Action.EVALUATE_DATA_SETS) else ()
    name = st.query_params.get(EVALUATION) or (every[0].id if every else "")
    return Evaluations(service, every, next((each for each in every if each.id == name), None))


def _progress(evaluations: AnswerEvaluations, drawn: AnswerEvaluation) -> None:
    """Draw the progress, and why an evaluation ended early. A live evaluation is redrawn every second."""

    @st.fragment(run_every=runtime.refresh_every(1.0) if drawn.live else None, key="answers_progress")
    def draw() -> None:
        current = evaluations.get(drawn.id)
        if current is None or (current.status, current.done, current.judged) != (
            drawn.status,
            drawn.done,
            drawn.judged,
        ):
            st.rerun()
        if current.status is TaskStatus.DONE:
            return
        judging = current.plan.repeats and current.done >= current.plan.questions
        part, whole = (
            (current.judged, current.to_judge) if judging else (current.done, current.plan.questions)
        )
        words = "answers judged" if judging else f"{plural(whole, 'question')} answered"
        left = None if judging else current.seconds_left
        status = str(current.status) if left is None else f"about {markup.duration(left)} left"
        st.progress(min(part / max(whole, 1), 1.0), f"{part:,} of {whole:,} {words}, {status}")

    draw()
    if drawn.error:
        problem(BadInput(drawn.error))
    elif drawn.failed and not drawn.live:
        count = len(drawn.failed)
        st.warning(
            f"{pluralize(count, 'call')} failed, in no mean below; the others are kept. "
            f"{markdown_label(drawn.failed[0], 300)}",
            icon=":material/warning:",
        )


def _facts(evaluation: AnswerEvaluation) -> list[str]:
    """Its data set, questions, model, setting and start."""
    chat = evaluation.answers.header.chat if evaluation.answers else ""
    return [
        evaluation.plan.data,
        pluralize(evaluation.plan.questions, "question"),
        chat or "quotations",
        " ".join(evaluation.plan.changes) or "defaults",
        browser.local_time(evaluation.plan.started),
    ]


def _resume(evaluations: AnswerEvaluations, name: str) -> None:
    with runtime.errors_after_rerun:
        evaluations.resume(name, runtime.access())


def _measured(answers: Answers, others: list[AnswerEvaluation]) -> None:
    """Draw the metrics, the table of answers and the open answer."""
    intervals = answers.intervals
    figures = st.container()
    ordered = sorted(answers.answers, key=partial(_order, answers))
    counts = {name: sum(map(keep, ordered)) for name, keep in FILTERS.items()}
    titles = {name: f"{name} {counts[name]:,}" for name in FILTERS if counts[name] or name == "all"}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="answers_choices"):
        chosen = address.view_choice(titles, key="answers_filter", name="show")
        st.space("stretch")
        differences = _differences(answers, others)
        with st.popover("What the figures mean", icon=":material/help:", type="tertiary", key="answers_help"):
            names = (*intervals, *((KAPPA, STABLE) if answers.judged else ()))
            markup.show(dl(".oq-help")[((dt[name], dd[HELP[name]]) for name in names)])
    with figures:
        tiles = (_figure(name, *measured, differences.get(name)) for name, measured in intervals.items())
        markup.show(div(".oq-measures", role="group", aria_label="What was measured")[tiles])
    listed = [answer for answer in ordered if FILTERS[chosen](answer)]
    name = st.query_params.get("answer", "")
    opened = next((answer for answer in listed if answer.id == name), listed[0])
    left, right = st.columns([1, 1.5], gap="medium")
    with left:
        markup.show(markup.section_heading("Answers", f"worst first; {len(listed):,} of {len(ordered):,}"))
        most = len(listed) if st.session_state.get("answers_all_rows") else ROWS
        with st.container(key="answers_table"):
            markup.show(_answers_table(listed[:most], answers, opened.id))
        if len(listed) > ROWS:
            st.toggle(f"Show all {len(listed):,}", key="answers_all_rows")
    with right:
        answer_reader.answer(listed, opened, answers.judged)


def _order(answers: Answers, answer: AnsweredQuestion) -> float:
    """Return the sort key of an answer, worst first.

    It is the measured quality, averaged with the judge's score if judged.
    """
    judged = answers.judged.by_answer.get(answer.id) if answers.judged else None
    return answer.quality if judged is None else (answer.quality + judged) / 2


def _differences(answers: Answers, others: list[AnswerEvaluation]) -> dict[str, PairedDifference]:
    """Return the differences to the chosen evaluation of the same questions."""
    same = {
        other.id: other
        for other in others
        if other.answers and other.answers.header.questions == answers.header.questions
    }
    if not same:
        return {}
    address.choice("baseline", same, "answers_baseline", "")
    chosen = st.selectbox(
        "Compared with",
        ("", *same),
        key="answers_baseline",
        format_func=lambda name: ", ".join(_facts(same[name])[2:]) if name else "no other evaluation",
        help="Each difference is paired: over the questions that both have, with its interval.",
        on_change=address.keep_choice,
        args=("baseline", "answers_baseline"),
        width=320,
    )
    other = same[chosen].answers if chosen else None
    return answers.differences(other) if other else {}


def _listed(every: tuple[AnswerEvaluation, ...], opened: AnswerEvaluation | None) -> Element:
    headings = ("data set", "questions", "answered by", "setting", "started", "status", *_LISTED)
    rows = (_listed_row(each, opened is not None and each.id == opened.id) for each in every)
    return markup.data_table("Evaluations of answers", headings, rows, "oq-settings oq-experiments")


def _listed_row(evaluation: AnswerEvaluation, is_open: bool) -> Element:
    data, count, chat, setting, started = _facts(evaluation)
    intervals = evaluation.answers.intervals if evaluation.answers else {}
    return tr(class_={"on": is_open})[
        td[markup.pick_link("evaluation", evaluation.id)[data]],
        (td[part] for part in (count, chat, setting, started)),
        td[span(".oq-tag")[str(evaluation.status)]],
        (td(".n")[metric_text(intervals[name][0].mean) if name in intervals else ""] for name in _LISTED),
    ]


# --- metrics and the table of answers --------------------------------------------------------------------


def _figure(name: str, interval: Interval, count: int, change: PairedDifference | None) -> Element:
    """Return a metric with its interval and difference to the baseline.

    The line of the interval is from 0 to 1.
    """
    part = round(interval.mean * count)
    rest = {ANSWERED: "refused wrongly", REFUSED: "not refused"}.get(name)
    bounds = f"{metric_text(interval.low)}–{metric_text(interval.high)}"
    place = f"--low:{interval.low:.1%};--high:{interval.high:.1%};--dot:{interval.mean:.1%}"
    return div(title=HELP[name])[
        div(".name")[name],
        div[b[metric_text(interval.mean)], span[f" {part:,} of {count:,}" if rest else f" of {count:,}"]],
        div(".line", style=place, role="img", aria_label=f"95 % interval {bounds}")[i, b],
        div(".bounds")[bounds, rest and f"; {count - part:,} {rest}"],
        change is not None and _difference(change),
    ]


def _difference(change: PairedDifference) -> Element:
    interval = change.difference
    bounds = f"{metric_text(interval.low, signed=True)} to {metric_text(interval.high, signed=True)}"
    text = f"{metric_text(interval.mean, signed=True)} [{bounds}]"
    return div(".change", title=f"Paired, {pluralize(change.questions, 'question')}")[
        b[text], span[f" p {p_number(change.p_value)}"]
    ]


def _answers_table(listed: Sequence[AnsweredQuestion], answers: Answers, opened: str) -> Element:
    """Return the answers as table rows.

    The first cell of each is a link that opens it. `opened` is the id of the open answer.
    """
    has_judge = answers.judged is not None
    headings = ("question", "exact", "F1", "supported", *(("judged",) if has_judge else ()), "outcome")
    first, *figures, last = headings
    head = (first, *(th(".n", scope="col")[heading] for heading in figures), last)
    rows = (_row(answer, answers, opened) for answer in listed)
    return markup.data_table("Answers, worst first", head, rows, "oq-settings oq-answers")


def _row(answer: AnsweredQuestion, answers: Answers, opened: str) -> Element:
    symbol, words, tone = OUTCOME_WORDS[answer.outcome]
    judged = answers.judged.by_answer.get(answer.id) if answers.judged else None
    supported = sum(sentence.supported for sentence in answer.sentences)
    exact = answer.values.get(EXACT)
    link = markup.pick_link("answer", answer.id, current=answer.id == opened, title=answer.question)
    return tr(class_={"on": answer.id == opened})[
        td(dir="auto")[link[answer.question]],
        td(".n")["" if exact is None else "✓" if exact else "–"],
        td(".n")[metric_text(answer.values[TOKEN_F1]) if TOKEN_F1 in answer.values else ""],
        td(".n")[f"{supported} / {len(answer.sentences)}" if answer.sentences else ""],
        answers.judged is not None and td(".n")["" if judged is None else metric_text(judged)],
        td(class_=tone)[symbol and markup.icon(symbol), words],
    ]
