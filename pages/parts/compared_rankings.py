"""The two rankings that the Evaluate page compares by labels, in the session state."""

import streamlit as st

from core.config.knobs import Knobs, RankKnobs
from core.evaluation.sweep import name_of

SIDES = ("verdict_first", "verdict_second")


def ordering(knobs: Knobs) -> str:
    """The settings that decide the order of passages, by their name."""
    rank = knobs.rank
    ordered = RankKnobs(strategy=rank.strategy, cosine_weight=rank.cosine_weight, diversity=rank.diversity)
    return name_of(Knobs(rank=ordered))


def compare_next(first: Knobs, second: Knobs) -> None:
    """Have the rankings of these settings compared when the Evaluate page is drawn next."""
    for side, knobs in zip(SIDES, (first, second), strict=True):
        st.session_state[side] = ordering(knobs)
