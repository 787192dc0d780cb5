"""The results of an experiment: its table, charts, the winner on held-back questions, and the worst questions."""

from functools import partial
from typing import Any

import streamlit as st

from core.errors import BadInput
from core.evaluation.metrics.retrieval_metrics import CONTEXT_TOKENS
from core.evaluation.results import Results, SettingTest
from core.evaluation.statistics.significance import SIGNIFICANT, Interval, p_number, p_text
from core.evaluation.sweep import knobs_of
from core.text.display import embedder_name
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import pluralize
from pages.parts import markup, page_frame, runtime, tables, widgets
from pages.parts.evaluate import experiment_charts
from pages.parts.sidebar import controls

COMPARED = 12
"""The most settings that are tested against the baseline; testing more makes every single one less certain."""
WORST = 8
SETTING, QUESTION = "evaluate_setting", "evaluate_question"
"""Names in the session state of the setting and the question whose row was clicked; the first ones until then."""


def show(results: Results) -> None:
    """Draw all that is known so far."""
    if st.session_state.pop("evaluate_go", False):
        st.switch_page(runtime.RESEARCH)
    metrics = [name for name in results.metrics if name != CONTEXT_TOKENS]
    if not metrics:
        st.warning("No question could be measured.", icon=":material/warning:")
        _failed(results)
        return
    names = list(results.by_setting)
    left, right = st.columns([1, 2], gap="medium")
    with left:
        metric = st.selectbox(
            "Metric",
            metrics,
            key="evaluate_metric",
            help="Mean over the questions that have an answer in the data set; 1 is best.",
        )
    with right:
        baseline = st.selectbox(
            "Baseline", names, key="evaluate_baseline", help="The setting that others are compared with."
        )
    intervals = {
        result.setting: interval
        for result in results.results
        if (interval := results.interval(result, metric)) is not None
    }
    _table(results, metric, intervals)
    _winner(results, baseline, metric)
    _charts(results, metric, baseline, intervals)
    _differences(results, metric, baseline, intervals)
    _failed(results)


def _table(results: Results, metric: str, intervals: dict[str, Interval]) -> None:
    order = sorted(intervals, key=lambda name: intervals[name].mean, reverse=True)
    others = [name for name in results.metrics if name != metric]
    columns = ("setting", metric, "low", "high", *others, "passages", "seconds")
    rows: dict[str, tuple[Any, ...]] = {}
    for name in order:
        result, interval = results.by_setting[name], intervals[name]
        means = [results.mean(result, other) for other in others]
        rows[name] = (
            name,
            interval.mean,
            interval.low,
            interval.high,
            *means,
            result.passages,
            result.seconds,
        )
    number = partial(st.column_config.NumberColumn, format="%.3f")
    config: dict[str, Any] = {
        "setting": st.column_config.TextColumn(
            "setting", width="large", help="What differs from the defaults"
        ),
        metric: number(metric, help="Mean over the questions"),
        "low": number("low", help="Lower bound of the 95 % interval"),
        "high": number("high", help="Upper bound of the 95 % interval"),
        **{other: number(other) for other in others},
        CONTEXT_TOKENS: st.column_config.NumberColumn(
            CONTEXT_TOKENS, format="%.0f", help="Mean tokens of the context, estimated"
        ),
        "passages": st.column_config.NumberColumn("passages", format="%,d"),
        "seconds": st.column_config.NumberColumn(
            "seconds", format="%.1f", help="Ranking and measuring all questions, without embedding"
        ),
    }
    note = f"best first; low and high bound the 95 % interval; embedder {embedder_name(results.embedder)}"
    markup.show(markup.kicker("Settings", note))
    tables.selectable_table(
        order,
        lambda name: name,
        lambda name: dict(zip(columns, rows[name], strict=True)),
        {name: config[name] for name in columns},
        key="evaluate_settings",
        opened=SETTING,
        max_rows=10,
        alt="Settings with their metrics",
    )
    clicked = st.session_state.get(SETTING)
    chosen = clicked if clicked in rows else order[0]
    with st.container(horizontal=True, vertical_alignment="center", key="use_setting"):
        st.markdown(f"**{markdown_label(chosen, 300)}**", width="stretch")
        widgets.button(
            "Use these settings",
            "tune",
            _use,
            chosen,
            key="evaluate_use",
            help="Sets the controls of the Research page.",
        )


def _use(setting: str, question: str = "") -> None:
    """Set the controls of the Research page, and its question if one is given; then go there."""
    controls.set_controls(knobs_of(setting), *controls.TUNED)
    if question:
        st.session_state["question"] = question
    st.session_state["evaluate_go"] = True


