"""Labels stay through every cut of a page, and what they say of a ranking is bounded by what is not labelled."""

import itertools
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config.knobs import Boundary, ChunkKnobs
from core.config.settings import HANDBOOK
from core.features.evaluate.labels.graded_ranking import (
    DEPTH,
    Bounds,
    GradedRanking,
    compare,
    graded,
    next_to_label,
)
from core.features.evaluate.labels.passage_labels import (
    label,
    labelled_data_set,
    passage_grades,
    place_labels,
)
from core.features.evaluate.metrics import ranking_metrics
from core.features.evaluate.statistics.significance import Verdict
from core.model import Article, Grade, Index, Label, Page, Passage, Place, Ranking
from core.stages.chunk import folded, passages_of

CUTS = (
    ChunkKnobs(size=500),
    ChunkKnobs(size=200),
    ChunkKnobs(size=1000),
    ChunkKnobs(boundary=Boundary.SENTENCE),
    ChunkKnobs(boundary=Boundary.FIXED),
)


def page(text: str, key: str = "a") -> Page:
    return Page(key=key, url=f"https://{key}.example/", title=key, article=Article(text=text, extractor=""))


def articles() -> dict[str, Page]:
    paths: list[Path] = sorted(HANDBOOK.glob("*.md"))[:6]
    return {path.stem: page(path.read_text("utf-8"), path.stem) for path in paths}


def cut(pages: dict[str, Page], knobs: ChunkKnobs) -> tuple[Passage, ...]:
    return folded(passage for page in pages.values() for passage in passages_of(page, knobs))


def context_of(passages: Sequence[Passage], rows: Sequence[int]) -> Ranking:
    order = [*rows, *(row for row in range(len(passages)) if row not in rows)]
    return Ranking(order=np.array(order, dtype=np.int64), context=tuple(rows), strategy="bm25")


def index_of(passages: Sequence[Passage]) -> Index:
    return Index(passages=tuple(passages), vectors=None, question=None, embedder="")


class TestProjection:
    def test_sixty_labels_survive_every_cut(self) -> None:
        pages, dice = articles(), random.Random(1)
        first = cut(pages, CUTS[0])
        chosen = dice.sample(range(len(first)), 60)
        grades = {row: Grade(dice.randrange(3)) for row in chosen}
        labels = [
            label(pages[first[row].place.page], first[row].place, grade) for row, grade in grades.items()
        ]
        placed = place_labels(labels, pages)
        assert (len(placed.labels), placed.moved, placed.gone) == (60, {}, ())
        for knobs in CUTS:
            passages = cut(pages, knobs)
            projected = passage_grades(passages, placed.labels)
            for one in labels:
                if one.grade > 0:
                    holding = [
                        row for row, passage in enumerate(passages) if _common(passage.place, one.place)
                    ]
                    assert any(projected.get(row, 0) >= one.grade for row in holding)
            context = dice.sample(range(len(passages)), 8)
            places = [passages[row].place for row in context]
            recall = graded(index_of(passages), context_of(passages, context), placed, places).recall
            assert recall == pytest.approx(_recall_by_hand(labels, [passages[row].place for row in context]))
        assert passage_grades(first, placed.labels) == grades

    def test_half_of_a_label_or_passage_is_enough(self) -> None:
        text = "x" * 1000
        relevant = label(page(text), Place(page="a", start=0, end=500), Grade.PARTLY)
        places = [(0, 200), (200, 400), (400, 601), (350, 1000), (250, 900), (601, 1000)]
        passages = [
            Passage(text=text[start:end], place=Place(page="a", start=start, end=end))
            for start, end in places
        ]
        assert passage_grades(passages, [relevant]) == {0: 1, 1: 1, 4: 1}

    def test_passage_holding_most_of_a_label_is_relevant(self) -> None:
        text = "x" * 900
        relevant = label(page(text), Place(page="a", start=250, end=650), Grade.RELEVANT)
        passages = [
            Passage(text=text[start : start + 300], place=Place(page="a", start=start, end=start + 300))
            for start in (100, 400)
        ]
        assert passage_grades(passages[:1], [relevant]) == {0: 2}

    def test_a_label_of_exactly_the_passage_decides(self) -> None:
        text = "x" * 500
        whole = label(page(text), Place(page="a", start=0, end=500), Grade.RELEVANT)
        part = label(page(text), Place(page="a", start=0, end=100), Grade.NOT_RELEVANT)
        passages = [
            Passage(text=text[start:end], place=Place(page="a", start=start, end=end))
            for start, end in ((0, 100), (100, 200))
        ]
        assert passage_grades(passages, [whole, part]) == {0: 0, 1: 2}

    def test_passage_labelled_for_less_than_half_is_unjudged(self) -> None:
        text = "x" * 1000
        no = label(page(text), Place(page="a", start=0, end=300), Grade.NOT_RELEVANT)
        passages = [Passage(text=text[:end], place=Place(page="a", start=0, end=end)) for end in (600, 601)]
        assert passage_grades(passages, [no]) == {0: 0}

    def test_same_text_on_another_page_has_the_same_grade(self) -> None:
        place, other = Place(page="a", start=0, end=5), Place(page="b", start=3, end=8)
        one = label(page("...kettl", "b"), other, Grade.RELEVANT)
        assert passage_grades([Passage(text="kettl", place=place, also=(other,))], [one]) == {0: 2}


