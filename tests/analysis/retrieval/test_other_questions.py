import pytest

from core.analysis.retrieval.other_questions import OtherQuestion, other_questions
from core.model import Author, Query, SearchReply
from core.run.state import Run


def run_of(question: str, query: str, **beside: tuple[str, ...]) -> Run:
    reply = SearchReply(backend="searxng", results=(), **beside)
    return Run(question=question, replies={Query(text=query, author=Author.MODEL): reply})


@pytest.mark.parametrize(
    ("question", "query", "correction", "offered"),
    [
        ("coper test", "coper test", "cooper test", "cooper test"),
        ("How long is the Coper test?", "coper test", "cooper test", "How long is the cooper test?"),
        ("How long does one run?", "coper test minutes", "cooper test minutes", "cooper test minutes"),
        ("What is a coper test?", "coper test", "the cooper test", "the cooper test"),
    ],
)
def test_correction_replaces_the_words_of_the_question(question, query, correction, offered) -> None:
    run = run_of(question, query, corrections=(correction,))
    assert other_questions(run) == (OtherQuestion(offered, is_correction=True),)


def test_each_question_is_offered_once_and_corrections_first() -> None:
    run = run_of("tae", "tae", corrections=("tea",), suggestions=("Tea", "tea pot", "tae"))
    assert [offer.text for offer in other_questions(run)] == ["tea", "tea pot"]
