"""The form of a new evaluation of answers.

It asks for a data set, a setting, and whether a chat model judges.
"""

import streamlit as st

from core.config.knobs import Backend, Knobs, SearchScope
from core.config.permissions import Action
from core.features.evaluate.answers.answers_folder import AnswerEvaluation, Answers
from core.features.evaluate.answers.judged_answers import claims_to_label
from core.features.evaluate.services.answer_evaluations import MOST_REPEATS, AnswerEvaluations
from core.features.evaluate.services.experiments import Experiments
from core.features.evaluate.sweep import DEFAULTS
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import pluralize
from pages.parts import runtime, services, widgets
from pages.parts.problems import errors_inline
from pages.parts.sidebar import controls

EVALUATION = "evaluation"
"""Address parameter of the open evaluation."""
RESEARCH_PAGE = "as on the Ask page"


def open_evaluation(name: str) -> None:
    """Show this evaluation."""
    st.query_params.from_dict({"view": "answers", EVALUATION: name})


def form() -> None:
    """Draw the form. Its button starts the evaluation and opens it."""
    data_sets = runtime.runs().service(Experiments).data
    left, right = st.columns([1, 1], gap="medium")
    data = left.selectbox(
        "Data set",
        list(data_sets.loaders()),
        key="answers_data",
        persist_state="session",
        help="Its questions are answered from its own documents; nothing is searched on the web. Others are added "
        "under New.",
    )
    setting = right.selectbox(
        "Setting",
        (DEFAULTS, RESEARCH_PAGE),
        key="answers_setting",
        help="Of chunking, ranking and answering.",
    )
    chat = services.connections(Backend.DEMO, SearchScope.WEB).chat
    repeats, labels = _judge(chat)
    count, usable = 0, False
    with errors_inline:
        count, usable = data_sets.summary(data).questions, True
    calls = f"{pluralize(count, 'call')} of {chat}" if chat else "no call of a model: sentences are quoted"
    if repeats:
        calls += f", and {pluralize(count * repeats, 'call')} to judge at most"
    st.caption(markdown_label(f"{pluralize(count, 'question')}, {calls}.", 300))
    widgets.button(
        f"Answer {pluralize(count, 'question')}",
        "play_arrow",
        _start,
        data,
        setting,
        repeats,
        labels,
        key="answers_start",
        type="primary",
        disabled=not usable,
    )


def _judge(chat: str) -> tuple[int, bytes]:
    """Draw the judge's fields. Return the judgements per sentence and the file of labelled claims."""
    if not chat:
        st.caption("No chat model is connected, so nobody can judge: connect one on the Ask page.")
        return 0, b""
    judged = st.toggle(
        "Have the answers judged by the chat model",
        key="answers_judge",
        help="It is asked whether the cited sources entail each sentence.",
    )
    return _judge_fields("answers") if judged else (0, b"")


def _judge_fields(key: str) -> tuple[int, bytes]:
    repeats = st.number_input("Times each sentence is judged", 1, MOST_REPEATS, 3, key=f"{key}_repeats")
    file = st.file_uploader(
        "Claims that people have labelled (.csv)",
        "csv",
        key=f"{key}_labels",
        help="With the columns claim, source and label (entailed, contradicted or not addressed), at least twenty: "
        "the judge's agreement with people is measured on them.",
    )
    return int(repeats), file.getvalue() if file else b""


def judge_menu(evaluation: AnswerEvaluation, answers: Answers) -> None:
    """Draw a menu to judge an ended evaluation, first or again."""
    menu = st.popover(
        "Judge", icon=":material/gavel:", type="tertiary", key="answers_judge_menu", on_change="rerun"
    )
    if not menu.open:
        return
    with menu:
        if not services.connections(Backend.DEMO, SearchScope.WEB).chat:
            st.caption("No chat model is connected.")
            return
        repeats, labels = _judge_fields("judge")
        st.caption(
            "These answers as claims with their sources: fill in the labels, and upload the file above."
        )
        widgets.download_button(
            "Claims to label",
            lambda: claims_to_label(answers.answered),
            "claims.csv",
            "text/csv",
            key="answers_claims",
            type="tertiary",
        )
        widgets.button(
            "Judge the answers",
            "gavel",
            _judge_again,
            evaluation.id,
            repeats,
            labels,
            key="answers_judge_again",
        )


def _judge_again(name: str, repeats: int, labels: bytes) -> None:
    with runtime.errors_after_rerun:
        runtime.caller().require(Action.EVALUATE_DATA_SETS)
        runtime.runs().service(AnswerEvaluations).judge(
            name, runtime.access(), repeats=repeats, labels=labels
        )


def _start(data: str, setting: str, repeats: int, labels: bytes) -> None:
    with runtime.errors_after_rerun:
        runtime.caller().require(Action.EVALUATE_DATA_SETS)
        knobs = controls.knobs() if setting == RESEARCH_PAGE else Knobs()
        evaluations, access = runtime.runs().service(AnswerEvaluations), runtime.access()
        open_evaluation(evaluations.start(data, knobs, access, repeats=repeats, labels=labels))
