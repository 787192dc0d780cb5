"""The answer in figures, and its sources as cards."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from core.analysis.rankings.passage_rows import cosines
from core.config.knobs import QUESTION_LIMIT, Strategy
from core.model import Answer, AnswerKind, Check, Usage
from core.model.passage_urls import site
from core.run.state import Run
from core.stages.check import check
from core.text.safe_markdown import markdown_label, safe_markdown, web_address
from core.text.sanitize import one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    citations: int
    sources_used: int
    sources: int
    sentences_cited: int
    sentences: int
    words: int
    usage: Usage | None
    author: str
    """The model's name, or how the answer came about without one."""
    unknown: tuple[int, ...]
    """Numbers that are cited although no source has them."""


def facts(run: Run) -> Facts:
    """What can be counted about the answer so far."""
    checked, answer = checks(run), run.answer
    return Facts(
        citations=len(checked.citations),
        sources_used=len(checked.cited),
        sources=len(run.sources),
        sentences_cited=sum(bool(sentence.cites) for sentence in checked.sentences),
        sentences=len(checked.sentences),
        words=len(run.text.split()),
        usage=answer.usage if answer else None,
        author=author(run.answer),
        unknown=checked.unknown,
    )


def checks(run: Run) -> Check:
    """The citations of the answer, or of as much of it as is there while it is being written."""
    return run.check if run.answer else check(run.text, len(run.sources))


def author(answer: Answer | None) -> str:
    """Who wrote it; empty while there is none."""
    if answer is None:
        return ""
    match answer.kind:
        case AnswerKind.WRITTEN:
            return answer.model
        case AnswerKind.EXTRACTIVE:
            return "extractive"
        case AnswerKind.NOTHING:
            return answer.model or "no answer"


def snippets_only(run: Run) -> bool:
    """Whether not one page could be fetched, so that all the answer can rest on are search results' snippets."""
    return bool(run.pages) and all(page.snippet_only for page in run.pages.values())


def words_only(run: Run) -> bool:
    """Whether the ranking was to use vectors and, having none, compared words alone."""
    if run.index is None or run.ranking is None:
        return False
    return (
        bool(run.index.passages)
        and run.index.vectors is None
        and run.knobs.rank.strategy is not Strategy.BM25
        and run.ranking.strategy == Strategy.BM25
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A numbered source. `cited` counts its citations; `others` names further sites with the same text."""

    number: int
    title: str
    site: str
    url: str
    cosine: float | None
    cited: int
    snippet: str
    others: tuple[str, ...]


def cards(run: Run) -> tuple[Card, ...]:
    """The sources of the answer in the order of their numbers."""
    times = Counter(mark.number for mark in checks(run).citations if mark.known)
    similar = cosines(run)
    return tuple(
        Card(
            number=source.number,
            title=one_line(source.title or site(source.url)),
            site=one_line(source.site, 60) or site(source.url),
            url=source.url,
            cosine=similar.get(source.passage.id),
            cited=times[source.number],
            snippet=one_line(source.passage.text, 120),
            others=tuple(
                site(run.pages[place.page].url) for place in source.passage.also if place.page in run.pages
            ),
        )
        for source in run.sources
    )


def document(run: Run) -> str:
    """Question, answer and sources as Markdown that cannot act in whatever shows it."""
    text = _CITATION.sub(r" [\1]", safe_markdown(run.text, len(run.sources)))
    sources = "\n".join(
        f"{card.number}. {markdown_label(card.title)} <{web_address(card.url)}>" for card in cards(run)
    )
    return f"# {markdown_label(run.question, QUESTION_LIMIT)}\n\n{text}\n\n## Sources\n\n{sources}\n"


_CITATION = re.compile(r" ?\[(\d+)\]\(#src-\1\)")
"""A citation as a link to a card, which a document has none of."""
