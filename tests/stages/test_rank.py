import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config.knobs import RankKnobs, Strategy
from core.model import Article, Index, Page, Passage, Place
from core.model.passage_urls import passage_url
from core.stages.rank import UNSUPPORTED_LANGUAGE_WEIGHT, best_first, cosine_share, fusion, rank, sources
from core.stages.ranking.bm25 import bm25
from core.stages.ranking.context_selection import ExclusionReason, exclusion_reasons
from core.stages.ranking.mmr import POOL, maximal_marginal_relevance
from core.text.bm25_index import tokens
from core.text.language import dominant_language
from tests.services.openai_server import vector

WORDS = ("river", "boat", "stone", "cloud", "lamp", "paper")
QUESTION = "Which boat is on the river?"


def index_of(texts: list[str], *, pages: list[str] | None = None, vectors: bool = True) -> Index:
    named = pages or [f"p{n}" for n in range(len(texts))]
    return Index(
        passages=tuple(
            Passage(text=text, place=Place(page=page, start=0, end=len(text)))
            for text, page in zip(texts, named, strict=True)
        ),
        vectors=np.array([vector(text, 24) for text in texts], dtype=np.float32).reshape(len(texts), 24)
        if vectors
        else None,
        question=vector(QUESTION, 24) if vectors else None,
        embedder="test",
    )


def page(key: str, text: str = "", language: str = "") -> Page:
    article = Article(text=text, extractor="test", language=language)
    return Page(key=key, url=f"https://{key}.example/", title=key, article=article)


TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join), max_size=30)
KNOBS = st.builds(
    RankKnobs,
    strategy=st.sampled_from(Strategy),
    top_k=st.integers(0, 50),
    threshold=st.sampled_from([-1.0, 0.0, 0.3]),
    per_page=st.integers(0, 3),
    max_documents=st.integers(0, 3),
    per_cluster=st.integers(0, 3),
)


@given(TEXTS, KNOBS, st.booleans())
def test_scores_fall_with_rank_and_ties_keep_their_order(
    texts: list[str], knobs: RankKnobs, with_vectors: bool
) -> None:
    found = rank(QUESTION, index_of(texts, vectors=with_vectors), knobs)
    scores = {"cosine": found.cosine, "bm25": found.bm25, "fused": found.fused}[found.strategy]
    assert scores is not None
    assert sorted(found.order.tolist()) == list(range(len(texts)))
    ranked = [(-scores[row], row) for row in found.order]
    assert ranked == sorted(ranked)


@given(TEXTS, KNOBS, st.integers(1, 4))
def test_the_context_is_the_best_that_pass_the_knobs(
    texts: list[str], knobs: RankKnobs, page_count: int
) -> None:
    pages = [f"p{n % page_count}" for n in range(len(texts))]
    found = rank(QUESTION, index_of(texts, pages=pages), knobs)
    assert found.cosine is not None
    assert len(found.context) <= knobs.top_k
    places = [found.order.tolist().index(row) for row in found.context]
    assert places == sorted(set(places))
    assert all(found.cosine[row] >= knobs.threshold for row in found.context)
    counts = [sum(pages[row] == page for row in found.context) for page in set(pages)]
    assert not knobs.per_page or all(count <= knobs.per_page for count in counts)
    assert not knobs.max_documents or sum(map(bool, counts)) <= knobs.max_documents
    free = RankKnobs(strategy=Strategy.COSINE, top_k=50, per_page=0, per_cluster=0)
    everything = rank(QUESTION, index_of(texts), free)
    assert everything.context == tuple(everything.order.tolist()[:50])


def test_cosine_is_shown_raw_whatever_orders_the_passages() -> None:
    index = index_of(["a boat", "a river", "a lamp"])
    for strategy in Strategy:
        found = rank(QUESTION, index, RankKnobs(strategy=strategy))
        assert found.strategy == strategy
        assert found.cosine is not None
        expected = [
            float(vector(text, 24) @ vector(QUESTION, 24)) for text in ("a boat", "a river", "a lamp")
        ]
        np.testing.assert_allclose(found.cosine, expected, atol=1e-6)
        assert (found.bm25 is not None) == (strategy is not Strategy.COSINE)
        assert (found.fused is not None) == (strategy is Strategy.FUSED)


