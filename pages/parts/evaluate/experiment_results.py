"""The results of an experiment: conclusion, settings, knobs, costs, questions."""

from collections.abc import Collection
from functools import partial

import streamlit as st
from htpy import Node, b, div, p, span, u

from core.errors import BadInput
from core.features.evaluate.conclusion import Conclusion, conclude, part_conclusion
from core.features.evaluate.experiment_state import Experiment
from core.features.evaluate.metrics.metric_help import HELP, with_unit
from core.features.evaluate.metrics.retrieval_metrics import CONTEXT_TOKENS
from core.features.evaluate.results import Results, SettingTest
from core.features.evaluate.setting_filter import filtered
from core.features.evaluate.setting_table import SettingTable, knob_effects, setting_table
from core.features.evaluate.statistics.significance import Interval, p_number
from core.features.evaluate.sweep import DEFAULTS, column, knobs_of, value_text, words
from core.features.evaluate.table_export import FORMATS, table_file
from core.features.share.answer_export import export_name
from core.text.display import metric_text
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import pluralize
from pages.parts import address, browser, markup, page_frame, runtime, widgets
from pages.parts.evaluate import (
    compared_settings,
    experiment_charts,
    parallel_axes,
    question_detail,
    question_list,
)
from pages.parts.evaluate.settings_table import interval_bar, settings_table
from pages.parts.sidebar import controls

ROWS, MORE_ROWS = 16, 200
"""Rows of the table at first, and after a click on more."""
SETTING = "evaluate_setting"
"""Session key of the open setting."""
PARTS = {"settings": "Settings", "knobs": "Knobs", "questions": "Questions"}
"""Parts of the results, with their titles."""


def show(experiment: Experiment, results: Results) -> None:
    """Draw the results measured until now."""
    question_detail.open_stored()
    if st.session_state.pop("evaluate_go", False):
        st.switch_page(runtime.RESEARCH)
    metrics = [name for name in results.metrics if name != CONTEXT_TOKENS]
    if not metrics:
        st.warning("No question could be measured.", icon=":material/warning:")
        _failed(results)
        return
    verdict = st.container(border=True, key="evaluate_verdict")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="evaluate_choices"):
        counts = {"settings": len(results.results), "questions": len(results.questions)}
        titles = {
            name: f"{title} {counts[name]:,}" if name in counts else title for name, title in PARTS.items()
        }
        part = address.view_choice(titles, key="evaluate_part", name="part")
        metric, baseline = _choices(results, metrics)
        controls_line = st.container(width="content")
    try:
        settings = setting_table(results, metric, baseline)
        conclusion = part_conclusion(experiment, baseline) or conclude(results, metric, baseline)
    except BadInput as error:
        st.caption(markdown_label(str(error), 300))
        _failed(results)
        return
    chosen = parallel_axes.chosen_settings(results, metric)
    shown = filtered(settings, chosen)
    with controls_line:
        if conclusion.is_verdict:
            _export(shown, results.data)
    with verdict:
        _conclusion(conclusion)
    opened, picked = _opened(settings, conclusion), compared_settings.picked(results)
    if part == "settings":
        parallel_axes.filter_line(results, metric, len(chosen))
        left, right = st.columns([2.3, 1], gap="medium")
        with left:
            _settings(shown, opened, picked, tested=conclusion.is_verdict)
            compared_settings.compared_settings(results, metric, baseline)
        with right:
            _charts(results.of_settings(chosen), shown, tested=conclusion.is_verdict)
    elif part == "knobs":
        parallel_axes.parallel_axes(results, metric, baseline, pick)
        parallel_axes.filter_line(results, metric, len(chosen))
        _settings(shown, opened, picked, tested=conclusion.is_verdict)
    elif not conclusion.is_verdict:
        st.caption("Questions are compared with the baseline when every setting is measured.")
    elif opened == settings.baseline:
        st.caption("Open a row under Settings to compare it with the baseline, question by question.")
    else:
        compared = question_detail.Compared(
            experiment=experiment.id, results=results, metric=metric, baseline=baseline, setting=opened
        )
        with st.container(key="evaluate_part_questions"):
            question_list.questions(compared)
    _failed(results)


