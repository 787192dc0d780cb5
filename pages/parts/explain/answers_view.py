"""Answers: every answer of the run as a version, two of them side by side."""

from __future__ import annotations

import streamlit as st

from core.analysis.answers.answer_cards import author
from core.analysis.answers.answer_comparison import versions
from core.analysis.answers.answer_figures import answering_seconds
from core.run.state import AnswerVersion, Run
from pages.parts import answer_diff, page_frame


def view(run: Run) -> None:
    found = versions(run)
    if not found:
        page_frame.nothing("There is no answer: the run ended before one was written.", "edit_off")
        return
    if len(found) < 2:
        page_frame.nothing(
            "There is one answer only. Turn a knob on the Research page and press “Answer again”: "
            "the earlier answer then stands here beside the new one.",
            "difference",
        )
        return
    latest = len(found) - 1
    _keep_to(latest)
    with st.container(horizontal=True, gap="small", key="version_choice"):
        first = _choice("Left", "version_a", found)
        second = _choice("Right", "version_b", found)
    answer_diff.answer_pair(_side(run, "a", first, found), _side(run, "b", second, found))


def _keep_to(latest: int) -> None:
    """The one before the latest, and the latest, as soon as there is a new one."""
    if st.session_state.get("versions_seen") != latest:
        st.session_state["versions_seen"] = latest
        st.session_state["version_a"], st.session_state["version_b"] = latest - 1, latest


def _choice(label: str, key: str, found: tuple[AnswerVersion, ...]) -> int:
    number = st.selectbox(
        label,
        range(len(found)),
        key=key,
        format_func=lambda at: _title(found, at, long=True),
        label_visibility="collapsed",
    )
    return int(number)


def _title(found: tuple[AnswerVersion, ...], at: int, *, long: bool = False) -> str:
    name = "The present answer" if at == len(found) - 1 else f"Answer {at + 1}"
    if not long:
        return name
    one = found[at]
    return f"{name}: {len(one.sources)} sources{f', {who}' if (who := author(one.answer)) else ''}"


def _side(run: Run, name: str, at: int, found: tuple[AnswerVersion, ...]) -> answer_diff.AnswerSide:
    latest = at == len(found) - 1
    return answer_diff.AnswerSide(
        name=name,
        label=f"{at + 1}",
        title=_title(found, at),
        run=run,
        version=found[at],
        seconds=answering_seconds(run) if latest else None,
    )
