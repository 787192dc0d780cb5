"""The Evaluate page: settings measured on questions with known answers, with the uncertainty of every figure."""

import streamlit as st

from core.errors import BadInput, OpenQueryError
from core.runtime.experiments import Experiment, Experiments, ExperimentStatus
from pages.parts import markup, page_frame, runtime
from pages.parts.evaluate import experiment_results, label_comparison, sweep_form
from pages.parts.problems import problem, refusal

SHARED = "On a shared server experiments are started from the command line: openquery eval run."


def choose() -> None:
    sweep_form.open_experiment(st.session_state["chosen_experiment"])


def label(one: Experiment) -> str:
    knobs = ", ".join(f"{group}.{name}" for group, values in one.swept.items() for name in values)
    return f"{one.data}: {knobs or 'defaults'} ({runtime.local_time(one.started)})"


def delete(experiments: Experiments, name: str) -> None:
    experiments.delete(name)
    st.query_params.pop("experiment", None)


def progress(experiments: Experiments, one: Experiment) -> None:
    """The state of the experiment, with what can be done; redrawn while it is live."""

    @st.fragment(run_every=runtime.refresh_every(0.7) if one.live else None, key="evaluate_progress")
    def draw() -> None:
        now = experiments.get(one.id)
        if now is None or now.done != one.done or now.status != one.status:
            st.rerun()
        left = markup.fact(f"{now.done:,} of {now.settings:,}", "settings measured")
        with st.container(horizontal=True, vertical_alignment="center", key="evaluate_progress_line"):
            st.html(markup.facts(left, markup.fact(str(now.status), "state")), width="stretch")
            if now.live:
                st.button(
                    "Stop",
                    key="evaluate_stop",
                    icon=":material/stop:",
                    on_click=experiments.stop,
                    args=(now.id,),
                )
                return
            if now.status is not ExperimentStatus.DONE:
                st.button(
                    "Continue",
                    key="evaluate_continue",
                    icon=":material/play_arrow:",
                    on_click=experiments.resume,
                    args=(now.id,),
                )
            st.button(
                "Delete",
                key="evaluate_delete",
                icon=":material/delete:",
                type="tertiary",
                on_click=delete,
                args=(experiments, now.id),
            )
        if now.error:
            problem(BadInput(now.error))

    draw()


page_frame.style()
st.html(
    '<h1 class="oq-title">Evaluate</h1><p class="oq-lead">Settings measured on questions with known answers: '
    "which is better, by how much, and how certain that is.</p>"
)
try:
    experiments = runtime.runs().experiments
    found = {one.id: one for one in experiments.all()}
except OpenQueryError as error:
    problem(error)
    st.stop()
refusal()
if runtime.may_start_experiments():
    with st.container(border=True, key="new_experiment"):
        sweep_form.form(experiments)
else:
    st.info(SHARED, icon=":material/info:")
label_comparison.section()
if not found:
    page_frame.empty_state("There are no experiments yet.", "science")
    st.stop()
name = st.query_params.get("experiment", "")
opened = found.get(name) or next(iter(found.values()))
st.session_state["chosen_experiment"] = opened.id
st.selectbox(
    "Experiment",
    list(found),
    key="chosen_experiment",
    format_func=lambda one: label(found[one]),
    on_change=choose,
)
progress(experiments, opened)
try:
    results = experiments.results(opened.id)
except BadInput as error:
    problem(error)
    st.stop()
if results and results.results:
    experiment_results.show(results)
