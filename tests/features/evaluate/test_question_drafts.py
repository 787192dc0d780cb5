"""Drafted test questions: where they come from, what the checks tell, and the data set that they become."""

from pathlib import Path

import pytest

from core.config.egress import PAGES
from core.features.evaluate.data_sets import suite
from core.features.evaluate.data_sets.load import load_data_set
from core.features.evaluate.labels.question_drafts import (
    TEMPLATE,
    Draft,
    Material,
    checked_draft,
    chosen_passages,
    collection_material,
    draft_question,
    drafts_data_set,
    run_material,
)
from core.model import Article, InjectionKind, InjectionSign, LibraryPassage, Page, Passage, Place
from core.run import events as e
from core.run.fold import folded_run
from tests.samples import records, until

KETTLE = (
    "A whistle tells that the water boils. The steam of the kettle passes two plates with a hole in each, between which "
    "it swirls at a steady pitch."
)
TEA = (
    "Green leaves are steeped at eighty degrees for two minutes; black ones take boiling water and up to five minutes "
    "before they turn bitter."
)
CUPS = (
    "Porcelain holds the heat for less time than stoneware does, and thin rims are said to make what is drunk from them "
    "taste sweeter than thick ones."
)


def stored(number: int, text: str, section: str, document: str = "kitchen.txt") -> LibraryPassage:
    return LibraryPassage(
        id=str(number), content=text, source=document, title="The Kitchen", section=section, position=number
    )


@pytest.fixture
def material() -> Material:
    return collection_material(
        "books",
        [
            stored(1, TEA, "How to make tea"),
            stored(0, KETTLE, "Why kettles whistle"),
            stored(0, CUPS, "Cups and mugs", "cups.txt"),
            stored(1, "Short.", "Cups and mugs", "cups.txt"),
        ],
    )


def test_collection_is_read_as_documents_with_ordered_passages(material: Material) -> None:
    pages, passages = material
    assert len(pages) == 2
    assert all(pages[one.place.page].text[one.place.start : one.place.end] == one.text for one in passages)
    kitchen = next(page for page in pages.values() if KETTLE in page.text)
    assert kitchen.text == f"{KETTLE}\n\n{TEA}"
    assert kitchen.article.section_at(kitchen.text.index(TEA)) == "How to make tea"


def test_passages_are_spread_over_documents_without_short_ones(material: Material) -> None:
    _, passages = material
    first = chosen_passages(passages, 2)
    assert len({passage.place.page for passage in first}) == 2
    rest = chosen_passages(passages, 9, {passage.id for passage in first})
    assert {passage.text for passage in (*first, *rest)} == {KETTLE, TEA, CUPS}
    assert chosen_passages(passages[::-1], 2) == first


def test_leaking_and_unfound_draft_questions_are_told(
    material: Material,
) -> None:
    by_text = {passage.text: passage for passage in material[1]}
    copied = checked_draft(by_text[KETTLE], "Between which plates does steam swirl?", "m", material)
    assert (copied.rank, copied.overlap, copied.warning) == (1, 1.0, "leaks its wording")
    own_words = checked_draft(by_text[KETTLE], "Why is a hot kettle so loud?", "m", material)
    assert own_words.rank == 1
    assert 0 < own_words.overlap < 0.6
    assert own_words.warning == ""
    many = tuple(
        Passage(text=f"{TEA} {number}", place=Place(page="t", start=number, end=number + 1))
        for number in range(20)
    )
    lost = checked_draft(
        by_text[KETTLE], "How bitter is black tea?", "m", (material[0], (*material[1], *many))
    )
    assert (lost.rank, lost.overlap, lost.warning) == (24, 0.0, "BM25 ranks its passage 24th")


async def test_without_a_model_headings_become_questions_and_say_so(material: Material) -> None:
    by_text = {passage.text: passage for passage in material[1]}
    draft = await draft_question(by_text[KETTLE], material, None, lambda _: None)
    assert draft is not None
    assert (draft.question, draft.author) == ("Can you explain why kettles whistle (The Kitchen)?", TEMPLATE)


def test_approved_drafts_are_a_measurable_data_set(material: Material, tmp_path: Path) -> None:
    drafts = [
        Draft(passage=passage, question=question, author="m", overlap=0.2, rank=1, approved=approved)
        for passage, question, approved in zip(
            material[1],
            ("Why loud?", "How hot?", "Which cup?", "Loud?"),
            (True, True, False, None),
            strict=True,
        )
    ]
    path = tmp_path / "drafts.zip"
    suite.save(path, drafts_data_set("drafts", drafts, material), "")
    loaded = load_data_set(path)
    assert [question.text for question in loaded.questions] == ["Why loud?", "How hot?"]
    documents = {document.id: document for document in loaded.documents()}
    assert len(documents) == 2, "pages without a question are searched too"
    ((page, start, end),) = loaded.questions[0].excerpts
    assert documents[page].text[start:end] == material[1][0].text
    assert loaded.origins == {"books"}, "what is private stays private in a file"


def test_runs_give_each_passage_once_and_none_with_instructions() -> None:
    run = folded_run(records(*until(e.RunDone)))
    pages, passages = run_material([run, run])
    assert run.index is not None
    assert {one.id for one in passages} == {one.id for one in run.index.passages}
    assert drafts_data_set("d", [], (pages, passages)).origins == {PAGES}
    order = InjectionSign(kind=InjectionKind.OVERRIDE, start=0, end=6, quote="Ignore")
    key = run.index.passages[0].place.page
    page = run.pages[key]
    article = Article(text=page.text, extractor="", injection_signs=(order,))
    signed = Page(key=key, url=page.url, title=page.title, article=article)
    other = folded_run(records(e.PageRead(signed)))
    assert run_material([other])[0] == {}
