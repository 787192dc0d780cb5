from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from core.analysis.rankings.score_curve import ScoreCurve, score_curve
from core.config.knobs import RankKnobs
from core.run.state import Run
from pages.parts.passage_charts import score_chart
from tests import samples
from tests.analysis.folded import finished


def curve_of(run: Run) -> ScoreCurve:
    curve = score_curve(run)
    assert curve is not None
    return curve


def test_the_curve_falls_and_shows_the_cut() -> None:
    curve = curve_of(finished())
    assert curve.scores == pytest.approx((0.8, 0.6))
    assert (curve.name, curve.context, curve.cutoff, curve.threshold) == ("cosine", (1,), 1, None)


def test_curve_ends_with_the_reranked_and_sources_may_follow() -> None:
    run = finished()
    ranking = replace(
        samples.RANKING, strategy="rerank", rerank=np.array([np.nan, 7], dtype=np.float32), context=(1, 0)
    )
    curve = curve_of(replace(run, ranking=ranking))
    assert (curve.name, curve.scores, curve.context, curve.cutoff) == ("rerank", (7.0,), (1, 2), 2)


def test_chart_has_the_deciding_score_and_others_apart() -> None:
    run = finished()
    scores = {"cosine": [0.2, 0.8], "bm25": [7, np.nan], "fused": [0.03, 0.02]}
    arrays = {name: np.array(values, dtype=np.float32) for name, values in scores.items()}
    ranking = replace(samples.RANKING, strategy="fused", order=np.array([0, 1]), context=(1,), **arrays)
    curve = curve_of(replace(run, ranking=ranking))
    assert curve.cosine == pytest.approx((0.2, 0.8))
    assert curve.bm25 == (7, None)
    drawn = score_chart(curve, run, dark=False, others=True)
    series = {trace.name: trace for trace in go.Figure(drawn.to_dict()).data}
    for name in ("Fused score", "Cosine", "BM25"):
        assert (series[name].x0, series[name].dx, len(series[name].y)) == (1, 1, 2)
    assert list(series["in the context"].x) == [2]
    assert series["in the context"].y == pytest.approx((0.02,))
    assert [series[name].yaxis for name in ("Fused score", "Cosine", "BM25")] == ["y", "y2", "y2"]
    assert [series[name].visible for name in ("Fused score", "Cosine", "BM25")] == [
        True,
        "legendonly",
        "legendonly",
    ]
    alone = go.Figure(score_chart(curve, run, dark=False).to_dict()).data
    assert [trace.name for trace in alone] == ["Fused score", "in the context"]
    by_words = curve_of(replace(run, ranking=replace(ranking, strategy="bm25", cosine=None)))
    assert [trace.yaxis for trace in go.Figure(score_chart(by_words, run, dark=False).to_dict()).data] == [
        "y",
        None,
    ]


def test_a_diverse_order_is_drawn_by_what_orders_it() -> None:
    diverse = replace(samples.RANKING, order=np.array([0, 1]), diverse=np.array([0.5, 0.3], dtype=np.float32))
    curve = curve_of(replace(finished(), ranking=diverse))
    assert curve.name == "marginal relevance"
    assert curve.scores == pytest.approx((0.5, 0.3))


def test_a_threshold_of_the_cosine_is_drawn() -> None:
    run = finished()
    strict = replace(run, knobs=replace(run.knobs, rank=RankKnobs(threshold=0.7)))
    curve = curve_of(strict)
    assert curve.threshold == pytest.approx(0.7)
