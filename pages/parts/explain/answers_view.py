"""Answers view: two versions of the run's answer."""

import streamlit as st

from core.analysis.answers.answer_stats import answer_author, answer_seconds, versions
from core.run.state import AnswerVersion, Run
from core.text.sanitize import pluralize
from pages.parts import markup
from pages.parts.answers import answer_diff


def view(run: Run) -> None:
    """Draw two answers of the run with a diff."""
    answers = versions(run)
    if not answers:
        markup.show_empty("There is no answer: the run ended before one was written.", "edit_off")
        return
    if len(answers) < 2:
        markup.show_empty(
            "This run has one answer. Change a setting on the Ask page and press “Answer again” "
            "to compare the new answer with this one.",
            "difference",
        )
        return
    latest = len(answers) - 1
    if st.session_state.get("latest_version") != latest:  # a new answer was written
        st.session_state["latest_version"] = latest
        st.session_state["version_a"], st.session_state["version_b"] = latest - 1, latest
    with st.container(horizontal=True, gap="small", key="version_choice"):
        first = _choice("Left", "version_a", answers)
        second = _choice("Right", "version_b", answers)
    answer_diff.side_by_side(_side(run, "a", first, answers), _side(run, "b", second, answers))


def _choice(label: str, key: str, answers: tuple[AnswerVersion, ...]) -> int:
    number = st.selectbox(
        label,
        range(len(answers)),
        key=key,
        format_func=lambda index: _title(answers, index, long=True),
        label_visibility="collapsed",
    )
    return int(number)


def _title(answers: tuple[AnswerVersion, ...], index: int, *, long: bool = False) -> str:
    name = "Current answer" if index == len(answers) - 1 else f"Answer {index + 1}"
    if not long:
        return name
    version = answers[index]
    return f"{name}: {pluralize(len(version.sources), 'source')}{f', {author}' if (author := answer_author(version.answer)) else ''}"


def _side(run: Run, name: str, index: int, answers: tuple[AnswerVersion, ...]) -> answer_diff.AnswerSide:
    latest = index == len(answers) - 1
    return answer_diff.AnswerSide(
        name=name,
        label=f"{index + 1}",
        title=_title(answers, index),
        run=run,
        version=answers[index],
        seconds=answer_seconds(run) if latest else None,
    )
