"""Resolve the citation marks of an answer against the source numbers that exist."""

from core.model import CitationCheck
from core.text.markdown.citations import find_citations
from core.text.markdown.cited_sentences import read_sentences


def check(text: str, source_count: int) -> CitationCheck:
    """The citations and sentences of `text`, whose sources are numbered from 1 to `source_count`.

    Marks are those of `find_citations`, sentences those of `read_sentences`.
    """
    citations = tuple(find_citations(text, source_count))
    cited = tuple(dict.fromkeys(mark.number for mark in citations if mark.known))
    return CitationCheck(citations=citations, sentences=read_sentences(text, citations), cited=cited)