def test_fusion_adds_reciprocal_ranks_as_in_the_worked_example() -> None:
    cosine = np.array([0.9, 0.5, 0.7, 0.1], dtype=np.float32)
    bm25_scores = np.array([0.0, 3.0, 1.0, 2.0], dtype=np.float32)
    expected = [1 / 61, 1 / 63 + 1 / 61, 1 / 62 + 1 / 63, 1 / 64 + 1 / 62]
    np.testing.assert_allclose(fusion(cosine, bm25_scores), expected, rtol=1e-6)
    assert best_first(fusion(cosine, bm25_scores)).tolist() == [1, 2, 3, 0]


def test_without_vectors_bm25_ranks_and_the_ranking_says_so() -> None:
    index = index_of(["a lamp", "the river boat", "a boat of paper"], vectors=False)
    found = rank(QUESTION, index, RankKnobs(strategy=Strategy.COSINE, threshold=0.9))
    assert found.strategy == "bm25"
    assert found.cosine is None and found.fused is None
    assert found.context == (1, 2)


def test_score_that_is_no_number_is_last_outside_the_context() -> None:
    index = index_of(["a boat", "a river", "a lamp"])
    assert index.vectors is not None
    index.vectors[0, 0] = np.nan
    for strategy in (Strategy.COSINE, Strategy.FUSED):
        found = rank(QUESTION, index, RankKnobs(strategy=strategy))
        assert 0 not in found.context
    assert rank(QUESTION, index, RankKnobs(strategy=Strategy.COSINE)).order.tolist()[-1] == 0


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("texts", [[], ["..."], ["same"] * 5])
def test_hardly_anything_to_rank_is_no_trouble(strategy: Strategy, texts: list[str]) -> None:
    found = rank(QUESTION, index_of(texts), RankKnobs(strategy=strategy))
    assert found.order.tolist() == list(range(len(texts)))


def test_words_match_by_stems_of_the_passage_language() -> None:
    english = [f"{text} and this is what it was for." for text in ("Running boats", "A stone", "The lamps")]
    german = [f"{text} und das ist nicht alles, was wir haben." for text in ("Die Häuser", "Der Stein")]
    assert np.argmax(bm25("run boat", index_of(english).passages)) == 0
    assert bm25("lamp", index_of(english).passages).tolist()[2] > 0
    assert bm25("Haus", index_of(german).passages).tolist()[0] > 0


def test_bm25_leaves_function_words_of_a_question_out() -> None:
    passages = index_of(
        ["for i in 1..9 { thread.do() }", "Threads begin with spawn.", "Threads end."]
    ).passages
    assert np.argmax(bm25("How do I spawn threads in a program?", passages)) == 1
    assert bm25("To be or not to be", index_of(["a boat", "to be or not"]).passages).tolist()[1] > 0


def test_words_score_by_the_formula_of_lucene() -> None:
    passages = index_of(["red boat red", "blue boat", "stone wall stands here", "..."]).passages
    lengths, mean = [3, 2, 4, 0], 9 / 4

    def score(row: int, times: int, held: int) -> float:
        return math.log(1 + (4 - held + 0.5) / (held + 0.5)) * (
            times / (times + 1.5 * (1 - 0.75 + 0.75 * lengths[row] / mean))
        )

    expected = [score(0, 2, 1) + score(0, 1, 2), score(1, 1, 2), 0, 0]
    assert bm25("red boat red glacier", passages).tolist() == pytest.approx(expected, rel=1e-6)


