"""The knobs of a new experiment, as rows of value chips. Other values can be typed."""

from typing import Any

import streamlit as st
from htpy import p, span

from core.config.schema import Parameter, parameters
from core.errors import BadInput
from core.features.evaluate.services.experiments import Experiments
from core.features.evaluate.sweep import SWEPT
from pages.parts import markup

ROWS = ("rank.strategy", "chunk.boundary", "chunk.size", "chunk.overlap", "rank.rerank", "rank.top_k")
"""Knobs shown at first."""
ALL_CHOSEN = ("rank.strategy",)
"""Knobs with all values chosen at first."""
NO_RERANKER = "No reranking model is connected (OPENQUERY_RERANK_URL, or OPENQUERY_RERANK_MODEL=local)."

Swept = dict[str, dict[str, list[Any]]]


def choose(experiments: Experiments) -> tuple[Swept, tuple[str, ...]]:
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
