import asyncio
from pathlib import Path

import pytest

from core.adapters.models.multilingual_embedder import MultilingualUSE
from core.adapters.search.demo_search import SITE, DemoSearch, read_articles
from core.config.knobs import SearchKnobs
from core.errors import SearchFailed

HANDBOOK = Path(__file__).parents[3] / "docs" / "handbook"

APPLES = """# Growing Apples

An apple tree wants a cold winter. Most kinds need the pollen of [another kind](pears.md).

## Pruning

Cut in late winter, *before* the buds swell. Thinned crowns let the light in.

- Remove crossing branches.

```
quince = 1
```

See also: [Growing Pears](pears.md)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "apples.md").write_text(APPLES)
    (tmp_path / "pears.md").write_text("# Growing Pears\n\nA pear ripens off the tree. Apples do not.\n")
    (tmp_path / "untitled.md").write_text("No heading, apples only.\n")
    return tmp_path


async def test_article_is_found_by_any_form_of_its_words(folder):
    reply = await DemoSearch(folder)("how to prune apple trees?", SearchKnobs())
    assert reply.backend == "demo"
    first = reply.results[0]
    assert (first.url, first.title, first.rank) == (f"{SITE}/apples", "Growing Apples", 1)
    assert first.engines == ("handbook",)


@pytest.mark.parametrize(
    ("query", "begins"),
    [
        ("pollen of another kind", "Most kinds need the pollen of another kind."),
        ("buds", "Cut in late winter, before the buds swell. Thinned crowns let the light in."),
        ("crossing branches", "Remove crossing branches."),
    ],
)
async def test_snippet_is_the_best_sentence_without_markup(folder, query, begins):
    reply = await DemoSearch(folder)(query, SearchKnobs())
    assert reply.results[0].snippet == begins


@pytest.mark.parametrize("query", ["zebra", "the of and", "", "?!", "苹果", "quince"])
async def test_a_query_that_shares_no_word_finds_nothing(folder, query):
    assert (await DemoSearch(folder)(query, SearchKnobs())).results == ()


async def test_no_more_articles_than_asked_are_given(folder):
    assert len((await DemoSearch(folder)("apples", SearchKnobs(results=1))).results) == 1
    assert len((await DemoSearch(folder)("apples", SearchKnobs(results=9))).results) == 2


async def test_the_identity_changes_with_the_articles(folder):
    before = DemoSearch(folder).identity
    assert before == DemoSearch(folder).identity
    (folder / "pears.md").write_text("# Growing Pears\n\nA pear is green.\n")
    assert DemoSearch(folder).identity != before


async def test_an_empty_folder_is_an_error_with_a_hint(tmp_path):
    with pytest.raises(SearchFailed) as caught:
        await DemoSearch(tmp_path)("apples", SearchKnobs())
    assert "docs/handbook" in caught.value.hint


async def test_concurrent_queries_do_not_disturb_each_other(folder):
    demo = DemoSearch(folder)
    alone = await demo("pruning apple trees", SearchKnobs())
    together = await asyncio.gather(*(demo("pruning apple trees", SearchKnobs()) for _ in range(20)))
    assert set(together) == {alone}


async def test_each_handbook_article_is_first_for_its_title():
    demo = DemoSearch(HANDBOOK)
    for article in read_articles(HANDBOOK):
        first = (await demo(article.title, SearchKnobs())).results[0]
        assert first.url == f"{SITE}/{article.slug}", article.title
        assert 40 <= len(first.snippet) <= 200


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("Was ist die Kosinusähnlichkeit?", "Cosine Similarity"),
        ("Was ist die beste Überlappung?", "Chunk Overlap"),
        ("如何测量检索质量？", "Evaluation Metrics"),
        ("Comment un site peut-il injecter des instructions ?", "Prompt Injection"),
    ],
)
async def test_a_question_in_another_language_finds_articles_by_meaning(query: str, title: str) -> None:
    embedder = MultilingualUSE()
    reply = await DemoSearch(HANDBOOK, lambda: embedder)(query, SearchKnobs(results=3))
    assert len(reply.results) == 3
    assert title in [result.title for result in reply.results]
    embedder.close()