def test_scripts_without_spaces_match_by_neighbouring_characters() -> None:
    passages = index_of(["東京の大学で学ぶ", "京都の寺を訪ねる", "ภาษาไทยไม่มีช่องว่าง"]).passages
    assert np.argmax(bm25("東京大学", passages)) == 0
    assert np.argmax(bm25("寺", passages)) == 1 or bm25("訪ねる", passages)[1] > 0
    assert np.argmax(bm25("ภาษาไทย", passages)) == 2
    assert tokens("東京タワー") == ["東京", "京タ", "タワ", "ワー"]
    assert tokens("ภาษา") == ["ภาษ", "าษา"]
    assert tokens("टीकाकरण केंद्र") == ["टीकाकरण", "केंद्र"]
    assert tokens("ＡＢＣ Straße") == ["abc", "strasse"]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The passages of a page are what the ranking is made from.", "en"),
        ("Die Abschnitte einer Seite sind das, woraus die Rangfolge entsteht.", "de"),
        ("Les passages de la page sont ce que le classement trie.", "fr"),
        ("Это предложение написано по-русски.", "ru"),
        ("这是一个句子。", "zh"),
        ("これは文です。", "ja"),
        ("이것은 문장입니다.", "ko"),
        ("ᚠᚢᚦᚨᚱᚲ", ""),
        ("", ""),
    ],
)
def test_the_language_is_detected_by_script_and_function_words(text: str, language: str) -> None:
    assert dominant_language([text]) == language


def test_sources_are_numbered_from_one_with_their_pages_titles() -> None:
    index = index_of(["a lamp", "the river boat"], pages=["x", "y"])
    pages = {
        key: Page(
            key=key,
            url=f"https://{key}.example/",
            title=f"Page {key}",
            article=Article(text="", extractor="test", site=f"Site {key}"),
        )
        for key in ("x", "y")
    }
    found = sources(rank(QUESTION, index, RankKnobs()), index, pages, RankKnobs())
    assert [(source.number, source.title, source.url, source.site) for source in found] == [
        (1, "Page y", "https://y.example/", "Site y"),
        (2, "Page x", "https://x.example/", "Site x"),
    ]
    assert found[0].passage == index.passages[1]


@given(TEXTS, st.floats(0.01, 1), st.sampled_from(Strategy))
def test_diversity_reorders_the_passages_with_falling_values(
    texts: list[str], diversity: float, strategy: Strategy
) -> None:
    found = rank(QUESTION, index_of(texts), RankKnobs(strategy=strategy, diversity=diversity))
    assert sorted(found.order.tolist()) == list(range(len(texts)))
    assert found.diverse is not None
    values = found.diverse[found.order]
    assert (np.diff(values) <= 1e-6).all()


def test_diversity_prefers_new_aspects_as_in_the_example() -> None:
    # Similarities to the question .9, .8, .7; B is .95 alike to A, C .4.
    order = np.array([0, 1, 2])
    a = np.array([1.0, 0, 0])
    b = np.array([0.95, np.sqrt(1 - 0.95**2), 0])
    c = np.array([0.4, 0, np.sqrt(1 - 0.4**2)])
    vectors = np.array([a, b, c], dtype=np.float32)
    relevance = np.array([0.9, 0.8, 0.7], dtype=np.float32)
    picked, values = maximal_marginal_relevance(order, relevance, vectors, diversity=0.3)
    assert picked.tolist() == [0, 2, 1]
    np.testing.assert_allclose(values, [0.63, 0.275, 0.37], atol=1e-6)


def test_diversity_leaves_passages_beyond_the_pool_in_place() -> None:
    texts = [f"river boat {n}" for n in range(POOL + 30)]
    plain = rank(QUESTION, index_of(texts), RankKnobs())
    spread = rank(QUESTION, index_of(texts), RankKnobs(diversity=0.5))
    assert spread.order[POOL:].tolist() == plain.order[POOL:].tolist()
    assert spread.order[:POOL].tolist() != plain.order[:POOL].tolist()
    assert spread.diverse is not None
    assert np.isnan(spread.diverse[spread.order[POOL:]]).all()


