"""Ask, watch every phase, read the cited answer, tune the ranking."""

import streamlit as st

from core.errors import OpenQueryError
from core.render import plain
from core.views.progress import Stage, stage
from pages.parts import answer, ask, bridge, controls, evidence, runtime, stepper, tuning

# The first plotly chart of a page costs the browser seconds. It is paid here, while the question is typed.
with st.container(key="warm"):
    st.plotly_chart({"data": [{"x": [0], "y": [0]}], "layout": {"height": 40}}, key="warm_chart")

try:
    run = runtime.current()
except OpenQueryError as error:
    st.error(f"**{plain(error.message, 400)}** {plain(error.hint, 400)}", icon=":material/error:")
    st.stop()
if run is not None:
    controls.adopt(run)
controls.sidebar(run)

if run is None:
    ask.hero()
    with st.container(key="ask_hero"):
        ask.question_box(run)
    ask.welcome()
    st.stop()

ask.question_box(run)
run_id, now = run.id, stage(run)
job = runtime.tuned(run, controls.live_knobs(run))
tuning_lasts = job is not None and job.live
gathers, answers = now is Stage.GATHER, now is Stage.ANSWER


def cite() -> None:
    st.session_state["cited"] = bridge.cited_number()


def uncite() -> None:
    st.session_state["cited"] = None


@st.fragment(run_every=0.3 if now is not Stage.ENDED or tuning_lasts else None, key="progress")
def progress() -> None:
    """The stepper. When the stage changes, the whole page is drawn, which arms the other timers anew."""
    latest = runtime.runs().get(run_id)
    if latest is None or stage(latest) is not now or (tuning_lasts and job is not None and not job.live):
        st.rerun()
    if latest is not None:
        shown = job.run if job is not None and not latest.live else latest
        stepper.stepper(shown, runtime.clock(shown))
        tuning.tuning(latest, shown, lasts=job is not None and job.live)


@st.fragment(run_every=0.2 if answers else 0.6 if gathers else None, key="answer")
def answer_column() -> None:
    latest = runtime.runs().get(run_id)
    if latest is not None:
        cited = st.session_state.get("cited")
        answer.answer(latest, runtime.clock(latest))
        answer.sources(latest, cited)
        answer.notes(latest, runtime.runs().store.problem)


@st.fragment(run_every=0.4 if gathers else None, key="evidence")
def evidence_column() -> None:
    latest = runtime.runs().get(run_id)
    if latest is not None:
        evidence.evidence(latest, job.run if job is not None else latest, stage(latest), uncite)


progress()
left, right = st.columns([1, 1.18], gap="medium")
with left:
    answer_column()
with right, st.container(key="evidence"):
    evidence_column()
bridge.bridge(st.session_state.get("cited"), cite)
