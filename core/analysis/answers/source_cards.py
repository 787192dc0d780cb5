"""Sources as cards and as a context for other programs, and weaknesses of an answer."""

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

SNIPPET = 320
"""Characters of a passage for its card. The preview of a citation shows more of them than the card."""
_LEAD = re.compile(r"^[\s#¶§]*(?:[-•*]\s+)?")
SNIPPET_ONLY = "snippet only"
"""The label of a source known only by the search engine's snippet."""
UNTITLED = "Unknown"
"""The title of a source without a title."""


def snippets_only(run: Run) -> bool:
    """Return whether no page could be fetched, so only snippets of search results are sources."""
    return bool(run.pages) and all(page.snippet_only for page in run.pages.values())


def bm25_fallback(run: Run) -> bool:
    """Return whether missing vectors forced BM25 alone."""
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
    """A numbered source. `citations` counts its citations, `other_sites` have the same text."""

    number: int
    title: str
    document: str
    """The document of the passage: cards of one page share it."""
    of_collection: bool
    """Whether the document belongs to a collection, not to the web."""
    page: int | None
    """The page number in a paged document."""
    section: str
    """The heading above the passage, or "" if it is missing or repeats the title."""
    site: str
    cosine: float | None
    citations: int
    snippet: str
    snippet_only: bool
    """Whether only the search engine's snippet of the page is known."""
    other_sites: tuple[str, ...]

    @property
    def document_title(self) -> str:
        """The title without the page number at the end of a collection passage's title."""
        return self.title.removesuffix(f", page {self.page}") if self.of_collection else self.title


def source_cards(run: Run) -> tuple[SourceCard, ...]:
    """Return the sources of the answer, ordered by number."""
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
    """Group the cards by page or collection document, in the order of first numbers."""
    by_document: dict[str, list[SourceCard]] = {}
    for card in cards:
        by_document.setdefault(card.document, []).append(card)
    return by_document


def passages_of_documents(cards: Sequence[SourceCard]) -> str:
    """Count the cards, such as `3 passages of 2 pages`.

    If any belongs to a collection, pages are called documents.
    """
    documents = len({card.document for card in cards})
    unit = "document" if any(card.of_collection for card in cards) else "page"
    return f"{pluralize(len(cards), 'passage')} of {pluralize(documents, unit)}"


def _without_heading(text: str, heading: str) -> str:
    """Return a passage's text after its heading or list mark, or all of it if nothing follows."""
    return _LEAD.sub("", text.removeprefix(heading), count=1) or text


def source_context(run: Run) -> str:
    """Return the sources of a run as text, best first, or a sentence about their absence.

    Each source is `[Source n: title](address)` on its own line and its passage below, with an empty line between
    sources. Without a relevant passage the text is "". After a failed search or failed reading of pages, the text says
    so, and `run.error` has the reason.
    """
    failed = {SearchFailed.part: NO_RESULTS, ReadFailed.part: NO_CONTENT}
    return formatted_sources(run.sources) or (failed.get(run.error.part, "") if run.error else "")


def formatted_sources(sources: Sequence[Source]) -> str:
    """Return the sources as text. Brackets in titles are escaped, so that no title can end its link."""
    return "\n\n".join(
        f"[Source {source.number}: {_title(source)}]({source.url})\n{readable(source.text)}"
        for source in sources
    )


def _title(source: Source) -> str:
    title = re.sub(r"([\[\]\\])", r"\\\1", one_line(source.title)) or UNTITLED
    return f"{title} ({SNIPPET_ONLY})" if source.snippet_only else title


def citing_sections(run: Run) -> Mapping[int, tuple[int, ...]]:
    """Return the numbers of the citing sections, from 1, by source number."""
    sections: dict[int, tuple[int, ...]] = {}
    for number, section in enumerate(run.sections, 1):
        text = section.answer.text if section.answer else ""
        for source in check(text, source_numbers(section.sources)).cited:
            sections[source] = (*sections.get(source, ()), number)
    return dict(sorted(sections.items()))
