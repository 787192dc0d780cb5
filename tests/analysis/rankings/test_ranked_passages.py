from dataclasses import replace

import pytest

from core.analysis.rankings.ranked_passages import (
    filtered,
    passage_in_context,
    ranked_passages,
    sampled,
    sorted_by,
)
from core.analysis.rankings.score_curve import score_curve
from core.model import Article, Place
from core.run import events as e
from tests import samples
from tests.analysis.folded import finished, run_of


def test_rows_are_ranked_and_numbered() -> None:
    first, second = ranked_passages(finished())
    assert (first.rank, first.number, first.cosine, first.snippet) == (1, 1, pytest.approx(0.8), "Delta.")
    assert (second.rank, second.number, second.row) == (2, None, 0)
    assert second.bm25 is None


def test_there_are_no_rows_before_a_ranking() -> None:
    assert ranked_passages(run_of(*samples.until(e.Embedded))) == ()
    assert score_curve(run_of(*samples.until(e.Embedded))) is None


def test_rows_are_chosen_by_words_context_and_page() -> None:
    table = ranked_passages(finished())
    assert [row.rank for row in filtered(table, words="ALPHA one")] == [2]
    assert [row.rank for row in filtered(table, only_context=True)] == [1]
    assert filtered(table, key="elsewhere") == ()
    late = replace(table[0], text=f"{'A word. ' * 60}Herons.")
    assert filtered([late, table[1]], words="herons") == (late,)


def test_rows_sort_by_score_or_source_and_ties_stay() -> None:
    first = ranked_passages(finished())[0]
    table = [
        replace(first, rank=rank, bm25=score, site=site)
        for rank, score, site in ((1, 1.0, "b"), (2, None, "a"), (3, 2.0, "b"), (4, 2.0, "a"))
    ]
    assert [row.rank for row in sorted_by(table, "bm25")] == [3, 4, 1, 2]
    assert [row.rank for row in sorted_by(table, "source")] == [2, 4, 1, 3]
    assert [row.rank for row in sorted_by(table, "rank")] == [1, 2, 3, 4]


def test_many_points_are_sampled_with_the_context_among_them() -> None:
    second = ranked_passages(finished())[1]
    table = [replace(second, rank=rank, number=rank if rank == 9001 else None) for rank in range(1, 10_001)]
    few = sampled(table, 3000)
    assert len(few) <= 3001
    assert any(row.number for row in few)
    assert [row.rank for row in few[:1500]] == list(range(1, 1501))
    assert sampled(few, 5000) == few


def test_a_passage_holds_the_passage_between_its_surroundings() -> None:
    text = "start " + "word " * 2000 + "NEEDLE and more" + " tail" * 2000
    at = text.index("NEEDLE")
    page = replace(samples.PAGE, article=Article(text=text, extractor="x"))
    part = passage_in_context(page, Place(page=page.key, start=at, end=at + 6), around=100)
    assert part.passage == "NEEDLE"
    assert text.find(part.before + part.passage + part.after) > 0
    assert part.before.startswith("word")
    assert not part.begins
    assert not part.ends
    assert len(part.before) <= 100
    assert len(part.after) <= 100


def test_passage_of_a_short_page_is_all_of_it() -> None:
    part = passage_in_context(samples.PAGE, samples.SECOND.place)
    assert part.before + part.passage + part.after == samples.PAGE.text
    assert part.begins
    assert part.ends