class TestChangedPages:
    def test_label_is_found_by_its_text_and_reported_as_moved(self) -> None:
        before, after = page("First. Kettles boil."), page("A new beginning. First. Kettles boil.")
        one = label(before, Place(page="a", start=7, end=20), Grade.RELEVANT)
        placed = place_labels([one], {"a": after})
        (moved,) = placed.labels
        assert placed.moved == {moved.place: one.place}
        assert after.text[moved.place.start : moved.place.end] == "Kettles boil."
        assert moved.digest == one.digest, "it is still the page that was labelled"

    @pytest.mark.parametrize("text", ["Nothing of it.", "Kettles boil. And again: Kettles boil."])
    def test_removed_or_ambiguous_text_is_not_placed(self, text: str) -> None:
        one = label(page("First. Kettles boil."), Place(page="a", start=7, end=20), Grade.RELEVANT)
        placed = place_labels([one], {"a": page(text)})
        assert (placed.labels, placed.gone) == ((), (one,))

    def test_page_missing_in_the_run_is_named_so(self) -> None:
        one = label(page("Kettles boil."), Place(page="a", start=0, end=7), Grade.RELEVANT)
        assert place_labels([one], {}).elsewhere == (one,)


ids = st.lists(st.sampled_from("abcdefghijklmno"), unique=True, min_size=1, max_size=15).map(tuple)
some_grades = st.dictionaries(st.sampled_from("abcdefghijklmno"), st.integers(0, 2), max_size=15)


def ranked(order: Sequence[str], grades: dict[str, int]) -> GradedRanking:
    return GradedRanking(order=tuple(order), grades=grades, recall=None, precision=None)


class TestMetrics:
    @given(ids, some_grades, st.integers(0, 10**6))
    def test_whatever_is_labelled_next_stays_within_the_bounds(
        self, order: tuple[str, ...], grades: dict[str, int], seed: int
    ) -> None:
        grades = {passage: grade for passage, grade in grades.items() if passage in order}
        before, dice = ranked(order, grades), random.Random(seed)
        missing = [passage for passage in order[:DEPTH] if passage not in grades]
        after = ranked(order, grades | {passage: dice.randrange(3) for passage in missing})
        for name in ("ndcg", "reciprocal_rank"):
            bounds, exact = getattr(before, name), getattr(after, name)
            if bounds is not None and exact is not None:
                assert exact.low == exact.high
                assert bounds.low - 1e-9 <= exact.low <= bounds.high + 1e-9

    def test_without_a_missing_label_it_is_the_metric_itself(self) -> None:
        graded = ranked("abc", {"a": 0, "b": 2, "c": 1})
        exact = ranking_metrics.ndcg("abc", {"a": 0, "b": 2, "c": 1}, DEPTH)
        assert graded.ndcg == Bounds(exact, exact)
        assert graded.reciprocal_rank == Bounds(0.5, 0.5)
        assert graded.labelled == 3
        assert (str(Bounds(0.5, 0.5)), str(Bounds(0.25, 0.5))) == ("0.500", "0.250 to 0.500")

    def test_without_a_relevant_passage_there_is_nothing_to_measure(self) -> None:
        assert ranked("ab", {"a": 0}).ndcg is None


