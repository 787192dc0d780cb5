"""Sources of an answer as cards, fallbacks that weaken an answer, and the answer as a Markdown document."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from core.analysis.answers.answer_stats import citation_check
from core.analysis.rankings.ranked_passages import cosines
from core.config.knobs import QUESTION_LIMIT, Strategy
from core.model.passage_urls import site
from core.run.state import Run
from core.text.safe_markdown import markdown_label, safe_markdown, web_address
from core.text.sanitize import one_line


def snippets_only(run: Run) -> bool:
    """Whether no page could be fetched, so the answer rests on the snippets of search results alone."""
    return bool(run.pages) and all(page.snippet_only for page in run.pages.values())


def bm25_fallback(run: Run) -> bool:
    """Whether the passages were ranked by BM25 alone because they have no vectors, although cosine was asked for."""
    if run.index is None or run.ranking is None:
        return False
    return (
        bool(run.index.passages)
        and run.index.vectors is None
        and run.knobs.rank.strategy is not Strategy.BM25
        and run.ranking.strategy == Strategy.BM25
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCard:
    """A numbered source. `citations` counts how often it is cited; `other_sites` have the same text."""

    number: int
    title: str
    site: str
    url: str
    cosine: float | None
    citations: int
    snippet: str
    other_sites: tuple[str, ...]


def source_cards(run: Run) -> tuple[SourceCard, ...]:
    """The sources of the answer in the order of their numbers."""
    citations = Counter(mark.number for mark in citation_check(run).citations if mark.known)
    similarity = cosines(run)
    return tuple(
        SourceCard(
            number=source.number,
            title=one_line(source.title or site(source.url)),
            site=one_line(source.site, 60) or site(source.url),
            url=source.url,
            cosine=similarity.get(source.passage.id),
            citations=citations[source.number],
            snippet=one_line(source.passage.text, 120),
            other_sites=tuple(
                site(run.pages[place.page].url) for place in source.passage.also if place.page in run.pages
            ),
        )
        for source in run.sources
    )


def answer_document(run: Run) -> str:
    """Question, answer and sources as Markdown; neither images nor raw HTML of the answer survive."""
    text = _CITATION_LINK.sub(r" [\1]", safe_markdown(run.text, len(run.sources)))
    sources = "\n".join(
        f"{card.number}. {markdown_label(card.title)} <{web_address(card.url)}>" for card in source_cards(run)
    )
    return f"# {markdown_label(run.question, QUESTION_LIMIT)}\n\n{text}\n\n## Sources\n\n{sources}\n"


_CITATION_LINK = re.compile(r" ?\[(\d+)\]\(#src-\1\)")
"""A citation as a link to a source card; a document has no cards."""
