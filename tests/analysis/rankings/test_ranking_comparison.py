from dataclasses import replace
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.analysis.rankings.passage_matching import match_passages
from core.analysis.rankings.ranking_comparison import compare_rankings, jaccard, rank_biased_overlap
from core.config.knobs import ChunkKnobs, RankKnobs, Strategy
from core.features.share.without_texts import filling
from core.model import Article, Index, Page, Passage, Place
from core.run.state import Run
from core.stages.chunk import folded, passages_of
from core.stages.rank import rank
from tests.analysis.sample import page, run_of
from tests.growth import LINEAR, growth

LISTS = st.permutations(range(12)).flatmap(lambda items: st.integers(0, 12).map(lambda n: items[:n]))


@given(LISTS, LISTS)
def test_agreement_lies_between_its_bounds_and_is_symmetric(one: list[int], other: list[int]) -> None:
    overlap = rank_biased_overlap(one, other)
    assert 0 <= overlap <= 1
    assert overlap == pytest.approx(rank_biased_overlap(other, one))
    assert 0 <= jaccard(one, other, 5) <= 1


@given(LISTS)
def test_list_agrees_with_itself_and_not_with_a_disjoint_one(one: list[int]) -> None:
    assert rank_biased_overlap(one, one) == pytest.approx(1)
    assert jaccard(one, one, 3) == 1
    if one:
        assert rank_biased_overlap(one, [item + 100 for item in one]) == 0


def test_agreement_at_the_top_counts_more() -> None:
    base = list(range(10))
    top, bottom = [1, 0, *base[2:]], [*base[:8], 9, 8]
    assert rank_biased_overlap(base, top) < rank_biased_overlap(base, bottom) < 1


def test_rank_biased_overlap_follows_the_formula_in_an_example() -> None:
    # Two of three shared: overlaps at depths 1 to 3 are 0/1, 1/2, 2/3.
    p = 0.9
    expected = 2 / 3 * p**3 + (1 - p) / p * (0 * p + 1 / 2 * p**2 + 2 / 3 * p**3)
    assert rank_biased_overlap(["a", "b", "c"], ["b", "x", "c"], p=p) == pytest.approx(expected)


def test_head_of_a_list_agrees_as_far_as_known() -> None:
    assert rank_biased_overlap([1, 2], [1, 2, 3, 4]) == pytest.approx(1)


# --- rankings ---------------------------------------------------------------------------------------------

TEXT = " ".join(f"Sentence {n} speaks of boats, rivers and number {n * n}." for n in range(40))


def test_other_top_k_changes_only_the_context() -> None:
    before, after = run_of(top_k=1), run_of(top_k=3)
    diff = compare_rankings(before, after)
    assert diff is not None
    assert diff.overlap == pytest.approx(1)
    assert diff.contexts == pytest.approx(1 / 3)
    assert [change.entered for change in diff.changes] == [False, True, True]
    assert [change.rise for change in diff.changes] == [0, 0, 0]
    assert diff.after.context_tokens > diff.before.context_tokens


def test_passages_cut_elsewhere_are_matched_by_what_they_share() -> None:
    pages = page("https://a.example/", TEXT)
    small = folded(passages_of(pages, ChunkKnobs(size=300, overlap=0)))
    large = folded(passages_of(pages, ChunkKnobs(size=340, overlap=0)))
    pairs = match_passages(small, large)
    assert len(set(pairs.values())) == len(pairs) >= len(large) - 1
    for row, other in pairs.items():
        one, two = small[row].place, large[other].place
        assert min(one.end, two.end) - max(one.start, two.start) >= 0.5 * min(
            one.end - one.start, two.end - two.start
        )


def test_passages_of_a_changed_page_match_by_their_words() -> None:
    texts = [
        " ".join(f"{name} {n} floats past mill {n * n}." for n in range(12)) for name in ("Boat", "Raft")
    ]
    before = _passages(texts[0], texts[1])
    after = _passages("A new line is above.", texts[1], texts[0].replace("mill 9.", "mill 10."))
    assert match_passages(before, after) == {0: 2, 1: 1}
    unlike = _passages("Nothing of this was there before, and it is about lamps alone.")
    assert match_passages(before[:1], unlike) == {}


