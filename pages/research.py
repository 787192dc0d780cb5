"""The Ask page: ask, follow every phase, read the cited answer, tune the ranking."""

from collections.abc import Callable

import streamlit as st

from core.analysis.progress import RunStage, run_stage, spoken_state
from core.features.share.replay import Replay
from core.run.run_ids import is_link
from core.run.state import Run
from pages.parts import address, browser, page_frame, runtime
from pages.parts.conversation import follow_up, turns
from pages.parts.problems import errors_stop_page
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
    what_if,
)
from pages.parts.research.tuning_bar import Tuning
from pages.parts.serving import streamlit_patches
from pages.parts.sharing import link_list, replay_bar
from pages.parts.sidebar import controls, presets
from pages.parts.sidebar.knob_control import KNOB

ANSWER_SECONDS = {RunStage.QUEUED: 0.4, RunStage.GATHER: 0.6, RunStage.ANSWER: 0.2}
"""Seconds between drawings of the answer's column. For a queued run only its position in the queue changes."""


def warm_charts() -> None:
    """Draw an invisible chart. The browser needs seconds to load Plotly, and does so while the question is typed."""
    with st.container(key="warm"):
        st.plotly_chart(
            {"data": [{"x": [0], "y": [0]}], "layout": {"height": 40, "template": {}}},
            key="warm_chart",
            theme=None,
        )


def front() -> None:
    """Draw the page without a run."""
    controls.sidebar(None, lambda _control: None)
    question_box.introduction()
    with st.container(key="ask_hero"):
        question_box.question_box(None)
    with st.container(key="front_rest"):  # one part: the page of a run leaves out what stood in its place
        front_stage.front_stage()
        question_box.examples()


