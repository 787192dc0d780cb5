"""Passages with their places and labels, the index, the ranking and the numbered sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from itertools import count

from core.model.arrays import Floats, Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The position of a passage: `page.text[start:end]` of the page with this key."""

    page: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A slice of a page. `also` lists other places with the same text."""

    text: str
    place: Place
    also: tuple[Place, ...] = ()

    @property
    def id(self) -> str:
        """The page and the place in it, unique in a run."""
        return f"{self.place.page}#{self.place.start}-{self.place.end}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Index:
    """Passages with their vectors: row i of `vectors` is passage i, unit length, float32, read-only.

    `question` is the question's unit vector. Both are None if vectors were unavailable. BM25 alone then ranks.
    `not_embedded` are passages without a vector, whose embedding failed or was stopped. They are not ranked. Passages
    that wait for embedding have rows of NaN, and are ranked by their words.
    """

    passages: tuple[Passage, ...]
    vectors: Floats | None
    question: Floats | None
    embedder: str
    not_embedded: tuple[Passage, ...] = ()
    embedder_languages: tuple[str, ...] = ()
    """ISO 639-1 codes of the embedder's languages. Empty if it states none."""

    @property
    def waiting(self) -> Rows:
        """The rows of passages that wait for embedding, in order. Empty if the index has no vectors."""
        import numpy as np

        missing = np.zeros(0, np.bool_) if self.vectors is None else np.isnan(self.vectors[:, :1]).any(axis=1)
        return np.flatnonzero(missing)

    def with_vectors(self, rows: Rows, vectors: Floats) -> Index:
        """Return a copy with these vectors in these rows.

        Raises:
            ValueError: when the index has no vectors, or these have another width.
            IndexError: when a row does not exist.
        """
        filled = self.writable()
        filled.fill(rows, vectors)
        if filled.vectors is not None:
            filled.vectors.flags.writeable = False
        return filled

    def writable(self) -> Index:
        """Return a copy whose matrix `fill` can change."""
        return self if self.vectors is None else replace(self, vectors=self.vectors.copy())

    def fill(self, rows: Rows, vectors: Floats) -> None:
        """Put these vectors into these rows of a writable matrix. Raises the errors of `with_vectors`."""
        if self.vectors is None or vectors.shape != (len(rows), self.vectors.shape[1]):
            raise ValueError("The vectors are not those of the index.")
        self.vectors[rows] = vectors


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranking:
    """The ranking of an index. Every array is aligned with the index's passages.

    `order` holds row numbers, best first. `context` holds the rows that became sources, in their order, and
    `context_numbers` returns their numbers. Scores are raw: cosine from -1 to 1, BM25 from 0 up, fused a weighted sum
    of reciprocal ranks, rerank the output of the reranking model (NaN for passages it did not score). An array is None
    if its score was not computed.
    """

    order: Rows
    context: tuple[int, ...]
    strategy: str
    """The strategy that ordered the passages, which is bm25 if vectors were unavailable."""
    cosine: Floats | None = None
    bm25: Floats | None = None
    fused: Floats | None = None
    rerank: Floats | None = None
    reranker: str = ""
    """The identity of the model behind `rerank`."""
    diverse: Floats | None = None
    """Maximal marginal relevance when a passage was picked. NaN beyond the best 200."""

    @property
    def scores(self) -> dict[str, Floats]:
        """The computed scores by field name."""
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: value for name, value in values if name != "order" and hasattr(value, "dtype")}

    @property
    def deciding(self) -> tuple[str, Floats | None]:
        """The name of the score behind `order`, and the score by row. Rows without a score come last."""
        if self.diverse is not None:
            return "marginal relevance", self.diverse
        return self.strategy, self.scores.get(self.strategy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A numbered source of the answer: one passage with its page's title and address. Numbers start at 1.

    The answer is written from `text`, which is at `place` in the page. It is the passage, with surrounding text if the
    knobs request it.
    """

    number: int
    passage: Passage
    title: str
    url: str
    site: str = ""
    before: str = ""
    """The source's text right before the passage."""
    after: str = ""
    """The source's text right after the passage."""
    snippet_only: bool = False
    """Whether the text is the snippet of a search engine, because the page could not be read."""

    @property
    def text(self) -> str:
        """The passage with its surrounding text."""
        return f"{self.before}{self.passage.text}{self.after}"

    @property
    def place(self) -> Place:
        """The position of `text` on its page."""
        own = self.passage.place
        return Place(page=own.page, start=own.start - len(self.before), end=own.end + len(self.after))


def source_numbers(sources: Iterable[Source]) -> frozenset[int]:
    """Return the numbers that an answer may cite."""
    return frozenset(source.number for source in sources)


def snippet_numbers(sources: Iterable[Source]) -> frozenset[int]:
    """Return the numbers of sources that are only snippets."""
    return frozenset(source.number for source in sources if source.snippet_only)


def context_numbers(ranking: Ranking, index: Index, taken: Mapping[str, int]) -> dict[int, int]:
    """Return the context's source numbers by index row, in order.

    A passage in `taken`, source numbers by passage id, keeps its number. The others get the next free numbers.
    """
    free = count(max(taken.values(), default=0) + 1)
    return {row: taken.get(index.passages[row].id) or next(free) for row in ranking.context}


class Grade(IntEnum):
    """The relevance of a text. The number is its gain in nDCG."""

    NOT_RELEVANT = 0
    PARTLY = 1
    RELEVANT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """The grade of `text`, which was at `place` when it was labelled."""

    place: Place
    digest: str
    """The digest of the page's whole text."""
    text: str
    grade: Grade
