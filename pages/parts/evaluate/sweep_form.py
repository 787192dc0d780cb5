"""The form of a new experiment: data set, knob values, cost."""

import os
from typing import Any

import streamlit as st
from htpy import Element, b, div, p, span

from core.config.clusters import UNENCRYPTED, is_encrypted
from core.config.knobs import Knobs
from core.config.permissions import Action
from core.config.prices import Cost
from core.config.schema import Parameter, parameters
from core.errors import BadInput, OpenQueryError
from core.features.evaluate.services.experiments import Experiments
from core.features.evaluate.sweep import SETTINGS_LIMIT, SWEPT, combinations
from core.features.evaluate.sweep_cost import DataSetSummary, SweepCost
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import plural, pluralize
from pages.parts import markup, runtime, widgets
from pages.parts.evaluate import data_set_form

SAMPLE = 45
"""Settings in a sample, which larger sweeps offer."""
ALL, RANDOM, GRID = "all", "random", "grid"
HERE, PROCESSES, DASK = "here", "processes", "dask"
PARTS = {"chunk": "chunk", "embed": "embed", "rerank": "rerank", "rank": "rank and measure"}
LABELS_ALONE = (
    "On a shared server you can measure settings on passages that you have labelled on the Ask page. Experiments "
    "over other data sets are started from the command line: openquery eval run."
)
ROWS = ("rank.strategy", "chunk.boundary", "chunk.size", "chunk.overlap", "rank.rerank", "rank.top_k")
"""Knobs shown at first."""
ALL_CHOSEN = ("rank.strategy",)
"""Knobs with all values chosen at first."""
NO_RERANKER = "No reranking model is connected (OPENQUERY_RERANK_URL, or OPENQUERY_RERANK_MODEL=local)."

Swept = dict[str, dict[str, list[Any]]]


def form(experiments: Experiments, offered: list[str]) -> None:
    """Draw the form over the offered data sets, and its cost. The button starts the experiment."""
    left, right = st.columns([2, 1], gap="medium")
    with left, st.container(key="new_experiment"):
        with st.container(border=True, key="data_set"):
            data, summary = data_set_form.choose(experiments, offered)
        with st.container(border=True, key="knobs_to_try", gap="small"):
            swept, faults = _choose_knobs(experiments)
    with right, st.container(border=True, key="sweep_cost"):
        _before_it_starts(experiments, data, summary, swept, faults)


def _before_it_starts(
    experiments: Experiments,
    data: str,
    summary: DataSetSummary | None,
    swept: Swept,
    faults: tuple[str, ...],
) -> None:
    """Draw the sweep's cost, its sample, and the start button. A sample is offered for a large sweep."""
    markup.show(markup.numbered(3, "Before it starts"))
    settings: tuple[Knobs, ...] = ()
    way, processes, scheduler = ALL, 0, ""
    try:
        if not faults:
            way, settings = _settings(experiments, swept)
        figures = st.container()
        processes, scheduler = _where()
        if summary and settings:
            cost = experiments.cost(summary, settings, processes)
            with figures:
                markup.show(*_cost(summary, cost, factors(swept)))
    except OpenQueryError as error:
        faults = (*faults, str(error))
    for fault in faults:
        st.error(markdown_label(fault, 300), icon=":material/error:")
    if not summary:
        st.caption("Waits for a data set that can be used.")
    widgets.button(
        f"Start {pluralize(len(settings), 'setting')}",
        "play_arrow",
        _start,
        experiments,
        data,
        swept,
        {**_sample(way), "processes": processes, "scheduler": scheduler},
        key="evaluate_start",
        type="primary",
        width="stretch",
        disabled=bool(faults) or summary is None,
    )


def _settings(experiments: Experiments, swept: Swept) -> tuple[str, tuple[Knobs, ...]]:
    """Return the settings to measure, and how they are chosen.

    All are measured, or for a large sweep a random sample or a grid. Raises BadInput if
    `Experiments.settings` refuses the values.
    """
    count = combinations(swept)
    if count <= SAMPLE:
        return ALL, experiments.settings(swept)
    offered = {
        ALL: f"All {count:,}",
        RANDOM: f"Random {SAMPLE}",
        GRID: f"Grid {len(experiments.settings(swept, SAMPLE, grid=True))}",
    }
    if count > SETTINGS_LIMIT:
        del offered[ALL]
        st.caption(
            f"{count:,} settings are more than the {SETTINGS_LIMIT:,} that can be run: a sample is measured."
        )
    if st.session_state.get("evaluate_sample") not in offered:
        st.session_state["evaluate_sample"] = next(iter(offered))
    way = widgets.choice("Settings", list(offered), key="evaluate_sample", format_func=offered.__getitem__)
    return way, experiments.settings(swept, **_sample(way))


