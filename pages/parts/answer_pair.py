"""Answers beside the run: two of them written at the same time, each from its own ranking, by its own model."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.analysis.answers.answer_comparison import present, so_far
from core.analysis.answers.answer_figures import answering_seconds
from core.analysis.rankings.context_changes import other_context
from core.config.access import Access
from core.errors import OpenQueryError
from core.run.state import Run
from core.runtime.jobs import Job
from pages.parts import answer_diff, markup, runtime
from pages.parts.compare.compare_config import CompareSide

DUEL = "duel"
"""In the session: by side, the name of the answer that is shown."""


def answer_pair(contestants: Mapping[str, CompareSide], ranked: Mapping[str, Run]) -> None:
    """Both answers side by side; “Answer both” streams them."""
    jobs = {side: _job(side) for side in contestants}
    live = any(job is not None and job.live for job in jobs.values())
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="duel_head"):
        st.html(
            markup.kicker("Answers", "each from its own ranking; the run keeps its own answer"),
            width="stretch",
        )
        if live:
            st.button("Stop both", key="duel_stop", icon=":material/stop:", on_click=_stop)
        else:
            st.button(
                "Answer both",
                key="duel_begin",
                icon=":material/edit_note:",
                type="primary",
                on_click=_begin,
                args=(contestants, ranked),
            )

    @st.fragment(run_every=0.3 if live else None, key="duel_answers")
    def answers() -> None:
        if live and not any(job is not None and job.live for job in jobs.values()):
            st.rerun()
        answer_diff.answer_pair(*(_side(contestants[side], ranked[side], jobs[side]) for side in contestants))

    answers()


def _side(one: CompareSide, ranked: Run, job: Job | None) -> answer_diff.AnswerSide:
    if job is not None:
        run = job.run
        stale = not job.live and (other_context(run, ranked) or job.access != one.access)
        return answer_diff.AnswerSide(
            name=one.side,
            label=one.label,
            title="From the settings before" if stale else _title(one),
            run=run,
            version=so_far(run),
            live=job.live,
            seconds=answering_seconds(run),
            fault=f"{run.error.message} {run.error.hint}" if run.error else "",
        )
    own = not one.model and not other_context(one.run, ranked)
    return answer_diff.AnswerSide(
        name=one.side,
        label=one.label,
        title="The run's own answer" if own else _title(one),
        run=ranked,
        version=present(one.run) if own else None,
        seconds=answering_seconds(one.run) if own else None,
        missing="No answer was written from this ranking yet: press “Answer both”.",
    )


def _title(one: CompareSide) -> str:
    rank = one.knobs.rank
    parts = (f"{rank.strategy}", f"{rank.top_k} passages", one.embedder, one.model)
    return ", ".join(part for part in parts if part)


# --- what is done -----------------------------------------------------------------------------------------


def _name(side: str) -> str:
    return f"{runtime.viewer()} {side} answer"


def _job(side: str) -> Job | None:
    name = st.session_state.get(DUEL, {}).get(side)
    return runtime.runs().side_answers.get(name) if name else None


def _begin(contestants: Mapping[str, CompareSide], ranked: Mapping[str, Run]) -> None:
    names = {side: begin(_name(side), ranked[side], one.access) for side, one in contestants.items()}
    st.session_state[DUEL] = {side: name for side, name in names.items() if name}


def _stop() -> None:
    for name in st.session_state.get(DUEL, {}).values():
        runtime.runs().side_answers.stop(name)


def begin(name: str, ranked: Run, access: Access) -> str:
    """Have an answer written from a ranking; its name, or nothing when it was refused, which the page then says."""
    try:
        runtime.runs().side_answers.answer(name, ranked, access, owner=runtime.owner())
    except OpenQueryError as error:
        runtime.refuse(error.message, error.hint)
        return ""
    return name