def _winner(results: Results, baseline: str, metric: str) -> None:
    confirmation = results.confirm(baseline, metric)
    if confirmation is None:
        return
    verdict = (
        "It is the baseline itself."
        if confirmation.setting == baseline
        else "The difference is confirmed."
        if confirmation.p_value <= SIGNIFICANT and confirmation.mean.mean > confirmation.baseline.mean
        else "No difference to the baseline is shown there."
    )
    markup.show(markup.kicker("The winner on questions that it was not chosen on"))
    markup.show(
        markup.facts(
            markup.fact(confirmation.setting, f"best on {pluralize(confirmation.chosen_on, 'question')}"),
            markup.fact(str(confirmation.mean), f"{metric} on {pluralize(confirmation.questions, 'other')}"),
            markup.fact(str(confirmation.baseline), "the baseline there"),
            markup.fact(p_text(confirmation.p_value), "", "Paired randomization test, two-sided"),
        )
    )
    st.caption(verdict)


def _charts(results: Results, metric: str, baseline: str, intervals: dict[str, Interval]) -> None:
    dark = page_frame.dark()
    markup.show(markup.kicker("Settings with their intervals", "the dotted line is the baseline"))
    widgets.chart(
        experiment_charts.interval_chart(intervals, metric, baseline, dark=dark),
        key="evaluate_intervals",
        alt=f"Mean and interval of {metric} of each setting",
    )
    costs = {
        name: tokens
        for name in intervals
        if (tokens := results.mean(results.by_setting[name], CONTEXT_TOKENS)) is not None
    }
    if len(set(costs.values())) > 1:
        points = experiment_charts.frontier(costs, {name: intervals[name] for name in costs})
        markup.show(markup.kicker("Quality for its cost", "no other setting reaches more with fewer tokens"))
        widgets.chart(
            experiment_charts.cost_chart(points, metric, "tokens of context", dark=dark),
            key="evaluate_costs",
            alt=f"{metric} against tokens of context, with the Pareto front",
        )


def _differences(results: Results, metric: str, baseline: str, intervals: dict[str, Interval]) -> None:
    order = sorted(intervals, key=lambda name: intervals[name].mean, reverse=True)
    others = [name for name in order if name != baseline][:COMPARED]
    if not others:
        return
    try:
        compared = results.compare(baseline, metric, worst=WORST, others=others)
    except BadInput as error:
        st.caption(markdown_label(f"{error.message} {error.hint}", 300))
        return
    note = f"paired randomization test, Holm's correction for {pluralize(len(compared), 'comparison')}"
    markup.show(markup.kicker("Against the baseline", note))
    page_frame.table(
        [
            (
                test.setting,
                test.mean - test.baseline,
                p_number(test.p_value),
                test.verdict,
                test.wins,
                test.losses,
            )
            for test in compared
        ],
        ("setting", "difference", "p", "verdict", "won", "lost"),
        "evaluate_differences",
        config={
            "setting": st.column_config.TextColumn("setting", width="large"),
            "difference": st.column_config.NumberColumn("difference", format="%+.3f"),
            "p": st.column_config.TextColumn("p", help="Adjusted for all comparisons"),
            "won": st.column_config.NumberColumn("won", help="Questions with a higher value than before"),
            "lost": st.column_config.NumberColumn("lost", help="Questions with a lower value than before"),
        },
        alt="Settings against the baseline",
    )
    _worst(compared, metric)


def _worst(compared: tuple[SettingTest, ...], metric: str) -> None:
    """The questions that lose most under one of the settings, to be asked on the Research page."""
    tests = {test.setting: test for test in compared if test.worst}
    if not tests:
        return
    markup.show(markup.kicker("Questions that lose most", f"by {metric}, under one setting"))
    chosen = st.selectbox("Under the setting", list(tests), key="evaluate_worst", width=420)
    worst = {text: (text, before, after) for text, before, after in tests[chosen].worst}
    tables.selectable_table(
        list(worst),
        lambda text: text,
        lambda text: dict(zip(("question", "baseline", "setting"), worst[text], strict=True)),
        {
            "question": st.column_config.TextColumn("question", width="large"),
            "baseline": st.column_config.NumberColumn(f"{metric}, baseline", format="%.3f"),
            "setting": st.column_config.NumberColumn(f"{metric}, setting", format="%.3f"),
        },
        key="evaluate_worst_questions",
        opened=QUESTION,
        alt="Questions that lose most",
    )
    clicked = st.session_state.get(QUESTION)
    question = clicked if clicked in worst else next(iter(worst))
    with st.container(horizontal=True, vertical_alignment="center", key="ask_worst"):
        st.markdown(f"**{markdown_label(question, 300)}**", width="stretch")
        widgets.button(
            "Put it on the Research page",
            "travel_explore",
            _use,
            chosen,
            question,
            key="evaluate_ask",
            help="With this setting, to see what is retrieved, what is missed, and why.",
        )


def _failed(results: Results) -> None:
    failed = {name: why for result in results.results for name, why in result.failed.items()}
    if failed:
        why = next(iter(failed.values()))
        st.warning(
            f"{pluralize(len(failed), 'question')} failed and {'is' if len(failed) == 1 else 'are'} in no mean: "
            f"{markdown_label(why, 300)}",
            icon=":material/warning:",
        )
