"""The plan of a deep run, and the sections of its report. The plan can be edited and approved."""

from collections.abc import Mapping

import streamlit as st
from htpy import Element, b, div, li, ol, span, td, th, tr

from core.analysis.answers.source_cards import citing_sections
from core.config.prices import Cost
from core.config.run_knobs import RunKnobs
from core.followups import is_unfinished
from core.run.reports.plan_events import Estimate
from core.run.reports.sections import Section, SectionState
from core.run.run_ids import is_link
from core.run.state import Run
from core.text.questions import MOST_SUB_QUESTIONS, SUB_QUESTION_LIMIT
from core.text.sanitize import one_line, pluralize
from pages.parts import markup, runtime, widgets

_STATES = {
    SectionState.WAITING: ("schedule", "waiting"),
    SectionState.RESEARCHING: ("progress_activity", "busy"),
    SectionState.WRITTEN: ("check_circle", "done"),
    SectionState.LEFT_OUT: ("hourglass_disabled", "cut"),
}


def plan(run: Run) -> None:
    """Draw a plan that needs approval, or the report's sections.

    Nothing is drawn for a run without a plan.
    """
    if run.waits_for_approval and not is_link(run.id):
        with st.container(border=True, key="plan"):
            _plan(run)
    elif run.sections:
        with st.container(border=True, key="sections"):
            _sections(run)
    if is_unfinished(run) and not is_link(run.id):
        widgets.button(
            "Go on", "resume", runtime.continue_run, run.id, runtime.runs().resume, key="run_go_on"
        )


# --- the plan ---------------------------------------------------------------------------------------------


def _plan(run: Run) -> None:
    rows = _rows(run)
    markup.show(markup.section_heading("Plan", "Nothing is searched before you approve it. Edit it first."))
    chosen = [text for place, row in enumerate(rows) if (text := _row(run, rows, place, row))]
    if len(rows) < MOST_SUB_QUESTIONS:
        widgets.button("Add a sub-question", "add", _add, rows, key="plan_add", type="tertiary")
    if run.plan:
        _budget(run.plan.estimate, len(chosen) + 1, run.knobs.run)
    widgets.button(
        f"Approve and research {pluralize(len(chosen), 'sub-question')}",
        "play_arrow",
        runtime.continue_run,
        run.id,
        runtime.runs().approve_plan,
        chosen,
        key="plan_approve",
        type="primary",
        disabled=not chosen,
    )


def _rows(run: Run) -> list[int]:
    """Return the plan's row numbers in the visitor's order. Proposed rows are numbered before added rows."""
    proposed = len(run.plan.sub_questions) if run.plan else 0
    rows: list[int] = st.session_state.setdefault(f"plan_rows_{run.id}", list(range(proposed)))
    return rows


def _row(run: Run, rows: list[int], place: int, row: int) -> str:
    """Draw a row, and return its sub-question, or "" if removed."""
    proposed = run.plan.sub_questions if run.plan else ()
    name = f"sub-question {place + 1}"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"plan_row_{row}"):
        takes_part = st.checkbox(
            f"Research {name}",
            value=True,
            key=f"plan_take_{row}_{run.id}",
            label_visibility="collapsed",
            persist_state="session",
            width="content",
        )
        text = st.text_area(
            name.capitalize(),
            value=proposed[row] if row < len(proposed) else "",
            key=f"plan_text_{row}_{run.id}",
            label_visibility="collapsed",
            placeholder="What should be found out?",
            height="content",
            max_chars=SUB_QUESTION_LIMIT,
            disabled=not takes_part,
            persist_state="session",
        )
        for symbol, step in (("arrow_upward", -1), ("arrow_downward", 1)):
            widgets.button(
                f"Move {name} {'up' if step < 0 else 'down'}",
                symbol,
                _move,
                rows,
                place,
                step,
                key=f"plan_arrow_{row}_{step}",
                type="tertiary",
                disabled=not 0 <= place + step < len(rows),
            )
    return text.strip() if takes_part else ""


def _move(rows: list[int], place: int, step: int) -> None:
    rows[place], rows[place + step] = rows[place + step], rows[place]


def _add(rows: list[int]) -> None:
    rows.append(max(rows, default=-1) + 1)


def _budget(estimate: Estimate, parts: int, knobs: RunKnobs) -> None:
    """Draw the cost estimate, each part against the run's budget.

    It covers the sub-questions and the brief answer.
    """
    tokens, seconds = parts * estimate.tokens, parts * estimate.seconds
    amounts: list[tuple[str, str, str, float, float]] = [
        ("Tokens", f"~{tokens:,}", f"{knobs.token_budget:,}", tokens, knobs.token_budget),
        (
            "Time",
            f"~{markup.duration(seconds)}",
            markup.duration(knobs.time_budget),
            seconds,
            knobs.time_budget,
        ),
    ]
    if estimate.dollars:
        dollars = Cost(parts * estimate.dollars)
        amounts.append(
            ("Money", f"~{dollars}", str(Cost(knobs.dollar_budget)), dollars.dollars, knobs.dollar_budget)
        )
    known = f"from {pluralize(estimate.runs, 'earlier run')}" if estimate.runs else "from the settings alone"
    markup.show(
        markup.section_heading("Estimate against the budget", known),
        div(".oq-estimate")[
            (
                div(class_=["over" if budget and amount > budget else ""])[
                    span[label],
                    markup.meter(amount / budget if budget else 0),
                    span[b[words], f" of {limit}" if budget else " without a limit"],
                ]
                for label, words, limit, amount, budget in amounts
            )
        ],
    )


# --- the sections -----------------------------------------------------------------------------------------


def _sections(run: Run) -> None:
    written = sum(section.state is SectionState.WRITTEN for section in run.sections)
    markup.show(
        markup.section_heading("Sub-questions", f"{written} of {len(run.sections)} researched"),
        ol(".oq-sections")[(_section(run, section) for section in run.sections)],
    )
    if cited := citing_sections(run):
        markup.show(
            markup.section_heading("Sources by section", "A source has one number in the whole report."),
            _matrix(run, cited),
        )


def _section(run: Run, section: Section) -> Element:
    symbol, tone = _STATES[section.state]
    words = section.reason or str(section.state)
    if section.state is SectionState.RESEARCHING and not run.live:
        symbol, tone, words = "power_off", "cut", "interrupted"
    if section.state is SectionState.WRITTEN:
        sources = pluralize(len(section.sources), "source")
        seconds = markup.duration((section.end or section.start) - section.start)
        words = f"{sources}, {pluralize(section.tokens, 'token')}, {seconds}"
    return li(class_=tone)[markup.icon(symbol), div[b(dir="auto")[section.question], span[words]]]


def _matrix(run: Run, cited: Mapping[int, tuple[int, ...]]) -> Element:
    """Return a table of cited sources by citing sections."""
    titles = {source.number: source.title for section in run.sections for source in section.sources}
    columns = range(1, len(run.sections) + 1)
    head: tuple[str | Element, ...] = (
        "Source",
        *(th(scope="col", title=run.sections[n - 1].question)[f"§{n}"] for n in columns),
    )
    rows = (
        tr(class_="shared" if len(sections) > 1 else "")[
            th(scope="row", dir="auto", title=one_line(titles[number], 1000))[
                b[str(number)], one_line(titles[number], 80)
            ],
            (
                td[span(role="img", aria_label=f"cited in section {n}") if n in sections else ""]
                for n in columns
            ),
        ]
        for number, sections in cited.items()
    )
    return markup.data_table("Sources by section", head, rows, "oq-cited-by")
