from __future__ import annotations

from core.analysis.handbook import chapters, matching
from core.config.settings import HANDBOOK


def test_the_handbook_has_titles_leads_and_related_articles() -> None:
    every = {chapter.slug: chapter for chapter in chapters(HANDBOOK)}
    chapter = every["chunk-overlap"]
    assert chapter.title == "Chunk Overlap"
    assert chapter.lead.startswith("Chunk overlap repeats")
    assert "chunk-size" in chapter.related
    assert "See also" not in chapter.body
    assert all(slug in every for one in every.values() for slug in one.related)


def test_the_handbook_is_searched_by_words() -> None:
    slugs = [chapter.slug for chapter in matching(chapters(HANDBOOK), "reciprocal FUSION")]
    assert "reciprocal-rank-fusion" in slugs
    assert matching(chapters(HANDBOOK), "zzzz") == ()
