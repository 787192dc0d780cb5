"""What was ranked: passages in their places, the index, the ranking, the numbered sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count

from core.model.arrays import Floats, Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a passage stands: `page.text[start:end]` of the page with this key."""

    page: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A slice of a page. `also` lists the other places where the very same text stands."""

    text: str
    place: Place
    also: tuple[Place, ...] = ()

    @property
    def id(self) -> str:
        """The page and the place in it, which no other passage of a run has."""
        return f"{self.place.page}#{self.place.start}-{self.place.end}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Index:
    """Passages with their vectors: row i of `vectors` is passage i, unit length, float32, read-only.

    `question` is the question's unit vector. Both are None when no vectors could be had; ranking is then
    by BM25 alone. `not_embedded` are passages without a vector, whose embedding failed or was
    stopped: they take no part in the ranking. Passages that are still to be embedded wait: their rows are not numbers,
    and they are ranked by their words.
    """

    passages: tuple[Passage, ...]
    vectors: Floats | None
    question: Floats | None
    embedder: str
    not_embedded: tuple[Passage, ...] = ()
    embedder_languages: tuple[str, ...] = ()
    """ISO 639-1 codes of the languages that the embedder was made for; empty: it does not state any."""

    @property
    def waiting(self) -> Rows:
        """The rows of passages that are still to be embedded, in order; none where no vectors could be had."""
        import numpy as np

        missing = np.zeros(0, np.bool_) if self.vectors is None else np.isnan(self.vectors[:, :1]).any(axis=1)
        return np.flatnonzero(missing)

    def with_vectors(self, rows: Rows, vectors: Floats) -> Index:
        """The index with these vectors in these rows: a copy.

        Raises:
            ValueError: when the index has no vectors, or these are of another width.
            IndexError: when there is no such row.
        """
        filled = self.writable()
        filled.fill(rows, vectors)
        if filled.vectors is not None:
            filled.vectors.flags.writeable = False
        return filled

    def writable(self) -> Index:
        """A copy whose matrix can be changed by `fill`."""
        return self if self.vectors is None else replace(self, vectors=self.vectors.copy())

    def fill(self, rows: Rows, vectors: Floats) -> None:
        """Put these vectors into these rows of a writable matrix. Raises as `with_vectors`."""
        if self.vectors is None or vectors.shape != (len(rows), self.vectors.shape[1]):
            raise ValueError("The vectors are not those of the index.")
        self.vectors[rows] = vectors


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranking:
    """The ranking of an index. Every array is aligned with the index's passages.

    `order` holds row numbers, best first. `context` holds the rows that became sources, in their order;
    `context_numbers` gives their numbers. Scores are raw: cosine from -1 to 1, BM25 from 0 up, fused a weighted sum of
    reciprocal ranks, rerank whatever the reranking model gives (not a number where it was not asked);
    an array is None when its score was not computed.
    """

    order: Rows
    context: tuple[int, ...]
    strategy: str
    """The strategy that ordered the passages, which is bm25 when vectors could not be had."""
    cosine: Floats | None = None
    bm25: Floats | None = None
    fused: Floats | None = None
    rerank: Floats | None = None
    reranker: str = ""
    """The identity of the model behind `rerank`."""
    diverse: Floats | None = None
    """Maximal marginal relevance at the moment a passage was picked; not a number beyond the best 200."""

    @property
    def deciding(self) -> tuple[str, Floats | None]:
        """The name of the score that `order` falls by, and that score by row; rows without one come last."""
        if self.diverse is not None:
            return "marginal relevance", self.diverse
        by_name = {"cosine": self.cosine, "bm25": self.bm25, "fused": self.fused, "rerank": self.rerank}
        return self.strategy, by_name.get(self.strategy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A numbered source of the answer: one passage with its page's title and address. Numbers start at 1.

    What the answer is written from is `text`, which stands at `place` in the page: the passage, with the text around
    it where the knobs ask for that.
    """

    number: int
    passage: Passage
    title: str
    url: str
    site: str = ""
    before: str = ""
    """The text right before the passage that belongs to the source."""
    after: str = ""
    """The text right after it."""
    snippet_only: bool = False
    """Whether the text is the snippet of a search engine, since the page could not be read."""

    @property
    def text(self) -> str:
        """The passage with what stands before and after it on its page."""
        return f"{self.before}{self.passage.text}{self.after}"

    @property
    def place(self) -> Place:
        """Where `text` lies on its page."""
        own = self.passage.place
        return Place(page=own.page, start=own.start - len(self.before), end=own.end + len(self.after))


def source_numbers(sources: Iterable[Source]) -> frozenset[int]:
    """The numbers that an answer from these sources may cite."""
    return frozenset(source.number for source in sources)


def snippet_numbers(sources: Iterable[Source]) -> frozenset[int]:
    """The numbers of sources of which only a search engine's snippet is known."""
    return frozenset(source.number for source in sources if source.snippet_only)


def context_numbers(ranking: Ranking, index: Index, taken: Mapping[str, int]) -> dict[int, int]:
    """The source numbers of the context, by row of the index, in its order.

    A passage in `taken`, source numbers by passage id, keeps its number; the others get the next free ones.
    """
    free = count(max(taken.values(), default=0) + 1)
    return {row: taken.get(index.passages[row].id) or next(free) for row in ranking.context}
