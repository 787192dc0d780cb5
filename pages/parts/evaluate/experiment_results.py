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
from core.features.evaluate.setting_table import (
    FORMATS,
    SettingTable,
    knob_effects,
    setting_table,
    table_file,
)
from core.features.evaluate.statistics.significance import Interval, p_number
from core.features.evaluate.sweep import DEFAULTS, column, knobs_of, value_text, words
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
from pages.parts.evaluate.settings_table import FIGURES, interval_bar, settings_table
from pages.parts.sidebar import controls

ROWS, MORE_ROWS = 16, 200
"""Rows of the table at first, and after a click on more."""
SETTING, COLUMNS = "evaluate_setting", "evaluate_columns"
"""Session keys: the open setting, and the columns of figures that were chosen."""
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
        st.space("stretch")
        metric, baseline = _choices(results, metrics)
        menus = st.container(horizontal=True, width="content", gap="small", key="evaluate_menus")
    try:
        settings = setting_table(results, metric, baseline)
        conclusion = part_conclusion(experiment, baseline) or conclude(results, metric, baseline)
    except BadInput as error:
        st.caption(markdown_label(str(error), 300))
        _failed(results)
        return
    chosen = parallel_axes.chosen_settings(results, metric)
    shown = filtered(settings, chosen)
    with menus:
        if part != "questions":
            parallel_axes.filter_menu(results, metric)
            _columns()
        _export(shown, results.data, enabled=conclusion.is_verdict)
    with verdict:
        _conclusion(conclusion)
    opened = _opened(settings, conclusion)
    if part != "questions":
        parallel_axes.range_line(results, metric, len(chosen))
    picked = compared_settings.picked(results)
    if part == "settings":
        with st.container(key="evaluate_part_settings"):
            left, right = st.columns([2.3, 1], gap="medium")
        with left:
            planned = experiment.settings if experiment.live else 0
            _settings(shown, opened, picked, tested=conclusion.is_verdict, planned=planned)
            compared_settings.compared_settings(results, metric, baseline)
        with right:
            _charts(results.of_settings(chosen), shown, tested=conclusion.is_verdict)
    elif part == "knobs":
        parallel_axes.parallel_axes(results, metric, baseline, pick)
        _settings(shown, opened, picked, tested=conclusion.is_verdict)
    else:
        _questions(experiment, results, settings, opened if conclusion.is_verdict else "")
    _failed(results)


def show_first(experiment: Experiment) -> None:
    """Draw the box of the verdict before a setting is measured."""
    if conclusion := part_conclusion(experiment, ""):
        with st.container(border=True, key="evaluate_verdict"):
            _conclusion(conclusion)


def _questions(experiment: Experiment, results: Results, settings: SettingTable, opened: str) -> None:
    """Draw the questions under a setting beside the baseline: under the best one if the baseline is `opened`.

    `opened` is empty before every setting is measured.
    """
    if not opened:
        st.caption("Questions are compared with the baseline when every setting is measured.")
        return
    if len(settings.rows) == 1:
        st.caption("No setting differs from the baseline for any question.")
        return
    if opened == settings.baseline:
        opened = settings.rows[1].name
    compared = question_detail.Compared(
        experiment=experiment.id,
        results=results,
        metric=settings.metric,
        baseline=settings.baseline,
        setting=opened,
    )
    with st.container(key="evaluate_part_questions"):
        question_list.questions(compared)


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
        width=260,
    )
    baseline = st.selectbox(
        "Baseline",
        names,
        key="evaluate_baseline",
        format_func=words,
        help="The setting that others are compared with.",
        on_change=address.keep_choice,
        args=("baseline", "evaluate_baseline"),
        width=260,
    )
    return metric, baseline


def _conclusion(conclusion: Conclusion) -> None:
    """Draw the conclusion, its evidence and its actions."""
    left, middle, right = st.columns([1.7, 1.1, 0.6], gap="medium", vertical_alignment="center")
    with left:
        subject = f"{conclusion.subject[:1].upper()}{conclusion.subject[1:]}"
        before, marked, after = conclusion.predicate.partition("not confirmed")
        markup.show(
            p(".oq-conclusion")[b[subject], " ", before, marked and u[marked], after], _advice(conclusion)
        )
    with middle:
        if conclusion.whole:
            markup.show(_evidence(conclusion, conclusion.whole))
    if not conclusion.is_verdict:
        return
    with right:
        widgets.button(
            "Use these settings",
            "tune",
            _use,
            conclusion.setting,
            key="evaluate_use",
            type="primary",
            help="Sets the controls of the Ask page.",
            width="stretch",
        )
        widgets.button(
            "Add questions",
            "add",
            _add_questions,
            key="evaluate_add_questions",
            help="Drafts questions from your passages, or labels passages of questions that you asked.",
            width="stretch",
        )


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