def pick(name: str) -> None:
    """Open the setting of a clicked row or point."""
    st.session_state[SETTING] = name
    st.query_params["setting"] = name


def _choices(results: Results, metrics: list[str]) -> tuple[str, str]:
    names = list(results.by_setting)
    measured = [result.setting for result in results.results if result.values] or names
    first = DEFAULTS if DEFAULTS in measured else measured[0]
    address.choice("metric", metrics, "evaluate_metric", metrics[0])
    address.choice("baseline", names, "evaluate_baseline", first)
    metric = st.selectbox(
        "Metric",
        metrics,
        key="evaluate_metric",
        format_func=with_unit,
        help=f"{HELP.get(st.session_state['evaluate_metric'], '')} Mean over the questions that have an answer in the data set; 1 is best.",
        on_change=address.keep_choice,
        args=("metric", "evaluate_metric"),
        width=190,
    )
    baseline = st.selectbox(
        "Baseline",
        names,
        key="evaluate_baseline",
        format_func=words,
        help="The setting that others are compared with.",
        on_change=address.keep_choice,
        args=("baseline", "evaluate_baseline"),
        width=320,
    )
    return metric, baseline


def _conclusion(conclusion: Conclusion) -> None:
    """Draw the conclusion, its evidence and its actions."""
    left, right = st.columns([1.5, 1], gap="medium", vertical_alignment="center")
    with left:
        subject = f"{conclusion.subject[:1].upper()}{conclusion.subject[1:]}"
        before, marked, after = conclusion.predicate.partition("not confirmed")
        markup.show(
            p(".oq-conclusion")[b[subject], " ", before, marked and u[marked], after], _advice(conclusion)
        )
        if conclusion.is_verdict:
            widgets.button(
                "Use these settings",
                "tune",
                _use,
                conclusion.setting,
                key="evaluate_use",
                type="primary",
                help="Sets the controls of the Research page.",
            )
    with right:
        if conclusion.whole:
            markup.show(_evidence(conclusion, conclusion.whole))


def _advice(conclusion: Conclusion) -> Node:
    confirmation = conclusion.confirmation
    if conclusion.note:
        return p[conclusion.note]
    if confirmation is None or not (more := confirmation.more_questions):
        return None
    return p[
        "If the difference is as large as on the held-out half, about ",
        b[pluralize(more, "more question")],
        " would confirm it.",
    ]


def _evidence(conclusion: Conclusion, whole: SettingTest) -> Node:
    """Return the difference on all questions, and on both halves.

    One half chose the setting, the other confirms it. All share one axis.
    """
    tests = [("all", whole)]
    confirmation = conclusion.confirmation
    if confirmation and not conclusion.note:
        tests += [("chosen on", confirmation.chosen_on), ("held out", confirmation.held_out)]
    low = min(0.0, *(test.difference.low for _, test in tests))
    high = max(0.0, *(test.difference.high for _, test in tests))

    def place(value: float) -> str:
        return f"{(value - low) / ((high - low) or 1):.2%}"

    def line(name: str, test: SettingTest) -> Node:
        interval: Interval = test.difference
        return [
            span[f"{name} {test.questions}"],
            span(".plot")[interval_bar(place, interval, sure=interval.low > 0)],
            b(".n")[metric_text(interval.mean, signed=True)],
            span(".n.quiet")[p_number(test.p_value)],
        ]

    return div(".oq-evidence", style=f"--base:{place(0.0)}")[(line(name, test) for name, test in tests)]