class TestVerdict:
    @given(ids, some_grades, st.randoms(use_true_random=False))
    def test_no_further_label_changes_a_verdict(
        self, order: tuple[str, ...], grades: dict[str, int], dice: random.Random
    ) -> None:
        grades = {passage: grade for passage, grade in grades.items() if passage in order}
        other = dice.sample(order, len(order))
        verdict = compare(ranked(order, grades), ranked(other, grades)).verdict
        if verdict is Verdict.OPEN:
            return
        full = {passage: dice.randrange(3) for passage in order} | grades
        if any(full.values()):
            ours, theirs = (ranking_metrics.ndcg(ranking, full, DEPTH) for ranking in (order, other))
            expected = {Verdict.BETTER: ours > theirs, Verdict.WORSE: ours < theirs}
            assert expected.get(verdict, ours == pytest.approx(theirs))

    def test_equal_grades_that_change_places_make_no_difference(self) -> None:
        grades = {"f": 2, "b": 2, "a": 0, "k": 2}
        verdicts = {
            compare(ranked("fbak", grades), ranked(other, grades)).verdict
            for other in itertools.permutations("fbak")
            if other[2] == "a"
        }
        assert verdicts == {Verdict.EQUAL}

    @given(ids, some_grades, st.randoms(use_true_random=False))
    def test_both_values_and_their_difference_stay_within_the_bounds(
        self, order: tuple[str, ...], grades: dict[str, int], dice: random.Random
    ) -> None:
        grades = {passage: grade for passage, grade in grades.items() if passage in order}
        other = dice.sample(order, len(order))
        verdict = compare(ranked(order, grades), ranked(other, grades))
        if verdict.ranking is None or verdict.other is None:
            return
        full = {passage: dice.randrange(3) for passage in {*order[:DEPTH], *other[:DEPTH]}} | grades
        ours, theirs = (ranking_metrics.ndcg(ranking, full, DEPTH) for ranking in (order, other))
        exact = (verdict.ranking, ours), (verdict.other, theirs), (verdict.difference, ours - theirs)
        for bounds, value in exact:
            assert bounds.low - 1e-9 <= value <= bounds.high + 1e-9

    def test_a_difference_is_certain_where_the_bounds_overlap(self) -> None:
        """The missing passage has rank 2 in both; a partly relevant one moved from rank 4 to rank 3."""
        grades = {"a": 2, "c": 1, "d": 0}
        verdict = compare(ranked("abcd", grades), ranked("abdc", grades))
        assert verdict.ranking is not None and verdict.other is not None
        assert verdict.ranking.low < verdict.other.high, "the ranges alone show nothing"
        assert verdict.verdict is Verdict.BETTER
        assert verdict.difference.low > 0
        assert verdict.difference.signed.startswith("+0.")

    def test_labelling_what_is_proposed_comes_to_a_verdict(self) -> None:
        order, other = tuple("abcdefghij"), tuple("jbcdefghia")
        truth, grades = dict.fromkeys("abcdefghij", 0) | {"a": 2}, {}
        while compare(ranked(order, grades), ranked(other, grades)).verdict is Verdict.OPEN:
            chosen = next_to_label(ranked(order, grades), ranked(other, grades))
            assert chosen is not None
            grades[chosen] = truth[chosen]
        assert compare(ranked(order, grades), ranked(other, grades)).verdict is Verdict.BETTER
        assert set(grades) == {"a", "j"}, "the passages that both have at the same rank cannot decide"

    def test_best_unlabelled_passage_is_proposed_without_another_ranking(self) -> None:
        order, grades = tuple(f"{number:02}" for number in range(12)), dict[str, int]()
        for number in itertools.count():
            chosen = next_to_label(ranked(order, grades))
            if chosen is None:
                assert number == DEPTH
                return
            assert chosen == f"{number:02}"
            grades[chosen] = 0

    def test_rankings_of_other_passages_are_told_apart_by_bounds(self) -> None:
        good, bad = ranked("ab", {"a": 2, "b": 0}), ranked("xyz", {"x": 0, "y": 0, "z": 1})
        assert compare(good, bad).verdict is Verdict.BETTER
        assert compare(bad, good).verdict is Verdict.WORSE
        assert compare(good, ranked("xyz", {"z": 1})).verdict is Verdict.OPEN


def _common(one: Place, other: Place) -> bool:
    return one.page == other.page and one.start < other.end and other.start < one.end


def _recall_by_hand(labels: Sequence[Label], context: Sequence[Place]) -> float:
    marked = {
        (label.place.page, offset)
        for label in labels
        if label.grade > 0
        for offset in range(label.place.start, label.place.end)
    }
    in_context = {(place.page, offset) for place in context for offset in range(place.start, place.end)}
    return len(marked & in_context) / len(marked)


class TestDataSet:
    def test_labels_are_questions_with_excerpts_over_run_pages(self) -> None:
        pages = {"a": page("Kettles boil. Pots do not."), "b": page("Nothing of it.", "b")}
        relevant = label(pages["a"], Place(page="a", start=0, end=13), Grade.RELEVANT)
        other = label(pages["b"], Place(page="b", start=0, end=14), Grade.NOT_RELEVANT)
        gone = label(page("Another text."), Place(page="a", start=0, end=7), Grade.RELEVANT)
        data = labelled_data_set("labels", {"What boils?": [relevant, other, gone]}, pages)
        (question,) = data.questions
        assert question.judgements == {"a": 2, "b": 0}
        assert question.excerpts == (("a", 0, 13),)
        assert [document.text for document in data.documents()] == [
            document.text for document in pages.values()
        ]
        assert data.warnings == ("1 label of texts that are not there any more.",)

    def test_other_labels_make_another_question_with_separate_results(self) -> None:
        pages = {"a": page("Kettles boil. Pots do not.")}
        names = {
            labelled_data_set("labels", {"What boils?": [label(pages["a"], place, Grade.RELEVANT)]}, pages)
            .questions[0]
            .id
            for place in (Place(page="a", start=0, end=13), Place(page="a", start=14, end=26))
        }
        assert len(names) == 2