@pytest.mark.parametrize(("weight", "best"), [(0.0, 1), (0.5, 1), (1.0, 0)])
def test_the_weight_of_cosine_decides_between_meanings_and_words(weight: float, best: int) -> None:
    cosine = np.array([0.9, 0.5, 0.1], dtype=np.float32)
    bm25_scores = np.array([0.0, 3.0, 1.0], dtype=np.float32)
    assert np.argmax(fusion(cosine, bm25_scores, weight=weight)) == best


def test_sites_are_allowed_and_excluded_by_domain_but_ranked() -> None:
    pages = ["https://a.example.org/x", "https://example.org/y", "https://notexample.org/z"]
    index = index_of(["a boat", "a river boat", "the river"], pages=pages)
    only = rank(QUESTION, index, RankKnobs(only_domains="https://www.Example.org/page, "))
    assert {pages[index_row] for index_row in only.context} == set(pages[:2])
    assert len(only.order) == 3
    without = rank(QUESTION, index, RankKnobs(without_domains="*.example.org"))
    assert [pages[row] for row in without.context] == pages[2:]
    both = rank(QUESTION, index, RankKnobs(only_domains="example.org", without_domains="a.example.org"))
    assert [pages[row] for row in both.context] == pages[1:2]


STORY = "Which boat is on the river? The boat with nine lamps is on the river since the storm of last week."


def copied(*, of: int) -> Index:
    """Return an index of a story, so many copies of it on other pages, and another text."""
    texts = [STORY, *(f"{STORY} Edition {n}." for n in range(of)), "A paper boat is no boat for the river."]
    return index_of(texts)


def test_default_context_says_nothing_twice() -> None:
    index = copied(of=2)
    ranking = rank(QUESTION, index, RankKnobs())
    assert sorted(ranking.context)[-1] == 3, "the other text"
    assert len(ranking.context) == 2
    reasons = exclusion_reasons(
        index.passages, ranking.order.tolist(), RankKnobs(), cosine=ranking.cosine, bm25_scores=None
    )
    assert Counter(reason for _, reason in reasons) == {None: 2, ExclusionReason.COPY: 2}


@pytest.mark.parametrize(("limit", "size"), [(0, 4), (1, 2), (2, 3), (3, 4)])
def test_context_has_as_many_copies_as_the_knob_says(limit: int, size: int) -> None:
    assert len(rank(QUESTION, copied(of=2), RankKnobs(per_cluster=limit)).context) == size


def test_chapters_of_a_page_that_has_them_all_are_not_copies_of_each_other() -> None:
    chapters = [f"Chapter {n}: the boat number {n} of the river carries {n * 7} stones." for n in range(4)]
    pages = ["whole"] * 4 + [f"chapter{n}" for n in range(4)]
    index = index_of([*chapters, *(f"{text} Read on." for text in chapters)], pages=pages)
    context = rank(QUESTION, index, RankKnobs(per_page=0)).context
    assert sorted(row % 4 for row in context) == [0, 1, 2, 3]


@given(TEXTS, KNOBS)
def test_every_passage_is_in_the_context_or_has_its_reason(texts: list[str], knobs: RankKnobs) -> None:
    index = index_of(texts, pages=[f"p{n % 3}" for n in range(len(texts))])
    found = rank(QUESTION, index, knobs)
    bm25_scores = found.bm25 if found.strategy == "bm25" else None
    told = list(
        exclusion_reasons(
            index.passages,
            found.order.tolist(),
            knobs,
            cosine=found.cosine,
            bm25_scores=bm25_scores,
        )
    )
    assert [row for row, _ in told] == found.order.tolist()
    assert tuple(row for row, reason in told if reason is None) == found.context


def spoken(languages: dict[str, str], supported: tuple[str, ...]) -> tuple[Index, dict[str, Page]]:
    index = replace(
        index_of(["a boat"] * len(languages), pages=list(languages)), embedder_languages=supported
    )
    return index, {key: page(key, language=language) for key, language in languages.items()}


ENGLISH = "Which of the boats is on the river?"
GERMAN = "Welches der Boote ist auf dem Fluss und nicht im Hafen?"


