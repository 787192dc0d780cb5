"""The Evaluate page: settings measured on questions with known answers, with the uncertainty of every figure."""

import streamlit as st

from core.config.permissions import Action
from core.errors import BadInput
from core.runtime.experiments import Experiment, Experiments, ExperimentStatus
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import distinct_labels
from pages.parts import browser, markup, page_frame, runtime, widgets
from pages.parts.evaluate import experiment_results, label_comparison, sweep_form
from pages.parts.problems import missing, needed, problem, refusal

DELETED = "deleted_experiment"
"""The name in the session state of the experiment that was deleted last."""


def choose() -> None:
    """Open the experiment that was chosen."""
    if name := st.session_state["chosen_experiment"]:
        sweep_form.open_experiment(name)


def label(experiment: Experiment) -> str:
    """The name of an experiment in the list: its data set, what varies, and when it began."""
    knobs = ", ".join(f"{group}.{name}" for group, values in experiment.swept.items() for name in values)
    return f"{experiment.data}: {knobs or 'defaults'} ({browser.local_time(experiment.started)})"


def delete(experiments: Experiments, experiment: Experiment) -> None:
    """Delete an experiment, which `undo_offer` can restore."""
    experiments.delete(experiment.id)
    st.session_state[DELETED] = experiment
    st.query_params.pop("experiment", None)


def restore(experiments: Experiments, experiment: Experiment) -> None:
    """Restore a deleted experiment and open it."""
    experiments.restore(experiment.id)
    sweep_form.open_experiment(experiment.id)


def undo_offer(experiments: Experiments) -> None:
    """Offer to restore the experiment that was deleted last."""
    experiment: Experiment | None = st.session_state.get(DELETED)
    if experiment is None or not experiments.is_restorable(experiment.id):
        return
    with st.container(horizontal=True, vertical_alignment="center", border=True, key="evaluate_deleted"):
        st.markdown(f"**{markdown_label(label(experiment), 200)}** was deleted.", width="stretch")
        widgets.button("Undo", "undo", restore, experiments, experiment, key="evaluate_undo")


def progress(experiments: Experiments, experiment: Experiment) -> None:
    """The state of the experiment, with what can be done; redrawn while it is live."""

    @st.fragment(run_every=runtime.refresh_every(0.7) if experiment.live else None, key="evaluate_progress")
    def draw() -> None:
        current = experiments.get(experiment.id)
        if current is None or current.done != experiment.done or current.status != experiment.status:
            st.rerun()
        left = markup.fact(f"{current.done:,} of {current.settings:,}", "settings measured")
        with st.container(horizontal=True, vertical_alignment="center", key="evaluate_progress_line"):
            markup.show(
                markup.facts(left, markup.fact(str(current.status).capitalize(), "")), width="stretch"
            )
            if not runtime.caller().may(Action.CHANGE_EXPERIMENT, current.user):
                return
            if current.live:
                widgets.button("Stop", "stop", experiments.stop, current.id, key="evaluate_stop")
                return
            if current.status is not ExperimentStatus.DONE:
                widgets.button(
                    "Continue", "play_arrow", experiments.resume, current.id, key="evaluate_continue"
                )
            widgets.button(
                "Delete", "delete", delete, experiments, current, key="evaluate_delete", type="tertiary"
            )
        if current.error:
            problem(BadInput(current.error))

    draw()


LEAD = "Settings measured on questions with known answers: which is better, by how much, and how certain that is."
markup.show(markup.title("Evaluate", LEAD))
with needed:
    experiments = runtime.runs().experiments
    visitor = runtime.caller()
    found = {
        experiment.id: experiment
        for experiment in experiments.all()
        if not experiment.user or visitor.may(Action.CHANGE_EXPERIMENT, experiment.user)
    }
refusal()
if not visitor.may(Action.EVALUATE_DATA_SETS):
    st.info(sweep_form.LABELS_ALONE, icon=":material/info:")
if offered := sweep_form.data_sets(experiments):
    with st.container(border=True, key="new_experiment"):
        sweep_form.form(experiments, offered)
label_comparison.section()
undo_offer(experiments)
name = st.query_params.get("experiment", "")
if name and name not in found:
    missing("experiment", name, "Choose one of the others below." if found else "There are none yet.")
elif not found:
    page_frame.empty_state("There are no experiments yet.", "science")
if not found:
    st.stop()
opened = found.get(name or next(iter(found)))
st.session_state["chosen_experiment"] = opened.id if opened else None
# The name of a choice is all that the browser tells of it: two that are called alike could not be told apart.
labels = distinct_labels({experiment.id: label(experiment) for experiment in found.values()})
st.selectbox(
    "Experiment",
    list(found),
    key="chosen_experiment",
    index=0 if opened else None,
    format_func=labels.__getitem__,
    placeholder="Choose an experiment",
    on_change=choose,
)
if opened is None:
    st.stop()
progress(experiments, opened)
with needed:
    results = experiments.results(opened.id)
if results and results.results:
    experiment_results.show(results)
