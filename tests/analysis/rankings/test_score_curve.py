from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.analysis.rankings.score_curve import score_curve
from core.config.knobs import RankKnobs
from pages.parts.passage_charts import score_chart
from tests import samples
from tests.analysis.folded import finished


def test_the_curve_falls_and_shows_the_cut() -> None:
    found = score_curve(finished())
    assert found is not None
    assert found.scores == pytest.approx((0.8, 0.6))
    assert (found.name, found.context, found.cutoff, found.threshold) == ("cosine", (1,), 1, None)


def test_a_curve_ends_where_the_reranker_judged_no_further_and_sources_may_lie_beyond() -> None:
    run = finished()
    ranking = replace(
        samples.RANKING, strategy="rerank", rerank=np.array([np.nan, 7], dtype=np.float32), context=(1, 0)
    )
    found = score_curve(replace(run, ranking=ranking))
    assert found is not None
    assert (found.name, found.scores, found.context, found.cutoff) == ("rerank", (7.0,), (1, 2), 2)
    drawn = score_chart(found, run, dark=False)
    assert [len(trace.x) for trace in drawn.data] == [1, 1]


def test_a_diverse_order_is_drawn_by_what_orders_it() -> None:
    diverse = replace(samples.RANKING, order=np.array([0, 1]), diverse=np.array([0.5, 0.3], dtype=np.float32))
    found = score_curve(replace(finished(), ranking=diverse))
    assert found is not None
    assert found.name == "marginal relevance"
    assert found.scores == pytest.approx((0.5, 0.3))


def test_a_threshold_is_drawn_on_cosines_only() -> None:
    run = finished()
    strict = replace(run, knobs=replace(run.knobs, rank=RankKnobs(threshold=0.7)))
    found = score_curve(strict)
    assert found is not None
    assert found.threshold == pytest.approx(0.7)