def _where() -> tuple[int, str]:
    """Return where the sweep runs: processes and Dask scheduler.

    0 processes means one per core. Only an operator may name a scheduler. An empty address means this
    machine.

    Raises:
        BadInput: while the address is missing.
    """
    several = runtime.runs().settings.workers or os.cpu_count() or 1
    offered = {HERE: "in this process"} | ({PROCESSES: f"{several} processes"} if several > 1 else {})
    if runtime.caller().may(Action.NAME_SERVERS):
        offered[DASK] = "Dask"
    where = widgets.choice(
        "Where it runs",
        list(offered),
        key="evaluate_where",
        default=PROCESSES if several > 1 else HERE,
        format_func=offered.__getitem__,
        persist_state="session",
    )
    if where != DASK:
        return (1 if where == HERE else 0), ""
    scheduler = st.text_input(
        "Address of the Dask scheduler", key="evaluate_scheduler", placeholder="tls://10.0.0.1:8786"
    ).strip()
    if not scheduler:
        raise BadInput(
            "A Dask cluster needs the address of its scheduler.", hint="Write it like tls://10.0.0.1:8786."
        )
    if not is_encrypted(scheduler):
        st.caption(markdown_label(f"{scheduler} {UNENCRYPTED}", 400))
    return 0, scheduler


def _sample(way: str) -> dict[str, Any]:
    return {"sample": 0 if way == ALL else SAMPLE, "grid": way == GRID}


def _cost(summary: DataSetSummary, cost: SweepCost, factors: str) -> list[Element]:
    answerable = summary.questions - summary.unanswerable
    low, high = (_about(seconds) for seconds in cost.bounds)
    money = "unknown" if cost.dollars is None else str(Cost(cost.dollars))
    rows = [
        ("Texts to embed", f"{cost.texts:,}", f"{cost.new:,} new" if cost.new else "all cached"),
        *([("Pairs to rerank", f"{cost.pairs:,}", "a call a question")] if cost.pairs else ()),
        *([("Model calls", f"{cost.calls:,}", "")] if cost.calls else ()),
        *([("Tokens", f"{cost.tokens:,}", "estimated")] if cost.tokens else ()),
        *([("Money", money, "")] if cost.dollars != 0 else ()),
        (
            "Memory",
            markup.size(cost.memory) if cost.memory >= 1e6 else "under 1 MB",
            f"of {markup.size(cost.machine_memory)}",
        ),
    ]
    largest = max(cost.seconds, key=lambda part: cost.seconds[part])
    total = sum(cost.seconds.values()) or 1
    return [
        p(".oq-product")[
            b[f"{cost.settings:,}"],
            f" {plural(cost.settings, 'setting')} × ",
            b[f"{answerable:,}"],
            f" {plural(answerable, 'question')} = ",
            b[f"{cost.rankings:,}"],
            f" {plural(cost.rankings, 'ranking')}",
        ],
        p(".oq-note")[", ".join(filter(None, (factors, pluralize(cost.chunkings, "way") + " of chunking")))],
        div(".oq-cost")[
            (
                div[span[name], b[figure], span(class_={"new": "new" in note})[note]]
                for name, figure, note in rows
            ),
            div(".time")[span["Time, here"], b[_about(total)], span[f"{low} to {high}"]],
        ],
        div(".oq-shares", role="img", aria_label=f"Most of the time: {PARTS[largest]}")[
            (
                span(class_=part, style=f"--share:{seconds / total:.4f}")
                for part, seconds in cost.seconds.items()
            )
        ],
        p(".oq-note")[
            ", ".join(
                f"{PARTS[part]} {_about(seconds)}" for part, seconds in cost.seconds.items() if seconds >= 0.5
            )
        ],
    ]


def _about(seconds: float) -> str:
    """Seconds as a person would say them: `6 min`, `48 s`."""
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(seconds, 1):.0f} s"


