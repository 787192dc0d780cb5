"""Picked settings of an experiment compared with the baseline.

The knobs, metrics and questions are listed.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import streamlit as st
from htpy import Element, Node, b, span, td, th, tr

from core.config.knob_changes import knob_values
from core.config.knobs import Knobs
from core.features.evaluate.metrics.metric_help import with_unit
from core.features.evaluate.metrics.retrieval_metrics import CONTEXT_TOKENS
from core.features.evaluate.results import Results
from core.features.evaluate.sweep import column, value_text, values_of, words
from core.text.display import metric_text
from core.text.sanitize import one_line, pluralize
from pages.parts import markup, widgets

PICKED = "picked"
"""Address parameter, repeated for each picked setting."""
MOST = 4
"""The most settings that are picked."""
QUESTIONS = 25
"""Most questions to list, largest differences first."""


def picked(results: Results) -> tuple[str, ...]:
    """The names of the picked settings of the address."""
    names = dict.fromkeys(st.query_params.get_all(PICKED))
    return tuple(name for name in names if name in results.by_setting)[:MOST]


def compared_settings(results: Results, metric: str, baseline: str) -> None:
    """Draw the baseline and the picked settings side by side."""
    names = tuple(name for name in picked(results) if name != baseline)
    if not names:
        return
    with st.container(border=True, key="evaluate_compared"):
        with st.container(horizontal=True, vertical_alignment="center"):
            markup.show(
                markup.section_heading("Compared", f"{pluralize(len(names), 'setting')} beside the baseline")
            )
            widgets.button(
                "Clear", "close", st.query_params.pop, PICKED, None, key="evaluate_unpick", type="tertiary"
            )
        left, right = st.columns([1, 1.15], gap="medium")
        with left:
            markup.show(_figures(results, metric, (baseline, *names)))
        with right:
            markup.show(_questions(results, metric, (baseline, *names)))


def _head(first: str, names: Sequence[str]) -> Iterator[str | Element]:
    """Yield a lettered column heading for each setting. The rows of knobs explain the letters."""
    yield first
    for place, name in enumerate(names):
        letter = chr(64 + place) if place else "baseline"
        yield th(".n", scope="col", title=words(name))[span(class_=["oq-tag", {"base": not place}])[letter]]


def _figures(results: Results, metric: str, names: Sequence[str]) -> Element:
    """Return a table of differing knobs, all metrics and costs.

    Every metric has its difference to the baseline.
    """
    defaults, knobs = knob_values(Knobs()), [values_of(name) for name in names]
    differing = [path for path in defaults if len({values[path] for values in knobs}) > 1]
    measured = [results.setting(name) for name in names]
    own_metrics = [metric, *(name for name in results.metrics if name not in (metric, CONTEXT_TOKENS))]
    rows: list[tuple[str, list[Node]]] = [
        (
            column(path),
            [
                b[value_text(path, values[path])]
                if values[path] != defaults[path]
                else value_text(path, values[path])
                for values in knobs
            ],
        )
        for path in differing
    ]
    for name in own_metrics:
        known = results.with_metric(name).by_setting
        others = [other for other in names[1:] if other in known]
        compared = results.compare(names[0], name, others=others) if others and names[0] in known else ()
        tests = {test.setting: test for test in compared}
        cells: list[Node] = []
        for result in measured:
            mean, test = results.mean(result, name), tests.get(result.setting)
            interval = (
                f"{metric_text(test.difference.low, signed=True)} to {metric_text(test.difference.high, signed=True)}"
                if test
                else None
            )
            cells.append(
                [
                    "" if mean is None else metric_text(mean),
                    span(".delta", title=interval)[metric_text(test.difference.mean, signed=True)]
                    if test
                    else "",
                ]
            )
        rows.append((name, cells))
    tokens = [results.mean(result, CONTEXT_TOKENS) for result in measured]
    rows.append(("tokens", ["" if figure is None else f"{figure:,.0f}" for figure in tokens]))
    rows.append(("ms", [f"{1000 * result.seconds_a_question:.2g}" for result in measured]))
    return markup.data_table(
        "Knobs and figures of the compared settings",
        _head("knob or figure", names),
        (tr[th(scope="row")[title], (td(".n")[cell] for cell in cells)] for title, cells in rows),
        "oq-settings oq-lined-up",
    )


def _questions(results: Results, metric: str, names: Sequence[str]) -> Element:
    """Return the metric of the questions that differ most between settings."""
    matrix = results.matrix(metric)
    values = matrix.values[[results.place(name) for name in names]]
    spread = np.nanmax(values, axis=0, initial=0.0) - np.nanmin(values, axis=0, initial=1.0)
    order = [place for place in np.argsort(-spread, kind="stable").tolist() if spread[place] > 0][:QUESTIONS]

    def row(place: int) -> Element:
        question, own = matrix.questions[place], values[:, place]
        best = np.nanmax(own)
        link = markup.pick_link("question", question)[one_line(results.questions[question], 90)]
        cells = ("" if np.isnan(figure) else metric_text(figure) for figure in own.tolist())
        return tr[
            th(scope="row")[link],
            (
                td(".n")[b[text] if figure == best else text]
                for text, figure in zip(cells, own.tolist(), strict=True)
            ),
        ]

    head = _head(f"{with_unit(metric)}, the questions that differ most", names)
    label = "Questions of the compared settings"
    return markup.data_table(label, head, map(row, order), "oq-settings oq-lined-up")
