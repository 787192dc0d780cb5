"""Scores: whether they are high, told by what unrelated questions get on the same passages."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core.analysis.rankings.null_distribution import elbow, null_distribution
from core.analysis.rankings.passage_rows import curve
from core.run.state import Run
from core.text.safe_markdown import escape_html
from pages.parts import charts, markup, page_frame, passage_charts


def view(run: Run) -> None:
    if run.index is None or run.ranking is None or not run.index.passages:
        page_frame.nothing("There is no ranking whose scores could be judged.", "leaderboard")
        return
    found = page_frame.computed("honesty", run, lambda embed: null_distribution(run, embed))
    if found is None:
        if run.index.vectors is None:
            page_frame.nothing(
                "The passages have no vectors, so there are no cosines to judge.", "scatter_plot"
            )
        return
    st.html(
        f'<p class="oq-verdict">{escape_html(found.summary)}</p>'
        + markup.facts(
            markup.fact(f"{found.above:,}", "passages above chance"),
            markup.fact(f"{found.expected:.1f}", "expected by chance alone"),
            markup.fact(f"{found.context_above}/{found.context}", "of the context above it"),
            markup.fact(f"{found.floor:.2f}", "middle cosine of unrelated questions"),
        )
    )
    left, right = st.columns([1.7, 1], gap="medium")
    with left:
        st.html(markup.kicker("Scores against chance", f"cosines of {found.passages:,} passages"))
        st.plotly_chart(
            charts.chance(found, dark=page_frame.dark()),
            key="chance",
            config=page_frame.CONFIG,
            theme=None,
            alt="Histogram of this question's cosines over those of unrelated questions",
        )
    with right:
        _curve(run)


def _curve(run: Run) -> None:
    shown = curve(run)
    if shown is None or run.ranking is None:
        return
    bend = elbow(np.asarray(shown.scores, dtype=np.float32))
    note = f"the curve bends after rank {bend}" if bend else "the curve has no bend"
    st.html(markup.kicker("Scores by rank", note))
    figure = passage_charts.score_curve(shown, run, dark=page_frame.dark()).update_layout(height=340)
    if bend:
        figure.add_vline(
            x=bend,
            line={"color": passage_charts.SITES[page_frame.dark()][2], "dash": "dashdot", "width": 1.5},
            annotation={
                "text": "elbow",
                "font": {"size": 11, "color": passage_charts.SITES[page_frame.dark()][2]},
            },
        )
    st.plotly_chart(
        figure,
        key="bench_curve",
        config=page_frame.CONFIG,
        theme=None,
        alt="Scores by rank, with the cut-off of the context and the elbow",
    )
