"""What a person may tune: one frozen group a stage, each field with its default, bounds and meaning.

The sidebar's controls, the command line's flags and the published configuration schema are generated
from these fields, so a bound or a description is written here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from core.errors import BadInput
from core.model import Extractor

QUESTION_LIMIT = 1000
"""The longest question, in characters."""

QUERY_LIMIT = 400
"""The longest search query that a person may add, in characters."""

_STRICT = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class Backend(StrEnum):
    """Who searches. `auto` takes the first that works, in the order of this list."""

    AUTO = "auto"
    SEARXNG = "searxng"
    DDGS = "ddgs"
    DEMO = "demo"


class Origin(StrEnum):
    """Where a run looks."""

    WEB = "web"
    LIBRARY = "library"
    BOTH = "both"


class TimeRange(StrEnum):
    ANY = ""
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


class SafeSearch(StrEnum):
    OFF = "off"
    MODERATE = "moderate"
    STRICT = "strict"


class Strategy(StrEnum):
    """How passages are ordered."""

    COSINE = "cosine"
    BM25 = "bm25"
    FUSED = "fused"


class Boundary(StrEnum):
    """Where articles are cut into passages."""

    NATURAL = "natural"
    SENTENCE = "sentence"
    FIXED = "fixed"


class Length(StrEnum):
    SHORT = "short"
    NORMAL = "normal"
    LONG = "long"


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class PlanKnobs:
    queries: Annotated[int, Field(ge=1, le=10, title="Search queries")] = 3
    """How many different search queries the chat model writes. With 1, the question itself is searched."""


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class SearchKnobs:
    origin: Annotated[Origin, Field(title="Look in")] = Origin.WEB
    """The web, your own documents, or both: what they find is joined by rank."""
    collections: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$")], ...],
        Field(max_length=20, title="Collections"),
    ] = ("book_content",)
    """The collections of your library to search."""
    passages: Annotated[int, Field(ge=1, le=50, title="Passages per query")] = 10
    """How many passages of each collection a query brings."""
    backend: Annotated[Backend, Field(title="Search backend")] = Backend.AUTO
    """Who searches: your SearXNG, the built-in metasearch (ddgs), or the offline demo library. auto takes the first that works."""
    results: Annotated[int, Field(ge=1, le=50, title="Results per query")] = 5
    """How many hits of each query are read."""
    language: Annotated[str, Field(pattern=r"^(all|auto|[a-z]{2,3}(-[A-Za-z]{2,4})?)$", title="Language")] = (
        "all"
    )
    """A language code such as en, de or zh-CN; all searches every language."""
    time_range: Annotated[TimeRange, Field(title="Time range")] = TimeRange.ANY
    """Only pages from the last day, week, month or year. Engines that cannot filter by time drop out."""
    safe_search: Annotated[SafeSearch, Field(title="Safe search")] = SafeSearch.MODERATE
    """Whether engines leave out explicit results."""
    categories: Annotated[str, Field(max_length=200, title="Categories")] = ""
    """SearXNG categories, separated by commas: general, news, science, it … Empty: its default."""
    engines: Annotated[str, Field(max_length=200, title="Engines")] = ""
    """SearXNG engines by name, separated by commas. Empty: all that the instance enables."""


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class ReadKnobs:
    page_timeout: Annotated[float, Field(ge=0.5, le=60, title="Page timeout (s)")] = 5.0
    """The longest wait for one page, from the first look-up to the last byte."""
    deadline: Annotated[float, Field(ge=0, le=300, title="Phase deadline (s)")] = 20.0
    """The longest wait for all pages together, from the first fetch. 0: no deadline."""
    enough: Annotated[int, Field(ge=0, le=100, title="Early cut: enough pages (%)")] = 90
    """When this share of the pages is read or refused, at least one of them read, and none came for the quiet time below, the rest is cut. 0 or 100: never."""
    quiet: Annotated[float, Field(ge=0.05, le=10, title="Early cut: quiet time (s)")] = 0.3
    """How long nothing may arrive before the early cut."""
    max_megabytes: Annotated[float, Field(ge=0.1, le=50, title="Page size limit (MB)")] = 8.0
    """A page that is larger, as sent or unpacked, is skipped."""
    concurrency: Annotated[int, Field(ge=1, le=128, title="Pages at once")] = 64
    """How many pages of this run are fetched at the same time; never more than 3 of one host."""
    extractor: Annotated[Extractor, Field(title="Article extractor")] = Extractor.ACCURATE
    """accurate reads articles with trafilatura; fast takes about an eighth of the CPU and keeps more boilerplate; visible keeps all that a reader sees, menus and footers too."""
    robots: Annotated[bool, Field(title="Honour robots.txt")] = True
    """Skip pages that their site asks robots not to fetch."""
    fresh: Annotated[bool, Field(title="Fetch everything anew")] = False
    """Do not use pages kept from earlier runs."""


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class ChunkKnobs:
    size: Annotated[int, Field(ge=100, le=4000, title="Passage size (characters)")] = 500
    """The longest passage. Small passages are precise, large ones keep context."""
    overlap: Annotated[int, Field(ge=0, le=50, title="Overlap (%)")] = 10
    """How much of a passage is repeated at the start of the next, so that facts on a boundary stay whole."""
    boundary: Annotated[Boundary, Field(title="Cut at")] = Boundary.NATURAL
    """natural balances passages between paragraphs and sentences, sentence fills each up with whole sentences, fixed cuts at so many characters, wherever that is."""

    @property
    def overlap_characters(self) -> int:
        return self.size * self.overlap // 100


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class EmbedKnobs:
    batch: Annotated[int, Field(ge=1, le=2048, title="Batch size (texts)")] = 300
    """The most texts in one call to a remote embedder."""
    in_flight: Annotated[int, Field(ge=1, le=32, title="Calls in flight")] = 4
    """How many embedding calls may be under way at once."""


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class RankKnobs:
    strategy: Annotated[Strategy, Field(title="Ranking")] = Strategy.COSINE
    """cosine compares meanings, bm25 compares words, fused joins both orders by reciprocal rank."""
    top_k: Annotated[int, Field(ge=0, le=50, title="Passages in the context")] = 6
    """How many of the best passages become numbered sources."""
    threshold: Annotated[float, Field(ge=-1, le=1, title="Minimum cosine")] = -1.0
    """Passages below this cosine similarity are left out of the context. -1: off."""
    per_page: Annotated[int, Field(ge=0, le=50, title="Passages per page")] = 3
    """The most passages of one page in the context, so that no page crowds out the others. 0: no limit."""
    per_cluster: Annotated[int, Field(ge=0, le=50, title="Passages per text")] = 0
    """The most passages of pages that carry nearly the same text, counted together. 0: no limit."""
    cosine_weight: Annotated[float, Field(ge=0, le=1, title="Fusion: weight of cosine")] = 0.5
    """What meanings count in the fused ranking; words count the rest. At 0.5 both count the same."""
    diversity: Annotated[float, Field(ge=0, le=1, title="Diversity")] = 0.0
    """Maximal marginal relevance: how much a passage loses for resembling a better one. 0: off."""
    rerank: Annotated[bool, Field(title="Rerank")] = False
    """Have the best passages ordered anew by the reranking model, where one is connected."""
    only_domains: Annotated[str, Field(max_length=1000, title="Only these sites")] = ""
    """Domains separated by commas, such as example.org, edu; their subdomains count. Empty: all sites."""
    without_domains: Annotated[str, Field(max_length=1000, title="Not these sites")] = ""
    """Domains whose passages do not become sources, separated by commas; their subdomains count."""
    excluded: Annotated[
        tuple[Annotated[str, Field(max_length=4096)], ...], Field(max_length=200, title="Excluded pages")
    ] = ()
    """Pages, by their addresses, whose passages do not become sources. Their scores are shown all the same."""


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class AnswerKnobs:
    length: Annotated[Length, Field(title="Answer length")] = Length.NORMAL
    """short is one paragraph, normal a few, long a structured report."""
    temperature: Annotated[float, Field(ge=0, le=2, title="Temperature")] = 0.2
    """How freely the chat model picks its words. Low values stay closer to the sources."""


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class Knobs:
    """All groups. A stage is handed its own group only, so what it depends on shows in its signature."""

    plan: PlanKnobs = PlanKnobs()
    search: SearchKnobs = SearchKnobs()
    read: ReadKnobs = ReadKnobs()
    chunk: ChunkKnobs = ChunkKnobs()
    embed: EmbedKnobs = EmbedKnobs()
    rank: RankKnobs = RankKnobs()
    answer: AnswerKnobs = AnswerKnobs()

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Knobs:
        """Knobs from nested mappings such as `{"rank": {"top_k": 3}}`.

        Raises:
            BadInput: naming every field that is unknown or out of bounds, and its bounds.
        """
        try:
            return _KNOBS.validate_python(values)
        except ValidationError as error:
            wrong = "; ".join(
                f"{'.'.join(map(str, fault['loc']))}: {fault['msg'][0].lower()}{fault['msg'][1:]}"
                for fault in error.errors(include_url=False)
            )
            raise BadInput(f"Settings out of bounds: {wrong}.", hint="Correct them and ask again.") from error


_KNOBS = TypeAdapter(Knobs)


def checked_question(question: str) -> str:
    """The question without surrounding white space.

    Raises:
        BadInput: when it is empty or longer than `QUESTION_LIMIT` characters.
    """
    question = question.strip()
    if not question:
        raise BadInput("The question is empty.", hint="Type what you want to know.")
    if len(question) > QUESTION_LIMIT:
        raise BadInput(
            f"The question has {len(question):,} characters; the limit is {QUESTION_LIMIT:,}.",
            hint="Shorten it to what you want to know.",
        )
    return question


def checked_query(text: str) -> str:
    """A search query that a person wrote, on one line.

    Raises:
        BadInput: when it is empty or longer than `QUERY_LIMIT` characters.
    """
    text = " ".join(text.split())
    if not text:
        raise BadInput("The query is empty.", hint="Type what is to be searched for.")
    if len(text) > QUERY_LIMIT:
        raise BadInput(
            f"The query has {len(text):,} characters; the limit is {QUERY_LIMIT}.",
            hint="Shorten it to the words that matter.",
        )
    return text
