"""Resolve the citation marks of an answer against the existing source numbers."""

from collections.abc import Container

from core.model import CitationCheck
from core.text.markdown.citations import find_citations
from core.text.markdown.cited_sentences import read_sentences


def check(text: str, numbers: Container[int]) -> CitationCheck:
    """Find the citations and sentences of an answer.

    The sources of `text` have these `numbers`. Marks are found by `find_citations`, and sentences by `read_sentences`.
    """
    citations = tuple(find_citations(text, numbers))
    cited = tuple(dict.fromkeys(mark.number for mark in citations if mark.known))
    return CitationCheck(citations=citations, sentences=read_sentences(text, citations), cited=cited)