class RunView:
    """The page of a run, as of this script run."""

    def __init__(self, run: Run, stored: Run, replay: Replay | None) -> None:
        """`stored` is the run of the address, of which `run` is a part while `replay` plays it."""
        self.run, self.stored, self.replay = run, stored, replay
        self.stage = run_stage(run)
        self.paused = replay is not None and not replay.ended and replay.playhead.halted
        self.filling = replay is None and page_frame.being_filled(run)
        self.cited: int | None = st.session_state.get("cited")
        self.conversation = turns.turns_of(run)
        self.tuning = Tuning(run)
        self._latest: tuple[object, Run] = (None, run)

    def draw(self) -> None:
        """Draw the sidebar, the question, the phases, the answer and the results."""
        run, tuning = self.run, self.tuning
        gathering, answering = self.stage is RunStage.GATHER, self.stage is RunStage.ANSWER
        streamlit_patches.set_followers(self.followers)
        controls.sidebar(run, self.moved)
        st.container(key="run_heading")  # in the place of the front's: the question box stays where it is
        with st.container(key="ask_top"):
            question_box.question_box(None if is_link(run.id) else self.stored)
        with st.container(key="run_slot"):  # always drawn: Streamlit finds fragments by position
            link_list.link_notice(run.id)
            if self.replay is not None:
                replay_bar.replay_bar(self.replay, paused=self.paused)
        while_working = 0.3 if gathering or answering or tuning.pending else 1.0 if self.filling else None
        self.fragment(self.progress, while_working)
        left, right = st.columns([1, 1.25], gap="medium")
        with left:
            turns.head(self.conversation, run)
            turns.before(self.conversation, run)
            self.fragment(self.answer, ANSWER_SECONDS.get(self.stage))
            turns.after(self.conversation, run)
            if not is_link(run.id) and (not self.conversation or self.conversation[-1].id == run.id):
                follow_up.follow_up(run)
        with right, st.container(key="results"):
            self.fragment(self.results, 0.4 if gathering else None)
        with st.container(key="what_if_strip"):
            tunable = self.stage is RunStage.ENDED and run.index is not None and not self.paused
            what_if.strip(
                run, self.moved, lambda: self.fragment(self.what_if, while_working), tunable=tunable
            )
        browser.citation_clicks(self.cited, lambda number: st.session_state.update(cited=number))
        browser.announcement(spoken_state(run))

    def fragment(self, part: Callable[[], None], seconds: float | None) -> None:
        """Draw a part of the page, again every so many seconds. The interval grows on a busy server."""
        interval = None if seconds is None or self.paused else runtime.refresh_every(seconds)
        st.fragment(part, run_every=interval, key=part.__name__)()

    def moved(self, control: str) -> None:
        """Rank under a moved control, and redraw only affected fragments. Drawing the whole page would double the
        cost.

        Slower changes, and changes without an action, need the timers of the whole page.
        """
        quick = self.moves_quickly()
        if quick:
            self.tuning.read(self.run)
        # While a setting is searched, the sidebar has the controls that were found alone.
        quick = quick and not self.tuning.pending and not st.session_state.get("find_setting")
        shown = self.shown_with(control)
        if not quick or not streamlit_patches.is_drawn_now(shown):
            st.rerun([*shown] if quick else "app")

    def moves_quickly(self) -> bool:
        """Whether a moved control may draw the parts that show the ranking alone."""
        return self.stage is RunStage.ENDED and not (self.filling or self.tuning.pending or self.paused)

    def followers(self, fragment: str) -> tuple[str, ...]:
        """Return the fragments that a moved control changes, by the fragment of the control."""
        moving = fragment.startswith((f"{KNOB}_", f"{what_if.PREFIX}_")) and self.moves_quickly()
        return self.shown_with(fragment) if moving else ()

    def shown_with(self, control: str) -> tuple[str, ...]:
        """Return the fragments that show a control's value, or what it changes."""
        controlled = what_if.fragments_of(control)
        return (*controlled, controls.RESET_FRAGMENT, "progress", "what_if", *self.tuning.shown_by)

    def latest(self) -> Run:
        """Return the current state of the run, as of this run of the script.

        A change outside of the fragment that asks reruns the whole page, which resets the timers.
        """
        if self._latest[0] is (script_run := streamlit_patches.script_run()):
            return self._latest[1]
        replay, seen = self.replay, self.run
        run = runtime.runs().get(seen.id)
        run = run and replay_bar.replayed(replay, run)
        if (
            run is None
            or st.session_state.get("run_id") != seen.id
            or runtime.has_refusal()
            or runtime.replay_of(seen.id) is not replay
            or (replay is not None and not replay.ended and replay.playhead.halted is not self.paused)
            or run_stage(run) is not self.stage
            or (self.stage is RunStage.ENDED and run is not seen)
            or (self.stage is RunStage.ANSWER and run.ranking is not seen.ranking)
            or (self.filling and not runtime.runs().is_filling(seen.id))
            or self.tuning.outdated(seen)
            or st.session_state.get("cited") != self.cited
        ):
            st.rerun()
        self._latest = script_run, run
        return run

    def progress(self) -> None:
        """Draw the stepper."""
        run, tuning = self.latest(), self.tuning
        address.keep_settings(address.SETTINGS, run.knobs, tuning.knobs, controls.TUNED)
        stepper.stepper(tuning.shown(run), runtime.clock(run))

    def what_if(self) -> None:
        """Draw the line of the strip: current work, or the effect of tuning."""
        run, tuning = self.latest(), self.tuning
        status_line.status_line(run, tuning.shown(run), tuning.job, runtime.clock(run))

    def answer(self) -> None:
        """Draw the answer, its sources and checks."""
        run = self.latest()
        trace_view.steps(run)
        answer_view.answer(run, runtime.clock(run), turns.turn_line(self.conversation, run))
        plan_view.plan(run)
        answer_sources.store_problem(runtime.runs().store.problem)
        answer_sources.sources(run, self.cited)

    def results(self) -> None:
        """Draw passages, hits, pages, timeline and prompt."""
        run, tuning = self.latest(), self.tuning
        tuning.shown_by = results_pane.results_pane(run, lambda: tuning.shown(self.latest()), self.stage)


def draw() -> None:
    """Draw the run of the address, or the front page."""
    warm_charts()
    with errors_stop_page:
        stored = runtime.current()
    address.keep_history(stored)
    run, replay = stored, None
    if stored is not None:
        controls.adopt(stored)
        replay = replay_bar.replay_of(stored)
        run = replay_bar.replayed(replay, stored)
    presets.sidebar()
    if run is None or stored is None:
        front()
    else:
        RunView(run, stored, replay).draw()


draw()
