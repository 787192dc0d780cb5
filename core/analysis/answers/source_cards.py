"""Sources of an answer as cards and as a context for other programs, and fallbacks that weaken an answer."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.analysis.answers.answer_stats import citation_check
from core.analysis.rankings.ranked_passages import cosines
from core.config.knobs import Strategy
from core.errors import ReadFailed, SearchFailed
from core.model import Source, readable, source_numbers
from core.model.passage_urls import passage_at_url, site
from core.run.state import Run
from core.stages.check import check
from core.stages.read import NO_CONTENT
from core.stages.search import NO_RESULTS
from core.text.sanitize import one_line, pluralize


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


SNIPPET = 320
"""Characters of a passage on its card, of which the preview of a citation shows more than the card."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCard:
    """A numbered source. `citations` counts how often it is cited; `other_sites` have the same text."""

    number: int
    title: str
    document: str
    """What names the document of the passage: cards with the same one are passages of one page."""
    of_collection: bool
    """Whether the document is one of a collection, not a page of the web."""
    page: int | None
    """The number of the page in a paged document."""
    section: str
    """The heading above the passage; empty where there is none, or where it is the title."""
    site: str
    cosine: float | None
    citations: int
    snippet: str
    snippet_only: bool
    """Whether only the search engine's snippet of the page is known."""
    other_sites: tuple[str, ...]

    @property
    def document_title(self) -> str:
        """The title without the number of the page, which a passage of a collection has at its end."""
        return self.title.removesuffix(f", page {self.page}") if self.of_collection else self.title


def source_cards(run: Run) -> tuple[SourceCard, ...]:
    """The sources of the answer in the order of their numbers."""
    citations = citation_check(run).citation_counts
    similarity = cosines(run)
    cards = []
    for source in run.sources:
        place = source.passage.place
        page = run.pages.get(place.page)
        title = one_line(source.title or site(source.url))
        heading = page.article.section_at(place.start) if page else ""
        section = one_line(heading, 120)
        cards.append(
            SourceCard(
                number=source.number,
                title=title,
                document=page.document if page else place.page,
                of_collection=passage_at_url(place.page) is not None,
                page=page.article.page_at(place.start) if page else None,
                section="" if section.casefold() in title.casefold() else section,
                site=one_line(source.site, 60) or site(source.url),
                cosine=similarity.get(source.passage.id),
                citations=citations[source.number],
                snippet=one_line(_without_heading(readable(source.passage.text), heading), SNIPPET),
                snippet_only=source.snippet_only,
                other_sites=tuple(
                    site(run.pages[other.page].url)
                    for other in source.passage.also
                    if other.page in run.pages
                ),
            )
        )
    return tuple(cards)


def cards_by_document(cards: Sequence[SourceCard]) -> Mapping[str, Sequence[SourceCard]]:
    """The cards of each page, or document of a collection, in the order of the first number of each."""
    by_document: dict[str, list[SourceCard]] = {}
    for card in cards:
        by_document.setdefault(card.document, []).append(card)
    return by_document


def passages_of_documents(cards: Sequence[SourceCard]) -> str:
    """How many passages of how many pages the cards are, such as `3 passages of 2 pages`.

    With documents of a collection among them these are called documents.
    """
    documents = len({card.document for card in cards})
    unit = "document" if any(card.of_collection for card in cards) else "page"
    return f"{pluralize(len(cards), 'passage')} of {pluralize(documents, unit)}"


def _without_heading(text: str, heading: str) -> str:
    """A passage's text after the heading or list mark that it begins with; the whole where nothing is after it."""
    return _LEAD.sub("", text.removeprefix(heading), count=1) or text


_LEAD = re.compile(r"^[\s#¶§]*(?:[-•*]\s+)?")


SNIPPET_ONLY = "snippet only"
"""Said of a source of which only the search engine's snippet is known."""

UNTITLED = "Unknown"
"""Stands for the title of a source that has none."""


def source_context(run: Run) -> str:
    """The sources of a run, best first, or the sentence that says why there are none.

    Each source is `[Source n: title](address)` on a line of its own and its passage below, with an empty line
    between sources. Where no passage was relevant the text is empty; where the search or the reading of pages
    failed, it says so, and `run.error` says why.
    """
    failed = {SearchFailed.part: NO_RESULTS, ReadFailed.part: NO_CONTENT}
    return formatted_sources(run.sources) or (failed.get(run.error.part, "") if run.error else "")


def formatted_sources(sources: Sequence[Source]) -> str:
    """Sources as above. Brackets in titles are escaped, so that no title can end its link."""
    return "\n\n".join(
        f"[Source {source.number}: {_title(source)}]({source.url})\n{readable(source.text)}"
        for source in sources
    )


def _title(source: Source) -> str:
    title = re.sub(r"([\[\]\\])", r"\\\1", one_line(source.title)) or UNTITLED
    return f"{title} ({SNIPPET_ONLY})" if source.snippet_only else title


def citing_sections(run: Run) -> Mapping[int, tuple[int, ...]]:
    """The sections that cite a source, from 1, by its number; sources that a section cites alone, ascending."""
    sections: dict[int, tuple[int, ...]] = {}
    for number, section in enumerate(run.sections, 1):
        text = section.answer.text if section.answer else ""
        for source in check(text, source_numbers(section.sources)).cited:
            sections[source] = (*sections.get(source, ()), number)
    return dict(sorted(sections.items()))