def test_a_run_without_texts_is_compared_by_the_places_of_its_passages() -> None:
    knobs = [ChunkKnobs(size=size, overlap=0) for size in (300, 340)]
    small, large = (folded(passages_of(page("https://a.example/", TEXT), one)) for one in knobs)
    emptied = [replace(one, text=filling(one.place.start, one.place.end)) for one in small]
    own = {row: row for row in range(len(small))}
    assert match_passages(emptied, small) == match_passages(small, emptied) == own
    assert match_passages(emptied, large) == match_passages(small, large)
    elsewhere = [replace(one, place=replace(one.place, page="https://b.example/")) for one in emptied]
    assert match_passages(emptied, elsewhere) == {}


def _passages(*texts: str) -> list[Passage]:
    """Passages of one page, one after the other."""
    starts = accumulate((len(text) + 2 for text in texts), initial=0)
    return [
        Passage(text=text, place=Place(page="https://a.example/", start=start, end=start + len(text)))
        for text, start in zip(texts, starts, strict=False)
    ]


def test_same_text_at_another_address_is_the_same_passage() -> None:
    one = run_of({"https://a.example/": "A river boat.", "https://b.example/": "Clouds."})
    two = run_of({"https://mirror.example/": "A river  boat.", "https://c.example/": "Lamps."})
    diff = compare_rankings(one, two)
    assert diff is not None
    assert [change.label for change in diff.changes if change.before and change.after] == ["A river boat."]
    assert sum(change.before is None for change in diff.changes) == 1
    assert sum(change.after is None for change in diff.changes) == 1


def test_embedders_of_two_widths_are_compared_by_rank_alone() -> None:
    one = run_of()
    assert one.index is not None and one.index.vectors is not None and one.index.question is not None
    narrow = replace(
        one.index, vectors=one.index.vectors[:, :16].copy(), question=one.index.question[:16].copy()
    )
    two = replace(one, index=narrow, ranking=rank(one.question, narrow, RankKnobs()))
    diff = compare_rankings(one, two)
    assert diff is not None
    assert all(change.before and change.after for change in diff.changes)


def test_comparison_needs_a_ranking_and_may_be_empty() -> None:
    assert compare_rankings(Run(), run_of()) is None
    diff = compare_rankings(run_of({}), run_of({}))
    assert diff is not None
    assert (diff.changes, diff.overlap, diff.contexts) == ((), 1.0, 1.0)


@given(st.sampled_from(Strategy), st.sampled_from(Strategy), st.floats(0, 1), st.integers(0, 6))
def test_every_passage_moves_once(one: Strategy, two: Strategy, diversity: float, top_k: int) -> None:
    texts = {f"https://{n}.example/": f"River boat {n % 3} and lamp {n}." for n in range(5)}
    before = run_of(texts, strategy=one)
    after = run_of(texts, strategy=two, diversity=diversity, top_k=top_k)
    diff = compare_rankings(before, after)
    assert diff is not None
    assert sorted(change.before or 0 for change in diff.changes) == [1, 2, 3, 4, 5]
    assert sorted(change.after or 0 for change in diff.changes) == [1, 2, 3, 4, 5]
    assert sum(change.entered for change in diff.changes) - sum(
        change.left for change in diff.changes
    ) == len(after.sources) - len(before.sources)


@pytest.mark.slow
def test_the_time_to_compare_runs_grows_with_their_passages() -> None:
    def run(count: int, shift: int, seed: int) -> Run:
        def passage(n: int) -> Passage:
            page, start = n // 50, n % 50 * 100 + shift
            text = "".join(f"{row:>100}" for row in range(page * 50, page * 50 + 51))
            return Passage(
                text=text[start : start + 90], place=Place(page=f"p{page}", start=start, end=start + 90)
            )

        passages = tuple(map(passage, range(count)))
        draw = np.random.default_rng(seed)
        vectors = draw.standard_normal((len(passages), 8)).astype(np.float32)
        index = Index(passages=passages, vectors=vectors, question=vectors[0], embedder="test")
        pages = {
            key: Page(key=key, url="", title="", article=Article(text="", extractor="test"))
            for key in {passage.place.page for passage in passages}
        }
        return Run(pages=pages, index=index, ranking=rank("?", index, RankKnobs()))

    def pair(count: int) -> tuple[Run, Run]:
        return run(count, 0, 1), run(count, 10, 2)

    diff = compare_rankings(*pair(1_000))
    assert diff is not None
    assert sum(bool(change.before and change.after) for change in diff.changes) == 1_000
    assert growth(pair, lambda runs: compare_rankings(*runs), 1_000, 10_000) < LINEAR
