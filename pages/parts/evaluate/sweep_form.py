"""The form of a new experiment: a data set, and the values to try of each knob."""

from typing import Any

import streamlit as st
from htpy import Element, b, dd, dl, dt, span

from core.config.knobs import Knobs
from core.config.schema import Parameter, parameters
from core.errors import BadInput
from core.evaluation.sweep import SWEPT
from core.evaluation.sweep_cost import DataSetSummary, SweepCost, sampled, sweep_cost
from core.runtime.experiments import Experiments
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import pluralize
from pages.parts import markup, runtime, widgets
from pages.parts.evaluate import data_set_form

SAMPLE = 45
"""Settings of a random sample, which is offered where there are more."""
FIRST = ("rank.strategy",)
"""The knobs of the form when it is opened."""
PROPOSED: dict[str, str] = {
    "chunk.size": "300, 500, 800",
    "chunk.overlap": "0, 10, 25",
    "rank.top_k": "4, 8, 12",
}
"""Values to begin with; those of other knobs are the default alone."""


LABELS_ALONE = (
    "On a shared server you can measure settings on passages that you have labelled on the Research page. Experiments "
    "over other data sets are started from the command line: openquery eval run."
)


def form(experiments: Experiments, offered: list[str]) -> None:
    """Draw the form over the data sets that are offered, and beside it what it will take; the button starts it."""
    left, right = st.columns([2, 1], gap="medium")
    with left, st.container(key="new_experiment"):
        with st.container(border=True, key="data_set"):
            data, summary = data_set_form.choose(experiments, offered)
        with st.container(border=True, key="knobs_to_try"):
            swept, faults = _knobs()
    with right, st.container(border=True, key="sweep_cost"):
        _before_it_starts(experiments, data, summary, swept, faults)


def _knobs() -> tuple[dict[str, dict[str, list[Any]]], tuple[str, ...]]:
    """The values to try, and what is wrong with them."""
    markup.show(markup.numbered(2, "Knobs", "Every combination of their values is measured"))
    knobs = {
        parameter.path: parameter
        for parameter in parameters()
        if parameter.group in SWEPT and not parameter.items
    }
    tried = st.multiselect(
        "Settings to try",
        list(knobs),
        default=FIRST,
        key="evaluate_knobs",
        format_func=lambda path: f"{knobs[path].title} ({path})",
        help="Every combination of the values below is measured on all questions. The others keep their defaults.",
        persist_state="session",
    )
    return _values([knobs[path] for path in tried])


def _before_it_starts(
    experiments: Experiments,
    data: str,
    summary: DataSetSummary | None,
    swept: dict[str, dict[str, list[Any]]],
    faults: tuple[str, ...],
) -> None:
    """What the sweep takes, a sample where it is large, and the button that starts it."""
    settings: tuple[Knobs, ...] = ()
    sample = 0
    try:
        settings = () if faults else experiments.settings(swept)
    except BadInput as error:
        faults = (*faults, f"{error.message} {error.hint}")
    for fault in faults:
        st.error(markdown_label(fault, 300), icon=":material/error:")
    markup.show(markup.numbered(3, "Before it starts"))
    if len(settings) > SAMPLE:
        chosen = widgets.choice(
            "Settings",
            (0, SAMPLE),
            key="evaluate_sample",
            default=0,
            format_func=lambda count: f"Random {count}" if count else f"All {len(settings):,}",
        )
        sample = int(chosen)
    if summary and settings:
        markup.show(_cost(summary, sweep_cost(summary, sampled(settings, sample or len(settings)))))
    elif not summary:
        st.caption("Waits for a data set that can be used.")
    widgets.button(
        f"Start {pluralize(sample or len(settings), 'setting')}",
        "play_arrow",
        _start,
        experiments,
        data,
        swept,
        sample,
        key="evaluate_start",
        type="primary",
        width="stretch",
        disabled=bool(faults) or summary is None,
    )


def _cost(summary: DataSetSummary, cost: SweepCost) -> Element:
    answerable = summary.questions - summary.unanswerable
    rows = [
        ("Rankings", f"{cost.rankings:,}", f"{cost.settings:,} × {answerable:,}"),
        ("Ways of chunking", f"{cost.chunkings:,}", ""),
        ("Texts to embed", f"~{cost.texts:,}", "less what is in the cache" if cost.texts else ""),
        ("Their tokens", f"~{cost.tokens:,}", ""),
        ("Reranked questions", f"{cost.reranked:,}", "a call each" if cost.reranked else ""),
        ("Memory", f"~{markup.size(cost.memory)}", ""),
    ]
    return dl(".oq-cost")[((dt[name], dd[b[figure], " ", span[note]]) for name, figure, note in rows),]


def open_experiment(name: str) -> None:
    """Show the results of this experiment."""
    st.query_params.from_dict({"view": "results", "experiment": name})
    st.session_state["evaluate_view"] = "results"


def _start(experiments: Experiments, data: str, swept: dict[str, Any], sample: int) -> None:
    try:
        with runtime.refusing:
            runtime.caller().require(data_set_form.action(data))
            open_experiment(experiments.start(data, swept, runtime.label_user(), sample=sample))
    except OSError as error:
        runtime.refuse("The experiment cannot be stored.", f"Check the data folder: {error.strerror}.")


def _values(tried: list[Parameter]) -> tuple[dict[str, dict[str, list[Any]]], tuple[str, ...]]:
    """The values of the fields, by group and name; and a message for each field that cannot be used."""
    swept: dict[str, dict[str, list[Any]]] = {}
    faults = []
    columns = st.columns(3, gap="small")
    for place, knob in enumerate(tried):
        with columns[place % 3]:
            try:
                swept.setdefault(knob.group, {})[knob.name] = _field(knob)
            except BadInput as error:
                faults.append(f"{knob.title}: {error.message} {error.hint}")
    return swept, tuple(faults)


def _field(parameter: Parameter) -> list[Any]:
    key = f"evaluate_{parameter.group}_{parameter.name}"
    choices = [True, False] if parameter.type == "boolean" else list(parameter.enum)
    if choices:
        chosen = st.multiselect(
            parameter.title, choices, default=choices, key=key, format_func=str, persist_state="session"
        )
        if not chosen:
            raise BadInput("no value is chosen.", hint="Choose one, or remove the setting.")
        return chosen
    default = getattr(getattr(Knobs(), parameter.group), parameter.name)
    text = st.text_input(
        f"{parameter.title}, separated by commas",
        PROPOSED.get(parameter.path, f"{default:g}"),
        key=key,
        max_chars=200,
        persist_state="session",
    )
    kind = int if parameter.type == "integer" else float
    try:
        values = [kind(part) for part in text.split(",") if part.strip()]
    except ValueError:
        values = []
    if not values:
        whole = "whole numbers" if parameter.type == "integer" else "numbers"
        raise BadInput(f"{text[:40]!r} is no list of {whole}.", hint=f"An example: {default:g}.")
    low, high = parameter.minimum, parameter.maximum
    for number in values:
        if low is not None and high is not None and not low <= number <= high:
            raise BadInput(f"{number:g} is out of bounds.", hint=f"Use {low:g} to {high:g}.")
    return list(dict.fromkeys(values))
