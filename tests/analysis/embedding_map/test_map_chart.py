import numpy as np
import plotly.graph_objects as go

from core.analysis.embedding_map.embedding_map import project
from core.analysis.rankings.ranked_passages import ranked_passages
from pages.parts.passage_charts import embedding_map
from tests.analysis.folded import finished


def test_plotly_accepts_the_map_whose_points_say_which_passage_they_are() -> None:
    run = finished()
    rows = ranked_passages(run)
    assert run.index is not None
    projected = project(
        np.eye(len(run.index.passages), 4, dtype=np.float32), np.ones(4, dtype=np.float32) / 2
    )
    drawn = embedding_map(run, rows, projected, dark=False).to_dict()
    traces = {trace.name: trace for trace in go.Figure(drawn).data}
    inside = traces["in the context"]
    assert [int(point[0]) for point in inside.customdata] == [row.row for row in rows if row.number]
    assert len(traces["other passages"].x) + len(inside.x) == len(rows)
    assert len(traces["the question"].x) == 1
