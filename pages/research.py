"""The Research page: ask, follow every phase, read the cited answer, tune the ranking."""

import streamlit as st

from core.analysis.progress import RunStage, run_stage, spoken_state
from core.run.run_ids import is_link
from core.run.state import Run
from pages.parts import address, browser, page_frame, runtime
from pages.parts.conversation import follow_up, turns
from pages.parts.problems import needed
from pages.parts.research import (
    answer_sources,
    answer_view,
    front_stage,
    plan_view,
    question_box,
    results_pane,
    status_line,
    stepper,
    trace_view,
)
from pages.parts.research.tuning_bar import Tuning
from pages.parts.sharing import link_list, replay_bar
from pages.parts.sidebar import controls, presets

# The browser needs seconds to load Plotly for the first chart, so an invisible one loads it while the question is typed.
with st.container(key="warm"):
    st.plotly_chart(
        {"data": [{"x": [0], "y": [0]}], "layout": {"height": 40, "template": {}}},
        key="warm_chart",
        theme=None,
    )

with needed:
    run = runtime.current()
address.keep_history(run)
replay = None
stored = run
if run is not None:
    controls.adopt(run)
    replay = replay_bar.replay_of(run)
    run = replay_bar.replayed(replay, run)
presets.sidebar()


def moved(control: str) -> None:
    """Rank under a moved control, and redraw only affected fragments. Drawing the whole page would double the
    cost.

    Slower changes, and changes without an action, need the timers of the whole page.
    """
    quick = now is RunStage.ENDED and not (filling or tuning.pending or paused)
    if quick:
        tuning.read(asked)
    shown = [control, controls.RESET_FRAGMENT, "progress", *tuning.shown_by]
    st.rerun(shown if quick and not tuning.pending else "app")


controls.sidebar(run, moved)

if run is None:
    question_box.introduction()
    with st.container(key="ask_hero"):
        question_box.question_box(run)
    front_stage.front_stage()
    question_box.examples_and_connections()
    st.stop()

question_box.question_box(None if is_link(run.id) else stored)
paused = replay is not None and not replay.ended and replay.playhead.halted
with st.container(key="run_slot"):  # always drawn: Streamlit finds fragments by position
    link_list.link_notice(run.id)
    if replay is not None:
        replay_bar.replay_bar(replay, paused=paused)
asked: Run = run
run_id, now, cited = run.id, run_stage(run), st.session_state.get("cited")
conversation = turns.turns_of(run)
tuning = Tuning(run)
filling = replay is None and page_frame.being_filled(run)
gathering, answering = now is RunStage.GATHER, now is RunStage.ANSWER
# Seconds between drawings of the answer's column. For a queued run only its position in the queue changes.
ANSWER_EVERY = {RunStage.QUEUED: 0.4, RunStage.GATHER: 0.6, RunStage.ANSWER: 0.2}


def every(seconds: float | None) -> float | None:
    """Return the seconds between two drawings, or None for none. The interval grows on a busy server."""
    return None if seconds is None or paused else runtime.refresh_every(seconds)


def cite(number: int) -> None:
    """Show the passage of the citation that was clicked."""
    st.session_state["cited"] = number


def latest() -> Run:
    """The current state of the run. A change outside this fragment reruns the whole page, which resets the timers."""
    run = runtime.runs().get(run_id)
    run = run and replay_bar.replayed(replay, run)
    if (
        run is None
        or st.session_state.get("run_id") != run_id
        or runtime.has_refusal()
        or runtime.replay_of(run_id) is not replay
        or (replay is not None and not replay.ended and replay.playhead.halted is not paused)
        or run_stage(run) is not now
        or (now is RunStage.ENDED and run is not asked)
        or (answering and run.ranking is not asked.ranking)
        or (filling and not runtime.runs().is_filling(run_id))
        or tuning.outdated(asked)
        or st.session_state.get("cited") != cited
    ):
        st.rerun()
    return run


@st.fragment(
    run_every=every(0.3 if gathering or answering or tuning.pending else 1.0 if filling else None),
    key="progress",
)
def progress() -> None:
    """The stepper and the line below it."""
    run = latest()
    address.keep_settings(address.SETTINGS, run.knobs, tuning.knobs, controls.TUNED)
    stepper.stepper(tuning.shown(run), runtime.clock(run))
    status_line.status_line(run, tuning.shown(run), tuning.job, runtime.clock(run))


@st.fragment(run_every=every(ANSWER_EVERY.get(now)), key="answer")
def answer_column() -> None:
    """The answer, its losses, sources and notes."""
    run = latest()
    trace_view.steps(run)
    answer_view.answer(run, runtime.clock(run), turns.turn_line(conversation, run))
    plan_view.plan(run)
    answer_sources.losses(run, runtime.runs().store.problem)
    answer_sources.sources(run, cited)
    answer_sources.notes(run)


@st.fragment(run_every=every(0.4 if gathering else None), key="results")
def results_column() -> None:
    """Passages, hits, pages, timeline and prompt."""
    run = latest()
    tuning.shown_by = results_pane.results_pane(run, lambda: tuning.shown(latest()), now)


progress()
left, right = st.columns([1, 1.25], gap="medium")
with left:
    turns.head(conversation)
    turns.before(conversation, run)
    answer_column()
    turns.after(conversation, run)
    if not is_link(run.id) and (not conversation or conversation[-1].id == run.id):
        follow_up.follow_up(run)
with right, st.container(key="results"):
    results_column()
browser.citation_clicks(cited, cite)
browser.announcement(spoken_state(run))