def test_vectors_count_little_in_an_unsupported_language() -> None:
    index, pages = spoken({"en": "en-GB", "de": "de", "unknown": ""}, ("en",))
    low = 0.5 * UNSUPPORTED_LANGUAGE_WEIGHT
    assert cosine_share(ENGLISH, index, pages, 0.5).tolist() == pytest.approx([0.5, low, 0.5])
    assert cosine_share(GERMAN, index, pages, 0.5).tolist() == pytest.approx([0.5, low, low])
    assert cosine_share("?", index, pages, 0.5).tolist() == pytest.approx([0.5, low, 0.5])


def test_vectors_count_nothing_in_an_unreadable_script() -> None:
    index, pages = spoken({"hi": "hi", "taken for Marathi": "mr", "unknown": ""}, ("en",))
    assert cosine_share("गिद्ध कहाँ घोंसला बनाते हैं?", index, pages, 0.5).tolist() == [0, 0, 0]
    index, pages = spoken({"zh": "zh", "unknown": ""}, ("en",))
    assert cosine_share("海鸥在哪里筑巢？", index, pages, 0.5).tolist() == [0, 0]
    assert cosine_share("Where do gulls nest?", index, pages, 0.5).tolist() == [0, 0.5]


def test_words_count_nothing_across_two_supported_languages() -> None:
    index, pages = spoken({"en": "en", "de": "de"}, ("de", "en"))
    assert cosine_share(GERMAN, index, pages, 0.3).tolist() == pytest.approx([1, 0.3])


def test_embedder_without_stated_languages_follows_the_knob() -> None:
    index, pages = spoken({"en": "en", "zh": "zh"}, ())
    assert cosine_share(GERMAN, index, pages, 0.7).tolist() == pytest.approx([0.7, 0.7])


def test_fusion_in_an_unspoken_language_follows_the_words() -> None:
    texts = ["Der Stein liegt im Hafen", "Das Boot ist auf dem Fluss"]
    index = index_of(texts, pages=["a", "b"])
    assert index.vectors is not None and index.question is not None
    index.vectors[0] = index.question  # the embedder is wrong about German
    pages = {key: page(key, language="de") for key in ("a", "b")}
    knobs = RankKnobs(strategy=Strategy.FUSED, cosine_weight=0.6)
    assert rank(GERMAN, index, knobs, pages).order[0] == 0
    assert rank(GERMAN, replace(index, embedder_languages=("en",)), knobs, pages).order[0] == 1


def test_reranked_passages_come_first_and_others_keep_order() -> None:
    index = index_of(["a boat", "a river boat", "a lamp", "a cloud"])
    by_cosine = RankKnobs(strategy=Strategy.COSINE)
    plain = rank(QUESTION, index, by_cosine)
    last = plain.order[-1]
    scores = np.full(4, np.nan, dtype=np.float32)
    scores[last], scores[plain.order[0]] = 9.0, -3.0
    found = rank(QUESTION, index, RankKnobs(rerank=True), rerank=scores, reranker="judge@test")
    assert found.order.tolist() == [last, *[row for row in plain.order.tolist() if row != last]]
    assert (found.strategy, found.reranker) == ("rerank", "judge@test")
    assert found.rerank is not None and found.rerank[last] == 9
    off = rank(QUESTION, index, by_cosine, rerank=scores)
    assert (off.order.tolist(), off.strategy) == (plain.order.tolist(), "cosine")
    spread = rank(QUESTION, index, RankKnobs(rerank=True, diversity=0.1), rerank=scores)
    assert spread.order[0] == last


def context_of(index: Index, knobs: RankKnobs) -> tuple[int, ...]:
    """The rows that become sources when the index's own order is the ranking."""
    order = range(len(index.passages))
    reasons = exclusion_reasons(index.passages, order, knobs, cosine=None, bm25_scores=None)
    return tuple(row for row, reason in reasons if reason is None)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(0, 20), st.integers(0, 5))
