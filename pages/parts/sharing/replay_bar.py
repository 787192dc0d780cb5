"""Replay of a run on the Ask page.

Its events happen again, at their times, for this browser session alone.
"""

import streamlit as st
from htpy import div, span

from core.analysis.progress import PHASES
from core.errors import OpenQueryError
from core.features.share.replay import Playhead, Replay, phase_starts
from core.model import Phase
from core.run.run_ids import is_link
from core.run.state import Run
from pages.parts import browser, markup, runtime, widgets

PARAMETER = "replay"
"""Address parameter: `1` replays the run in the address."""
SPEEDS = (0.5, 1.0, 4.0, 16.0)
TITLES = dict(PHASES)


def start(run_id: str) -> None:
    """Replay the run from its beginning, or say why not."""
    st.session_state.pop(runtime.REPLAY, None)
    st.session_state["cited"] = None
    try:
        if recorded := runtime.runs().recorded(run_id):
            playhead = Playhead(speed=_speed(), halts=phase_starts(recorded, _pause_at()))
            st.session_state[runtime.REPLAY] = Replay(recorded, playhead)
            st.query_params[PARAMETER] = "1"
    except OpenQueryError as error:
        close()
        runtime.refuse(error.message, error.hint)


def close() -> None:
    """End the replay, and show the whole run."""
    st.session_state.pop(runtime.REPLAY, None)
    st.query_params.pop(PARAMETER, None)


def replay_of(run: Run) -> Replay | None:
    """Return the replay that the address requests, or None.

    A reopened or reloaded run is replayed from its beginning.
    """
    if st.query_params.get(PARAMETER) != "1" or run.live or is_link(run.id):
        st.session_state.pop(runtime.REPLAY, None)
        return None
    if runtime.replay_of(run.id) is None:
        start(run.id)
    return runtime.replay_of(run.id)


def replayed(replay: Replay | None, run: Run) -> Run:
    """Return the run as the page shows it. During a replay it is the replayed part, else the whole run."""
    if replay is None:
        return run
    current = replay.current()
    return run if replay.ended else current


def replay_bar(replay: Replay, *, paused: bool) -> None:
    """Draw the replay's title, speed and controls."""
    run, playhead = replay.recorded.run, replay.playhead
    title = f"Replay of the run of {browser.local_time(run.started)}"
    with st.container(key="replay", horizontal=True, vertical_alignment="center", gap="small"):
        if replay.ended:
            state = f"{title}: it has ended."
        else:
            now = f"paused at {markup.duration(playhead.position)}" if paused else "running"
            state = f"{title}, {_times(playhead.speed)}, {now}."
        markup.show(div(".oq-status-line")[markup.icon("replay"), span[state]])
        if replay.ended:
            widgets.button("Replay again", "replay", start, run.id, key="replay_again")
        elif paused:
            widgets.button("Continue", "play_arrow", playhead.play, key="replay_continue")
        else:
            widgets.button("Pause", "pause", playhead.pause, key="replay_pause")
        widgets.choice(
            "Speed",
            SPEEDS,
            default=1.0,
            format_func=_times,
            key="replay_speed",
            on_change=lambda: playhead.change(speed=_speed()),
        )
        st.multiselect(
            "Pause at the beginning of",
            [phase for phase in TITLES if phase_starts(replay.recorded, [phase])],
            format_func=TITLES.__getitem__,
            key="replay_pause_at",
            label_visibility="collapsed",
            placeholder="Pause at a phase",
            on_change=lambda: playhead.change(halts=phase_starts(replay.recorded, _pause_at())),
            width=200,
        )
        label = "Close" if replay.ended else "End"
        widgets.button(label, "close", close, key="replay_end", type="tertiary")


def _times(speed: float) -> str:
    return f"{speed:g}×"


def _speed() -> float:
    speed: float = st.session_state.get("replay_speed") or 1.0
    return speed


def _pause_at() -> list[Phase]:
    return list(st.session_state.get("replay_pause_at", ()))
