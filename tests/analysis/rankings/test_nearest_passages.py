from core.analysis.rankings.ranked_passages import nearest_passages
from tests.analysis.sample import WIDTH, run_of
from tests.services.openai_server import vector


def test_passages_are_ranked_anew_and_keep_their_numbers() -> None:
    run = run_of(top_k=1)
    rows = nearest_passages(run, vector("What are lamps made of?", WIDTH))
    assert rows[0].text.startswith("Lamps are made of paper")
    assert [row.rank for row in rows] == [1, 2, 3]
    cosines = [row.cosine for row in rows if row.cosine is not None]
    assert cosines == sorted(cosines, reverse=True)
    assert {row.site: row.number for row in rows} == {
        "b.example": None,
        "a.example": 1,
        "c.example": None,
    }, "the source of the answer before"
