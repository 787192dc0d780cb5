"""An experiment under way: how far it is, and results that wait until they are asked for, so that nothing moves."""

import streamlit as st
from htpy import Element, b, div, p, span

from core.errors import BadInput
from core.evaluation.experiment_state import Experiment, ExperimentStatus
from core.evaluation.results import Results
from core.runtime.experiments import Experiments
from core.text.display import duration
from core.text.sanitize import pluralize
from pages.parts import markup, runtime, widgets
from pages.parts.problems import problem

HELD = "held_results"
"""In the session state: the experiment whose results are shown, and how many of its settings are; None: all of them."""


def progress(experiments: Experiments, experiment: Experiment) -> None:
    """How far the experiment is, redrawn while it is under way; why it ended before its end; and, where more settings
    are measured than are shown, a button that shows them."""

    # One that has stopped may be continued in another tab.
    every = 0.5 if experiment.live else 2.0
    is_done = experiment.status is ExperimentStatus.DONE

    @st.fragment(run_every=None if is_done else runtime.refresh_every(every), key="evaluate_progress")
    def draw() -> None:
        current = experiments.get(experiment.id)
        if current is None or current.status != experiment.status:
            st.rerun()
        if current.status is not ExperimentStatus.DONE:
            markup.show(_bar(current))
        if current.error:
            problem(BadInput(current.error))
        more = current.done - shown_settings(current)
        if more > 0 and widgets.button(f"Show {more:,} new", "arrow_upward", key="evaluate_show"):
            _show(current.id, current.done)
            st.rerun()

    draw()


def shown_settings(experiment: Experiment) -> int:
    """How many settings of the experiment are shown. Those that there are when it is opened are; of one that ends while
    none is, all are."""
    name, count = st.session_state.get(HELD, ("", 0))
    if name != experiment.id or (count == 0 and not experiment.live):
        count = experiment.done
        _show(experiment.id, count)
    return int(count)


def held(experiment: Experiment, results: Results | None) -> Results | None:
    """The results that are shown: others would move what is read, and wait."""
    count = shown_settings(experiment)
    if results is None or count >= len(results.results):
        return results
    return results.of_settings(tuple(result.setting for result in results.results[:count]))


def _show(name: str, count: int) -> None:
    st.session_state[HELD] = (name, count)


def _bar(experiment: Experiment) -> Element:
    """The share that is measured, and the figures of what is under way."""
    state = experiment.progress
    share = experiment.done / max(experiment.settings, 1)
    facts = [markup.fact(f"{experiment.done:,}", f"of {pluralize(experiment.settings, 'setting')}")]
    end = str(experiment.status)
    if state and state.total:
        share = state.questions / state.total
        facts.append(markup.fact(f"{state.questions:,}", f"of {state.total:,} questions"))
        facts.append(markup.fact(f"{state.texts:,}", "texts embedded"))
        if state.rate:
            facts.append(markup.fact(f"{state.rate:,.0f}", "questions/s"))
        end = str(state.phase)
        if state.seconds_left is not None:
            end += f", about {duration(state.seconds_left)} left"
    waits = _retries(state.retries, state.waiting) if state and state.retries else None
    return div(".oq-running")[
        b(".share")[f"{share:.0%}"],
        div[markup.meter(share), markup.facts(*facts)],
        span(".end")[end],
        waits,
    ]


def _retries(count: int, waiting: str) -> Element:
    times = f"{pluralize(count, 'call')} made again, none is lost."
    return p(".oq-note")[markup.icon("hourglass_top"), span[b[waiting and f"{waiting}. "], times]]
