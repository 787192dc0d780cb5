"""Every experiment as a row, with what it found; a click opens it."""

from collections.abc import Collection, Sequence

from htpy import Element, a, b, span, table, tbody, td, th, thead, tr

from core.errors import BadInput
from core.evaluation.conclusion import conclude
from core.evaluation.experiment_state import Experiment, ExperimentStatus
from core.evaluation.metrics.retrieval_metrics import CONTEXT_TOKENS
from core.evaluation.results import Results
from core.evaluation.sweep import DEFAULTS
from core.runtime.experiments import Experiments
from core.text.display import embedder_name, metric_text
from pages.parts import browser, markup
from pages.parts.evaluate.settings_table import pick_box

CONCLUDED = 20
"""The newest experiments, whose conclusions are drawn."""


def experiments_table(
    experiments: Experiments, listed: Sequence[Experiment], opened: str = "", together: Collection[str] = ()
) -> Element:
    """The experiments, newest first; the name of each is a link that opens it. While one is `opened`, a box before each
    of the others opens it together with that one; `together` are the ids of those that are."""
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
    return markup.region("oq-settings oq-experiments", "Experiments")[
        table[
            thead[tr[(th(scope="col")[heading] for heading in headings)]],
            tbody[
                (
                    _row(experiments, experiment, (opened, *together), concluded=place < CONCLUDED)
                    for place, experiment in enumerate(listed)
                )
            ],
        ]
    ]


def _row(
    experiments: Experiments, experiment: Experiment, opened: Sequence[str], *, concluded: bool
) -> Element:
    results = None
    try:
        results = experiments.results(experiment.id) if concluded and not experiment.live else None
        best, metric, difference, held_out = _found(results)
    except BadInput:
        best, metric, difference, held_out = "damaged results", "", "", ""
    is_done = experiment.status is ExperimentStatus.DONE
    count = f"{experiment.settings:,}" if is_done else f"{experiment.done:,} of {experiment.settings:,}"
    is_opened = experiment.id == opened[0]
    box = pick_box(f"with/{experiment.id}", experiment.id in opened, f"open {experiment.name} as well")
    return tr(class_={"on": is_opened})[
        bool(opened[0]) and td[not is_opened and box],
        td[a(href=f"#pick-experiment/{experiment.id}", title=experiment.note or None)[experiment.name]],
        td[experiment.data],
        td(".n")[f"{len(results.questions):,}" if results else ""],
        td(".n")[count],
        td[embedder_name(results.embedder) if results else ""],
        td[b[best]],
        td[metric],
        td(".n")[difference],
        td[span(".oq-tag")[held_out if is_done else str(experiment.status)]],
        td[browser.local_time(experiment.started)],
    ]


def _found(results: Results | None) -> tuple[str, str, str, str]:
    """The best setting in words, the metric, the difference to the defaults, and what the held-out half says."""
    metrics = [name for name in results.metrics if name != CONTEXT_TOKENS] if results else []
    if results is None or not metrics:
        return "", "", "", ""
    baseline = DEFAULTS if DEFAULTS in results.by_setting else results.results[0].setting
    conclusion = conclude(results, metrics[0], baseline)
    if conclusion.whole is None:
        return conclusion.subject.lower(), metrics[0], "", "no difference"
    confirmation = conclusion.confirmation
    held_out = (
        "too few" if confirmation is None else "confirmed" if confirmation.confirmed else "not confirmed"
    )
    return (
        conclusion.subject,
        metrics[0],
        metric_text(conclusion.whole.difference.mean, signed=True),
        held_out,
    )
