"""A page that a person excludes keeps its scores and loses its place among the sources."""

import numpy as np
import pytest

from core.config.knobs import Knobs, RankKnobs, Strategy
from core.config.schema import parameters
from core.errors import BadInput
from core.model import Index, Passage, Place
from core.stages.rank import rank
from core.stages.ranking.context_selection import ExclusionReason, exclusion_reasons

PAGES = ("https://a.example/", "https://b.example/", "https://c.example/")
INDEX = Index(
    passages=tuple(
        Passage(text=f"kettle number {n}", place=Place(page=PAGES[n % 3], start=n, end=n + 1))
        for n in range(6)
    ),
    vectors=np.eye(6, 8, dtype=np.float32),
    question=np.array([0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0, 0], dtype=np.float32),
    embedder="test",
)


@pytest.mark.parametrize("strategy", list(Strategy))
def test_passages_of_an_excluded_page_are_ranked_without_becoming_sources(strategy: Strategy) -> None:
    all_in = rank("kettle", INDEX, RankKnobs(strategy=strategy))
    without = rank("kettle", INDEX, RankKnobs(strategy=strategy, excluded=(PAGES[0],)))
    assert without.order.tolist() == all_in.order.tolist()
    assert {INDEX.passages[row].place.page for row in without.context} == set(PAGES[1:])
    assert without.context == tuple(row for row in all_in.context if row % 3)


def test_excluding_makes_room_for_the_next_best() -> None:
    two = rank("kettle", INDEX, RankKnobs(top_k=2))
    assert two.context == (0, 1)
    assert rank("kettle", INDEX, RankKnobs(top_k=2, excluded=(PAGES[0],))).context == (1, 2)


def test_excluding_every_page_leaves_no_sources_and_names_the_reason() -> None:
    knobs = RankKnobs(excluded=PAGES)
    assert rank("kettle", INDEX, knobs).context == ()
    reasons = exclusion_reasons(INDEX.passages, range(6), knobs, cosine=None, bm25_scores=None)
    assert {reason for _, reason in reasons} == {ExclusionReason.EXCLUDED}


def test_passages_that_are_too_short_become_no_sources() -> None:
    texts = ("a kettle", "kettle ten", " kettle  \n ")
    passages = tuple(
        Passage(text=text, place=Place(page=PAGES[n], start=0, end=len(text))) for n, text in enumerate(texts)
    )
    index = Index(passages=passages, vectors=None, question=None, embedder="test")
    assert len(rank("kettle", index, RankKnobs()).context) == 3
    knobs = RankKnobs(min_characters=10)
    assert rank("kettle", index, knobs).context == (1,)
    reasons = dict(exclusion_reasons(passages, range(3), knobs, cosine=None, bm25_scores=None))
    assert reasons == {0: ExclusionReason.SHORT, 1: None, 2: ExclusionReason.SHORT}


def test_excluded_pages_are_a_list_of_texts_with_bounds() -> None:
    (knob,) = (one for one in parameters() if one.path == "rank.excluded")
    assert (knob.type, knob.items, knob.default) == ("array", "string", ())
    assert Knobs.parse({"rank": {"excluded": [PAGES[0]]}}).rank.excluded == (PAGES[0],)
    for wrong in ([1], ["x" * 5000], ["x"] * 201, "x"):
        with pytest.raises(BadInput):
            Knobs.parse({"rank": {"excluded": wrong}})