def open_experiment(name: str) -> None:
    """Show the results of this experiment."""
    st.query_params.from_dict({"view": "results", "experiment": name})
    st.session_state["evaluate_view"] = "results"


def _start(experiments: Experiments, data: str, swept: Swept, options: dict[str, Any]) -> None:
    with runtime.errors_after_rerun:
        runtime.caller().require(data_set_form.action(data))
        if options["scheduler"]:
            runtime.caller().require(Action.NAME_SERVERS)
        open_experiment(experiments.start(data, swept, runtime.label_user(), **options))


def _choose_knobs(experiments: Experiments) -> tuple[Swept, tuple[str, ...]]:
    """Draw the rows, and return the chosen values and faults.

    Values are by group and name. Faults concern typed values.
    """
    swept: Swept = {}
    faults: list[str] = []
    markup.show(markup.numbered(2, "Knobs", "any of them may take several values; ◆ is the default"))
    rows = [
        row
        for row in parameters()
        if row.group in SWEPT and (row.enum or row.type != "string") and not row.items
    ]
    for path in ROWS:
        _row(experiments, next(row for row in rows if row.path == path), swept, faults)
    with st.expander("Text around, weights, diversity and more: as in the defaults", key="more_knobs"):
        for parameter in rows:
            if parameter.path not in ROWS:
                _row(experiments, parameter, swept, faults)
    return swept, tuple(faults)


def _row(experiments: Experiments, knob: Parameter, swept: Swept, faults: list[str]) -> None:
    """Draw a knob, and add its values to `swept` unless only the default is chosen."""
    title, numbers = knob.title, knob.control.sweep or (knob.default,)
    key = f"evaluate_{knob.group}_{knob.name}"
    if knob.path == "rank.rerank" and not experiments.has_reranker:
        markup.show(p(".oq-unavailable")[span[title], span[NO_RERANKER]])
        return
    values: list[Any] = [False, True] if knob.type == "boolean" else list(knob.enum or numbers)
    with st.container(key=f"{key}_row", horizontal=True, vertical_alignment="center", gap="small"):
        chosen = st.pills(
            title,
            values,
            selection_mode="multi",
            default=values if knob.path in ALL_CHOSEN else [knob.default],
            key=key,
            format_func=lambda value: f"{'◆ ' * (value == knob.default)}{knob.value_text(value)}",
            help=knob.description,
            persist_state="session",
        )
        if knob.type in ("integer", "number"):
            typed = st.text_input(
                f"Other values: {title}",
                key=f"{key}_other",
                placeholder="add values: 1, 2",
                max_chars=200,
                width=130,
                label_visibility="collapsed",
                persist_state="session",
            )
            try:
                chosen = [*chosen, *_numbers(knob, typed)]
            except BadInput as error:
                faults.append(f"{title}: {error}")
        chosen = list(dict.fromkeys(chosen)) or [knob.default]
        markup.show(span(".oq-times")[f"× {len(chosen)}" if len(chosen) > 1 else "1 value"], width="content")
    if chosen != [knob.default]:
        swept.setdefault(knob.group, {})[knob.name] = sorted(chosen) if knob.type != "string" else chosen


def _numbers(knob: Parameter, text: str) -> list[float]:
    """The numbers that were typed, separated by commas.

    Raises:
        BadInput: when something else was typed, or a number is out of bounds.
    """
    kind = int if knob.type == "integer" else float
    try:
        values = [kind(part) for part in text.split(",") if part.strip()]
    except ValueError:
        whole = "whole numbers" if kind is int else "numbers"
        raise BadInput(
            f"{text[:40]!r} is no list of {whole}.", hint=f"An example: {knob.default:g}."
        ) from None
    low, high = knob.minimum, knob.maximum
    for number in values:
        if low is not None and high is not None and not low <= number <= high:
            raise BadInput(f"{number:g} is out of bounds.", hint=f"Use {low:g} to {high:g}.")
    return values


def factors(swept: Swept) -> str:
    """Return the number of values per knob as `3 × 5`.

    Returns "" unless several knobs have several values.
    """
    counts = [len(values) for group in swept.values() for values in group.values() if len(values) > 1]
    return " × ".join(map(str, counts)) if len(counts) > 1 else ""
