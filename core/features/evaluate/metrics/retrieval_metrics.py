"""The metrics of a question's ranking: for its documents, and for the text of its context.

A document is retrieved at the rank of its best passage.
"""

from collections.abc import Mapping

from core.config.knobs import RankKnobs
from core.features.evaluate.data_sets.data_set import Question
from core.features.evaluate.metrics.excerpt_metrics import EXCERPT_METRICS
from core.features.evaluate.metrics.ranking_metrics import DEPTH, DOCUMENT_METRICS
from core.model import Index, Page, Passage, Place, Ranking
from core.stages.answering.surroundings import surrounded
from core.text.sanitize import estimated_tokens

CONTEXT_TOKENS = "context tokens"
"""The estimated tokens of the context. All other metrics are from 0 to 1."""


def measure_ranking(
    question: Question, index: Index, ranking: Ranking, pages: Mapping[str, Page], knobs: RankKnobs
) -> dict[str, float]:
    """Return every metric that the judgements allow, by name. `pages` are the pages of the index."""
    documents = ranked_documents(index, ranking)
    places = [_place(index.passages[row], question) for row in ranking.context]
    texts = {place.page: pages[place.page].text for place in places}
    context = surrounded(places, texts, knobs.surroundings)
    values = {
        name: metric(documents, question.judgements, DEPTH) for name, metric in DOCUMENT_METRICS.items()
    }
    values[CONTEXT_TOKENS] = estimated_tokens(sum(place.end - place.start for place in context))
    if question.excerpts:
        ranges = [(place.page, place.start, place.end) for place in context]
        values |= {name: metric(question.excerpts, ranges) for name, metric in EXCERPT_METRICS.items()}
    return values


def _place(passage: Passage, question: Question) -> Place:
    """Return the passage's range, in a document with an excerpt if possible."""
    marked = {document for document, _, _ in question.excerpts}
    places = (passage.place, *passage.also)
    return next((place for place in places if place.page in marked), passage.place)


def ranked_documents(index: Index, ranking: Ranking) -> list[str]:
    """Return the ids of the first documents, each at the rank of its best passage. There are at least `DEPTH` if possible."""
    documents: dict[str, None] = {}
    for row in ranking.order:
        passage = index.passages[row]
        documents.update((place.page, None) for place in (passage.place, *passage.also))
        if len(documents) >= DEPTH:
            break
    return list(documents)