def test_automatic_page_limit_yields_only_to_fill_the_context(
    pages: list[int], top_k: int, per_cluster: int
) -> None:
    index = index_of([f"cloud {n % 7}" for n in range(len(pages))], pages=[f"p{page}" for page in pages])

    def context(per_page: int) -> list[str]:
        knobs = RankKnobs(top_k=top_k, per_page=per_page, per_cluster=per_cluster)
        rows = context_of(index, knobs)
        return [index.passages[row].place.page for row in rows]

    limited, free, automatic = context(3), context(0), context(-1)
    assert len(automatic) == len(free)
    if len(limited) == len(free):
        assert automatic == limited


def stored(collection: str, passage: str, source: str = "", **metadata: str) -> Page:
    """A passage of a collection as a run reads it: a page of its own."""
    key = passage_url(collection, passage)
    article = Article(text=passage, extractor="collection", site=source, metadata=metadata)
    return Page(key=key, url=key, title=source, article=article)


def test_context_has_passages_of_a_limited_number_of_documents() -> None:
    names = ["a", "b", "a", "c", "b", "a"]
    index = index_of([f"cloud {n}" for n in range(6)], pages=names)
    knobs = RankKnobs(max_documents=2, per_page=0)
    told = dict(exclusion_reasons(index.passages, range(6), knobs, cosine=None, bm25_scores=None))
    full = ExclusionReason.DOCUMENTS_FULL
    assert told == {0: None, 1: None, 2: None, 3: full, 4: None, 5: None}
    few = RankKnobs(max_documents=2, per_page=1)
    assert context_of(index, few) == (0, 1)
    assert context_of(index, RankKnobs()) == (0, 1, 2, 3, 4, 5)


def test_words_of_title_and_heading_count_for_a_passage() -> None:
    texts = ["It closed in 1911.", "It was high.", "Cats sleep."]
    index = index_of(texts, pages=["a", "b", "c"])
    pages = {
        key: Page(key=key, url=key, title=title, article=Article(text=text, extractor="", sections=sections))
        for key, title, text, sections in zip(
            "abc", ("Kiln", "Kiln", "Animals"), texts, ((), ((0, "Chimney"),), ()), strict=True
        )
    }
    alone = rank("kiln", index, RankKnobs(strategy=Strategy.BM25)).bm25
    titled = rank("kiln chimney", index, RankKnobs(strategy=Strategy.BM25), pages).bm25
    assert alone is not None and titled is not None
    assert not alone.any()
    assert titled[1] > titled[0] > titled[2] == 0


def test_passages_of_a_collection_count_by_their_document() -> None:
    pages = [
        stored("books", "1", "one.pdf", document="d1"),
        stored("books", "2", "one.pdf", document="d1"),
        stored("books", "3", "two.pdf", document="d2"),
        stored("other", "4", "one.pdf", document="d1"),
        stored("foreign", "5", "old.txt"),
        stored("foreign", "6", "old.txt"),
        stored("foreign", "7"),
        stored("foreign", "8"),
    ]
    by_key = {page.key: page for page in pages}
    index = index_of(["a river boat"] * len(pages), pages=[page.key for page in pages])

    def context(limit: int) -> tuple[int, ...]:
        knobs = RankKnobs(max_documents=limit, per_cluster=0, top_k=50, strategy=Strategy.COSINE)
        return rank(QUESTION, index, knobs, by_key).context

    assert context(1) == (0, 1)
    assert context(2) == (0, 1, 2)
    assert context(4) == (0, 1, 2, 3, 4, 5)
    assert context(5) == (0, 1, 2, 3, 4, 5, 6), "nothing tells which document the last two are from"


def test_automatic_page_limit_makes_room_where_documents_are_limited() -> None:
    index = index_of([f"cloud {n}" for n in range(10)], pages=["a"] * 5 + ["b"] * 5)

    def context(limit: int) -> tuple[int, ...]:
        knobs = RankKnobs(top_k=5, max_documents=limit)
        return context_of(index, knobs)

    assert context(0) == (0, 1, 2, 5, 6)
    assert context(1) == (0, 1, 2, 3, 4)