def _export(settings: SettingTable, data: str) -> None:
    """The menu of files of the table. Closed, it is not sent."""
    menu = st.popover("Export", icon=":material/download:", key="evaluate_export", on_change="rerun")
    if not menu.open:
        return
    with menu:
        for ending, title in FORMATS.items():
            widgets.download_button(
                title,
                partial(table_file, settings, ending),
                export_name(f"{data} {settings.metric}", ending),
                "application/octet-stream",
                key=f"evaluate_export_{ending[1:]}",
                type="tertiary",
            )
        browser.save_charts(export_name(f"{data} {settings.metric}", ""))


def _opened(settings: SettingTable, conclusion: Conclusion) -> str:
    """Return the open row.

    It is the row of the address, else the clicked row, else the conclusion's.
    """
    by_setting = {name: row.name for row in settings.rows for name in row.settings}
    for name in (st.query_params.get("setting"), st.session_state.get(SETTING), conclusion.setting):
        if name in by_setting:
            return by_setting[name]
    return settings.baseline


def _settings(settings: SettingTable, opened: str, picked: Collection[str], *, tested: bool) -> None:
    note = "best first; bars are the 95 % interval of the difference to the baseline, "
    note += (
        "a filled dot outlasts the correction"
        if tested
        else "p and the correction come with the last setting"
    )
    markup.show(markup.kicker("Settings", note))
    most = MORE_ROWS if st.session_state.get("evaluate_all_rows") else ROWS
    with st.container(key="evaluate_settings"):
        markup.show(settings_table(settings, opened, most, picked, tested=tested))
    shown, total = min(most + 1, len(settings.rows)), len(settings.rows)
    fixed = ", ".join(f"{column(path)} {value_text(value)}" for path, value in settings.fixed.items())
    markup.show(
        div(".oq-notes")[
            span[f"{shown:,} of {pluralize(total, 'row')}; a = b: same result for every question"],
            bool(fixed) and span[f"the same in all: {fixed}"],
            tested
            and span[f"p: paired randomization, Holm for {pluralize(settings.comparisons, 'comparison')}"],
        ]
    )
    if total > ROWS + 1:
        st.toggle(f"Show up to {MORE_ROWS} rows", key="evaluate_all_rows")


def _charts(results: Results, settings: SettingTable, *, tested: bool) -> None:
    dark = page_frame.dark()
    if tested and (effects := knob_effects(results, settings.metric)):
        note = f"{with_unit(settings.metric)}, mean over the other knobs, 95 %; share of the spread"
        markup.show(markup.kicker("Each knob", note))
        widgets.chart(
            experiment_charts.effects_chart(effects, settings.metric, dark=dark),
            key="evaluate_effects",
            alt=f"{settings.metric} by the values of each knob",
        )
    markup.show(markup.kicker("Quality for its cost", "no other setting reaches as much for less"))
    cost = widgets.choice("Cost", list(experiment_charts.COSTS), key="evaluate_cost", default="tokens")
    with st.container(key="clickable_costs"):
        widgets.chart(
            experiment_charts.cost_chart(settings, cost, dark=dark),
            key="evaluate_costs",
            alt=f"{settings.metric} against {experiment_charts.COST_TITLES[cost]}, with the Pareto front",
        )


def _use(setting: str) -> None:
    """Set the Research page's controls, then go there."""
    controls.set_controls(knobs_of(setting), *controls.TUNED)
    st.session_state["evaluate_go"] = True


def _failed(results: Results) -> None:
    without = [result for result in results.results if result.failed and not result.values]
    failed = {name: why for result in results.results for name, why in result.failed.items()}
    if without:
        why = next(iter(without[0].failed.values()))
        st.warning(
            f"{pluralize(len(without), 'setting')} failed and {'is' if len(without) == 1 else 'are'} not compared: "
            f"{markdown_label('; '.join(words(result.setting) for result in without[:10]), 300)}. {markdown_label(why, 300)}",
            icon=":material/warning:",
        )
    elif failed:
        why = next(iter(failed.values()))
        st.warning(
            f"{pluralize(len(failed), 'question')} failed and {'is' if len(failed) == 1 else 'are'} in no mean: "
            f"{markdown_label(why, 300)}",
            icon=":material/warning:",
        )