def _export(settings: SettingTable, data: str, *, enabled: bool) -> None:
    """The menu of files of the table. Closed, it is not sent. It has its place before there is a verdict."""
    menu = st.popover(
        "Export",
        icon=":material/download:",
        key="evaluate_export",
        on_change="rerun",
        disabled=not enabled,
    )
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


def _settings(
    settings: SettingTable, opened: str, picked: Collection[str], *, tested: bool, planned: int = 0
) -> None:
    """Draw the table of settings. It has room for those `planned`, so that no row moves what is below it."""
    note = "best first; bar: 95 % interval of the difference to the baseline"
    markup.show(markup.section_heading("Settings", note))
    most = MORE_ROWS if st.session_state.get("evaluate_all_rows") else ROWS
    with st.container(key="evaluate_settings"):
        columns = st.session_state.get(COLUMNS)
        table = settings_table(settings, opened, most, picked, tested=tested, columns=columns)
        markup.show(div(".oq-planned", style=f"--rows:{min(planned, most + 1)}")[table])
    shown, total = min(most + 1, len(settings.rows)), len(settings.rows)
    fixed = ", ".join(f"{column(path)} {value_text(path, value)}" for path, value in settings.fixed.items())
    markup.show(
        div(".oq-notes")[
            span[f"{shown:,} of {pluralize(total, 'row')}; a = b: same result for every question"],
            bool(fixed) and span[f"the same in all: {fixed}"],
            span[
                "filled: more than chance, even after Holm's correction for "
                f"{pluralize(settings.comparisons, 'comparison')} made at once"
                if tested
                else "p and the correction come with the last setting"
            ],
        ]
    )
    if total > ROWS + 1:
        st.toggle(f"Show up to {MORE_ROWS} rows", key="evaluate_all_rows")


def _charts(results: Results, settings: SettingTable, *, tested: bool) -> None:
    dark = page_frame.dark()
    effects = knob_effects(results, settings.metric) if tested else ()
    if not tested:
        markup.show(markup.section_heading("Each knob", "with the last setting"), div(".oq-effects-later"))
    elif effects:
        note = "mean over the other knobs, 95 %; share of the spread"
        markup.show(markup.section_heading("Each knob", note))
        widgets.chart(
            experiment_charts.effects_chart(effects, settings.metric, dark=dark),
            key="evaluate_effects",
            alt=f"{settings.metric} by the values of each knob",
        )
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="evaluate_cost_line"):
        markup.show(
            markup.section_heading("Quality for its cost", "on the line: nothing is better and cheaper")
        )
        st.space("stretch")
        cost = _cost()
    with st.container(key="clickable_costs"):
        widgets.chart(
            experiment_charts.cost_chart(settings, cost, dark=dark),
            key="evaluate_costs",
            alt=f"{settings.metric} against {cost.title}, with the Pareto front",
        )


def _cost() -> experiment_charts.SettingCost:
    """Draw the choice of the cost, and return it. Dollars are those of a model of the price table."""
    measured, prices = experiment_charts.COSTS, runtime.prices()
    names = [*measured, *(["$"] if prices.rows else [])]
    name = widgets.choice("Cost", names, key="evaluate_cost", default="tokens")
    if name in measured:
        return measured[name]
    price = st.selectbox(
        "Model",
        prices.rows,
        key="evaluate_priced_model",
        format_func=lambda row: row.model,
        help=f"{prices.dated}, on the System page.",
        label_visibility="collapsed",
        width=190,
    )
    return experiment_charts.dollars(price)


def _columns() -> None:
    """Draw the menu of the table's columns of figures. Without a choice the table decides by its width."""
    menu = st.popover("Columns", icon=":material/visibility:", key="evaluate_columns_menu", on_change="rerun")
    if menu.open:
        with menu:
            st.pills(
                "Columns",
                list(FIGURES),
                default=list(FIGURES),
                selection_mode="multi",
                key=COLUMNS,
                persist_state="session",
                label_visibility="collapsed",
            )


def _add_questions() -> None:
    st.query_params.from_dict({"view": "labels", "part": "drafts"})


def _use(setting: str) -> None:
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
