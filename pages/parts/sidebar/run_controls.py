"""The controls of the next run as a whole: its method and its budget."""

import streamlit as st

from core.config.prices import Cost
from core.config.run_knobs import Method
from core.config.schema import parameters
from pages.parts import markup, runtime
from pages.parts.sidebar.knob_control import control, group_of_controls


def run_controls() -> None:
    """Draw the choice of the method with what it does in a sentence, and the budget below it."""
    method, steps, *budgets = (parameter for parameter in parameters() if parameter.group == "run")
    markup.show(markup.kicker("Method", "next question"))
    control(method, label_visibility="collapsed")
    selected = Method(st.session_state["knob_run_method"])
    st.caption(selected.summary)
    if selected is Method.AGENT:
        control(steps)
    group_of_controls("run", "Budget", "payments", lambda: budgets)
    st.caption(_today())


def _today() -> str:
    """What this visitor's questions have cost within a day, of what they may, and the date of the prices."""
    quotas = runtime.runs().quotas
    spent = quotas.spent(runtime.quota_subject())
    parts = [f"Today {Cost(spent.dollars)}"]
    if quotas.dollars_per_day:
        parts[0] += f" of {Cost(quotas.dollars_per_day)}"
    if quotas.tokens_per_day:
        parts.append(f"{spent.tokens:,} of {quotas.tokens_per_day:,} tokens")
    return f"{', '.join(parts)}. {runtime.prices().dated}.".replace("$", r"\$")
