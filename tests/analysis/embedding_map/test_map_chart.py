import numpy as np
import plotly.graph_objects as go

from core.analysis.embedding_map.embedding_map import project
from core.analysis.rankings.ranked_passages import ranked_passages
from pages.parts.passage_charts import embedding_map, projection, shown_points
from tests.analysis.folded import finished
from tests.features.share.synthetic_runs import synthetic_run


def test_plotly_accepts_the_map_whose_points_name_passages() -> None:
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


def test_passages_that_wait_for_their_vectors_are_not_drawn() -> None:
    run = synthetic_run(90, waiting=True)
    assert run.index is not None
    projected = projection(run.index, run.embedded_for_answer)
    assert projected is not None
    rows = ranked_passages(run)
    drawn = {row.row for row in shown_points(rows, projected)}
    assert drawn == set(range(90)) - set(run.index.waiting.tolist())
    traces = go.Figure(embedding_map(run, rows, projected, dark=False).to_dict()).data
    points = [x for trace in traces if trace.mode == "markers" for x in trace.x]
    assert len(points) == len(drawn) + 1, "and the question"
