"""Labels as qrels: what is exported is imported again, and a line that is none is named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import BadInput
from core.features.evaluate.labels.passage_labels import label
from core.features.evaluate.labels.qrels import from_qrels, to_qrels
from core.model import Article, Grade, Page, Place
from core.text.qrels_names import question_id

QUESTION = "What do kettles do?"
KEYS = ("https://kettles.example/a%20b?c=d#e", "library:my notes/ä.pdf", "https://x.example/#char=1,2")


def page(key: str, text: str = "Kettles boil water.") -> Page:
    return Page(key=key, url="https://a.example/", title="", article=Article(text=text, extractor=""))


PAGES = {key: page(key) for key in KEYS}


@given(
    st.lists(
        st.tuples(st.sampled_from(KEYS), st.integers(0, 17), st.sampled_from(Grade)),
        unique_by=lambda one: one[:2],
    )
)
def test_exported_labels_are_imported_unchanged(chosen: list[tuple[str, int, Grade]]) -> None:
    labels = [
        label(PAGES[key], Place(page=key, start=start, end=start + 2), grade) for key, start, grade in chosen
    ]
    text = to_qrels(QUESTION, labels)
    assert all(len(line.split(" ")) == 4 for line in text.splitlines())
    imported = from_qrels(text, QUESTION.upper(), PAGES)
    assert sorted(imported.labels, key=repr) == sorted(labels, key=repr)
    assert (imported.other_questions, imported.other_pages) == (0, 0)


def test_lines_of_other_questions_and_pages_are_counted() -> None:
    mine = question_id(QUESTION)
    text = f"q-0 0 https://a.example/#char=0,5 1\n\n{mine} 0 https://a.example/#char=0,5 1\n{mine} 0 {KEYS[2]}#char=0,99 1\n"
    imported = from_qrels(text, QUESTION, PAGES)
    assert (imported.labels, imported.other_questions, imported.other_pages) == ((), 1, 2)


@pytest.mark.parametrize(("grade", "expected"), [("-2", 0), ("3", 2), ("1", 1)])
def test_grades_of_other_scales_are_mapped_to_the_nearest(grade: str, expected: int) -> None:
    (imported,) = from_qrels(f"{question_id(QUESTION)} 0 {KEYS[2]}#char=0,7 {grade}", QUESTION, PAGES).labels
    assert imported.grade == expected


@pytest.mark.parametrize(
    "line",
    [
        "q-1 0 doc 1",
        "q-1 0 a#char=5,5 1",
        "q-1 0 a#char=9,5 1",
        "q-1 0 a#char=0,5",
        "q-1 0 a#char=0,5 x",
        "\0",
    ],
)
def test_a_line_that_is_no_label_is_named(line: str) -> None:
    with pytest.raises(BadInput, match="Line 2"):
        from_qrels(f"q-1 0 a#char=0,5 1\n{line}", QUESTION, PAGES)
