"""Names of questions and pages in relevance judgements (qrels)."""

from urllib.parse import quote

from core.text.digest import text_digest
from core.text.sanitize import folded_question


def question_id(question: str) -> str:
    """Return the id of a question, regardless of case."""
    return f"q-{text_digest(folded_question(question))}"


def page_name(key: str) -> str:
    """Return a page's key as written in qrels."""
    return quote(key, safe=":/?&=#@!$,;+~()*")
