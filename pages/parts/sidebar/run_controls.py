"""The controls of the next run as a whole: its method and its budget."""

import streamlit as st

from core.config.run_knobs import Method
from core.config.schema import parameters
from pages.parts import markup
from pages.parts.sidebar.knob_control import control


def run_controls() -> None:
    """Draw the choice of the method with what it does in a sentence, and the budget below it."""
    method, steps, *budgets = (parameter for parameter in parameters() if parameter.group == "run")
    markup.show(markup.kicker("Method", "next question"))
    control(method, label_visibility="collapsed")
    selected = Method(st.session_state["knob_run_method"])
    st.caption(selected.summary)
    if selected is Method.AGENT:
        control(steps)
    markup.show(markup.kicker("Budget", "next question"))
    for budget in budgets:
        control(budget)
