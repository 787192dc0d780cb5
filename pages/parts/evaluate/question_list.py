"""The questions of an experiment, largest losses first, and the open question."""

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st
from htpy import Element, b, i, span, td, th, tr

from core.features.evaluate.metrics.metric_help import with_unit
from core.features.evaluate.results import Change
from core.text.display import metric_text
from core.text.sanitize import one_line, pluralize
from pages.parts import markup, widgets
from pages.parts.evaluate.question_detail import Compared, question_detail

CHOSEN, LISTED = "evaluate_question_id", "evaluate_listed"
"""Session keys of the open question and of the list's filter."""
LISTS: dict[str, Callable[[Change], bool]] = {
    "lost": lambda change: change.after < change.before,
    "won": lambda change: change.after > change.before,
    "all": lambda change: True,
}
MOST = 200
"""The most questions that are listed."""


def pick(question: str) -> None:
    """Open the question that was clicked."""
    st.session_state[CHOSEN] = question
    st.query_params.update(question=question, part="questions")


def questions(compared: Compared) -> None:
    """Draw the list of questions and the open question."""
    changes = compared.results.changes(compared.baseline, compared.setting, compared.metric)
    left, right = st.columns([1, 2.1], gap="medium")
    with left:
        choices = st.container(horizontal=True, vertical_alignment="center")
        with choices:
            listed = _listed(changes)
        opened = st.query_params.get("question") or st.session_state.get(CHOSEN)
        change = next(
            (change for change in changes if change.question == opened), (listed or changes or (None,))[0]
        )
        with choices:
            _steps(listed, change)
        markup.show(_table(compared, listed[:MOST], change))
        if len(listed) > MOST:
            st.caption(f"The first {MOST:,} of {pluralize(len(listed), 'question')}.")
    with right, st.container(border=True, key="evaluate_question"):
        if change is None:
            st.caption(f"No question has {compared.metric} under both settings.")
        else:
            question_detail(compared, change)


def _listed(changes: Sequence[Change]) -> list[Change]:
    """Draw the filter, and return the questions to list. The default is the questions that lost, if any."""
    groups = {name: [change for change in changes if belongs(change)] for name, belongs in LISTS.items()}
    if not groups.get(st.session_state.get(LISTED, ""), ()):
        st.session_state[LISTED] = next((name for name, some in groups.items() if some), "all")
    name = widgets.choice(
        "Questions",
        list(groups),
        key=LISTED,
        format_func=lambda name: (
            f"{len(groups[name]):,} {name}" if name != "all" else f"all {len(changes):,}"
        ),
    )
    return groups[name][::-1] if name == "won" else groups[name]


def _steps(listed: Sequence[Change], opened: Change | None) -> None:
    """Draw buttons for the list's previous and next question."""
    place = listed.index(opened) if opened in listed else -1
    for symbol, name, to in (("arrow_upward", "Previous", place - 1), ("arrow_downward", "Next", place + 1)):
        is_there = 0 <= to < len(listed)
        widgets.button(
            name,
            symbol,
            partial(pick, listed[to].question) if is_there else None,
            key=f"evaluate_{name.lower()}_question",
            type="tertiary",
            disabled=not is_there,
        )


def _table(compared: Compared, listed: Sequence[Change], opened: Change | None) -> Element:
    def row(change: Change) -> Element:
        link = markup.pick_link("question", change.question, current=change == opened)
        return tr(class_={"on": change == opened})[
            td(dir="auto")[link[one_line(compared.results.questions[change.question], 110)]],
            td(".plot")[_dumbbell(change)],
            td(".n")[metric_text(change.after - change.before, signed=True)],
        ]

    head = (
        "question",
        th(".plot", scope="col")[f"{with_unit(compared.metric)}, 0 to 1"],
        th(".n", scope="col", title="Difference to the baseline")["Δ"],
    )
    label = "Questions, those that changed most first"
    return markup.data_table(label, head, map(row, listed), "oq-settings oq-questions")


def _dumbbell(change: Change) -> Element:
    """Return a question's metric as a dumbbell. A diamond is the baseline, a dot the setting."""
    low, high = sorted((change.before, change.after))
    style = f"--low:{low:.1%};--high:{high:.1%};--dot:{change.after:.1%};--base:{change.before:.1%}"
    label = f"{metric_text(change.before)} to {metric_text(change.after)}"
    return span(".bar.sure", style=style, role="img", aria_label=label, title=label)[i, span(".diamond"), b]
