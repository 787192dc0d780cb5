"""A table of experiments with their findings. A click opens an experiment.

An unfinished experiment has its status instead of a best setting.
"""

from collections.abc import Callable, Collection, Sequence

import streamlit as st
from htpy import Element, b, div, p, span, td, tr

from core.errors import BadInput
from core.features.evaluate.conclusion import conclude
from core.features.evaluate.experiment_state import Experiment
from core.features.evaluate.metrics.metric_help import with_unit
from core.features.evaluate.metrics.retrieval_metrics import CONTEXT_TOKENS
from core.features.evaluate.results import Results
from core.features.evaluate.services.experiments import Experiments
from core.features.evaluate.sweep import DEFAULTS, words
from core.runtime.event_loop import TaskStatus
from core.text.display import duration, embedder_name, metric_text
from core.text.sanitize import pluralize
from pages.parts import browser, markup, runtime
from pages.parts.evaluate.settings_table import pick_box
from pages.parts.problems import problem
from pages.parts.serving.streamlit_patches import rerun_fragment

CONCLUDED = 20
"""The newest experiments, whose conclusions are drawn."""


def experiments_table(
    experiments: Experiments, listed: Sequence[Experiment], opened: str = "", together: Collection[str] = ()
) -> Element:
    """Return the table of experiments, newest first.

    The name of each is a link that opens it. With an `opened` experiment, a box on every other row opens both
    together. `together` are the ids already opened so.
    """
    headings = (
        *(("with",) if opened else ()),
        "name",
        "data set",
        "questions",
        "settings",
        "embedder",
        "best",
        "metric",
        "Δ",
        "held-out half",
        "started",
    )
    rows = (
        _row(experiments, experiment, (opened, *together), concluded=place < CONCLUDED)
        for place, experiment in enumerate(listed)
    )
    return markup.data_table("Experiments", headings, rows, "oq-settings oq-experiments")


def _row(
    experiments: Experiments, experiment: Experiment, opened: Sequence[str], *, concluded: bool
) -> Element:
    results, is_done = None, experiment.status is TaskStatus.DONE
    try:
        results = experiments.results(experiment.id) if concluded and is_done else None
        best, metric, difference, held_out = _found(results)
    except BadInput:
        best, metric, difference, held_out = "damaged results", "", "", ""
    count = f"{experiment.settings:,}" if is_done else f"{experiment.done:,} of {experiment.settings:,}"
    is_opened = experiment.id == opened[0]
    box = pick_box("with", experiment.id, experiment.id in opened, f"open {experiment.name} as well")
    return tr(class_={"on": is_opened})[
        bool(opened[0]) and td[not is_opened and box],
        td[markup.pick_link("experiment", experiment.id, title=experiment.note or None)[experiment.name]],
        td[experiment.data],
        td(".n")[f"{len(results.questions):,}" if results else ""],
        td(".n")[count],
        td[embedder_name(results.embedder) if results else ""],
        td[b[best]],
        td[with_unit(metric)],
        td(".n")[difference],
        td[span(".oq-tag")[held_out if is_done else str(experiment.status)]],
        td[browser.local_time(experiment.started)],
    ]


def _found(results: Results | None) -> tuple[str, str, str, str]:
    """Return the best setting, metric, difference and held-out result. The difference is to the defaults."""
    metrics = [name for name in results.metrics if name != CONTEXT_TOKENS] if results else []
    if results is None or not metrics:
        return "", "", "", ""
    baseline = DEFAULTS if DEFAULTS in results.by_setting else results.results[0].setting
    conclusion = conclude(results, metrics[0], baseline)
    if conclusion.whole is None:
        return conclusion.subject.lower(), metrics[0], "", "no difference"
    confirmation = conclusion.confirmation
    held_out = (
        "no difference"
        if not conclusion.is_difference
        else "too few"
        if confirmation is None
        else "confirmed"
        if confirmation.confirmed
        else "not confirmed"
    )
    return (
        words(conclusion.setting),
        metrics[0],
        metric_text(conclusion.whole.difference.mean, signed=True),
        held_out,
    )


def progress(
    experiments: Experiments, experiment: Experiment, drawn: Callable[[], int], results: str
) -> None:
    """Draw the progress of the experiment, and why it ended early.

    When more settings are measured than are `drawn`, the fragment with the key `results` is drawn again, and
    no other part of the page. A change of the status redraws the page.
    """

    # A stopped experiment may be continued in another tab.
    every = 0.5 if experiment.live else 2.0
    is_done = experiment.status is TaskStatus.DONE

    @st.fragment(run_every=None if is_done else runtime.refresh_every(every), key="evaluate_progress")
    def draw() -> None:
        current = experiments.get(experiment.id)
        if current is None or current.status != experiment.status:
            st.rerun()
        if current.status is not TaskStatus.DONE:
            markup.show(_bar(current))
        if current.error:
            problem(BadInput(current.error))
        if experiment.live and current.done != drawn():
            rerun_fragment(results)

    draw()


def _bar(experiment: Experiment) -> Element:
    """Return the progress bar with its figures."""
    state = experiment.progress
    share = experiment.done / max(experiment.settings, 1)
    facts = [markup.fact(f"{experiment.done:,}", f"of {pluralize(experiment.settings, 'setting')}")]
    end = str(experiment.status)
    if state and state.total:
        share = state.questions / state.total
        facts.append(markup.fact(f"{state.questions:,}", f"of {pluralize(state.total, 'question')}"))
        facts.append(markup.count(state.texts, "text", " embedded"))
        if state.rate:
            facts.append(markup.count(round(state.rate), "question", "/s"))
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
