"""Passages nearest to the draft of a follow-up question: map, cosine by rank, table."""

from dataclasses import replace

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core.analysis.embedding_map.embedding_map import passage_projection
from core.analysis.rankings.ranked_passages import RankedPassage, nearest_passages
from core.analysis.rankings.score_curve import ScoreCurve
from core.run.state import Run
from core.text.sanitize import pluralize
from pages.parts import markup, passage_charts
from pages.parts.research import passage_table


def nearest_to_follow_up(run: Run, vector: NDArray[np.float32]) -> None:
    """Draw the passages of a run, ranked by their cosine to a follow-up that is not asked yet."""
    rows = nearest_passages(run, vector)
    left, right = st.columns([1.6, 1], gap="small")
    with left:
        _map(run, rows, vector)
    with right:
        _curve(run, rows)
    markup.show(
        markup.section_heading("Nearest to the follow-up", f"of {pluralize(len(rows), 'passage')} in hand")
    )
    passage_table.passage_rows(
        rows, ["cosine"], "cosine", key="nearest_passages", alt="Passages nearest to the follow-up"
    )
    passage_table.open_passage(run, rows, rows)


def _map(run: Run, rows: tuple[RankedPassage, ...], vector: NDArray[np.float32]) -> None:
    if run.index is None or run.index.question is None:
        return
    projected = passage_projection(run.index, run.embedded_for_answer, np.stack([run.index.question, vector]))
    if projected is None:
        return
    legend = ("context", "context"), ("question", "question"), ("follow-up", "your follow-up")
    markup.show(markup.section_heading("Embedding map", "", *legend))
    question, follow_up = projected.question
    st.plotly_chart(
        passage_charts.embedding_map(
            run,
            rows,
            replace(projected, question=question),
            dark=st.context.theme.type == "dark",
            follow_up=follow_up.tolist(),
        ),
        key="follow_up_map",
        config=passage_charts.CONFIG,
        theme=None,
        alt="Passages, the question and the follow-up, projected from the embedding space onto a plane",
    )


def _curve(run: Run, rows: tuple[RankedPassage, ...]) -> None:
    cosines = tuple(row.cosine for row in rows if row.cosine is not None)
    context = tuple(row.rank for row in rows if row.number)
    curve = ScoreCurve(
        name="cosine", scores=cosines, cosine=cosines, bm25=(), context=context, cutoff=0, threshold=None
    )
    markup.show(markup.section_heading("Cosine", "to the follow-up"))
    st.plotly_chart(
        passage_charts.score_chart(curve, run, dark=st.context.theme.type == "dark"),
        key="follow_up_curve",
        config=passage_charts.CONFIG,
        theme=None,
        alt="Cosine of the passages to the follow-up by rank",
    )
