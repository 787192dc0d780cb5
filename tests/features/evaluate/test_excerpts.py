"""Retrieved text against marked excerpts."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.features.evaluate.metrics.excerpt_metrics import (
    Range,
    excerpt_iou,
    excerpt_precision,
    excerpt_recall,
)

RANGES = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 30), st.integers(1, 12)).map(
        lambda drawn: (drawn[0], drawn[1], drawn[1] + drawn[2])
    ),
    max_size=6,
)


def characters(ranges: list[Range]) -> list[tuple[str, int]]:
    return [(document, place) for document, start, end in ranges for place in range(start, end)]


@given(excerpts=RANGES, retrieved=RANGES)
def test_the_figures_are_those_of_counting_characters(excerpts: list[Range], retrieved: list[Range]) -> None:
    assume(excerpts)
    marked, in_context = set(characters(excerpts)), characters(retrieved)
    common = len(marked & set(in_context))
    assert excerpt_recall(excerpts, retrieved) == common / len(marked)
    assert excerpt_precision(excerpts, retrieved) == (common / len(in_context) if in_context else 0)
    assert excerpt_iou(excerpts, retrieved) == common / (len(in_context) + len(marked) - common)


def test_repeated_overlap_lowers_precision_but_not_recall() -> None:
    excerpt = [("page", 10, 20)]
    assert excerpt_precision(excerpt, [("page", 10, 20)]) == 1
    assert excerpt_precision(excerpt, [("page", 10, 20), ("page", 10, 20)]) == 0.5
    assert excerpt_recall(excerpt, [("page", 10, 20), ("page", 10, 20)]) == 1


def test_a_range_without_characters_is_refused() -> None:
    with pytest.raises(ValueError, match="not a range of characters: 5 to 5 in 'page'"):
        excerpt_recall([("page", 5, 5)], [])
    with pytest.raises(ValueError, match="there is no excerpt"):
        excerpt_recall([], [("page", 0, 5)])
