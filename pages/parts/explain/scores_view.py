"""Scores view: scores by rank, and cosines of unrelated questions."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from core.analysis.rankings.null_distribution import null_distribution
from core.analysis.rankings.score_curve import elbow, score_curve
from core.run.state import Run
from core.text.display import decimal
from core.text.sanitize import pluralize
from pages.parts import charts, markup, page_frame, passage_charts, widgets


def view(run: Run) -> None:
    """Draw scores by rank, and the cosines of unrelated questions."""
    if run.index is None or run.ranking is None or not run.index.passages:
        markup.show_empty("There is no ranking with scores.", "leaderboard")
        return
    distribution = page_frame.compute("null_distribution", run, lambda embed: null_distribution(run, embed))
    if distribution is None:
        if run.index.vectors is None:
            markup.show_empty("The passages have no vectors, so there are no cosines.", "scatter_plot")
        return
    markup.show(
        markup.verdict(distribution.summary),
        markup.facts(
            markup.fact(decimal(distribution.median, 2), "median cosine of unrelated questions"),
        ),
    )
    left, right = st.columns([1.7, 1], gap="medium")
    with left:
        markup.show(
            markup.section_heading(
                "Against unrelated questions", f"cosines of {pluralize(distribution.passages, 'passage')}"
            )
        )
        widgets.chart(
            charts.null_distribution_chart(distribution, dark=page_frame.dark()),
            key="null_distribution",
            alt="Histogram of this question's cosines over those of unrelated questions",
        )
    with right:
        _curve(run)


def _curve(run: Run) -> None:
    curve = score_curve(run)
    if curve is None or run.ranking is None:
        return
    elbow_rank = elbow(np.asarray(curve.scores, dtype=np.float32))
    note = f"elbow, where the curve bends most, after rank {elbow_rank}" if elbow_rank else ""
    hint = passage_charts.FUSED if curve.name == "fused" else ""
    markup.show(markup.section_heading(f"{passage_charts.score_name(curve)} by rank", note, hint=hint))
    figure = go.Figure(passage_charts.score_chart(curve, run, dark=page_frame.dark(), others=True).to_dict())
    figure.update_layout(height=340)
    if elbow_rank:
        figure.add_vline(
            x=elbow_rank,
            line={"color": passage_charts.SITES[page_frame.dark()][2], "dash": "dashdot", "width": 1.5},
            annotation={
                "text": "elbow",
                "font": {"size": 11, "color": passage_charts.SITES[page_frame.dark()][2]},
            },
        )
    widgets.chart(
        figure, key="score_curve", alt="Scores by rank, with the cut-off of the context and the elbow"
    )
