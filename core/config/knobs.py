"""Knobs: the user-tunable parameters. The sidebar, the command line's flags and the published schema follow from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AliasChoices, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from core.config.knob_control import Control
from core.config.run_knobs import STRICT, RunKnobs
from core.errors import BadInput
from core.model import Extractor
from core.text.questions import MOST_QUERIES
from core.text.urls import listed_domains, without_site_words

MOST_COLLECTIONS = 20
"""The most collections of the library that a question searches."""

SITES_LIMIT = 1000
"""The longest list of sites, in characters."""
MOST_ANSWER_TOKENS = 32_000
"""The highest limit of an answer, in tokens."""

# A knob with `AliasChoices` is also read under its former name, which stored runs and presets may have. The HTTP API,
# command line and notebooks refuse that name (`core.config.schema.former_names`).


class Backend(StrEnum):
    """Search backends. `auto` is the connected SearXNG; without one ddgs, or the demo library where ddgs reaches nothing."""

    AUTO = "auto"
    SEARXNG = "searxng"
    DDGS = "ddgs"
    DEMO = "demo"


class SearchScope(StrEnum):
    """Where a run searches."""

    WEB = "web"
    LIBRARY = "library"
    BOTH = "both"


class TimeRange(StrEnum):
    """How old a web result may be, as search engines know it."""

    ANY = ""
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


class SafeSearch(StrEnum):
    """How much a search engine filters results for adults."""

    OFF = "off"
    MODERATE = "moderate"
    STRICT = "strict"


class Strategy(StrEnum):
    """How passages are ordered."""

    COSINE = "cosine"
    BM25 = "bm25"
    FUSED = "fused"


class Boundary(StrEnum):
    """Where articles are split into passages."""

    NATURAL = "natural"
    SECTION = "section"
    SENTENCE = "sentence"
    RECURSIVE = "recursive"
    FIXED = "fixed"


class Length(StrEnum):
    """The length of a written answer."""

    SHORT = "short"
    NORMAL = "normal"
    LONG = "long"


class PromptLayout(StrEnum):
    """How the answer prompt is divided into messages. The rules are always a system message of their own."""

    TWO = "two"
    """The sources stand in the user's message, before the question."""
    THREE = "three"
    """The sources are a second system message, and the user's message is the question alone."""


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class PlanKnobs:
    """Knobs of the plan stage."""

    queries: Annotated[int, Field(ge=1, le=MOST_QUERIES, title="Search queries")] = 3
    """How many different search queries the chat model writes. With 1, the question itself is searched."""


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class SearchKnobs:
    """Knobs of the search stage."""

    origin: Annotated[SearchScope, Field(title="Look in")] = SearchScope.WEB
    """Searches the web, your own documents, or both, merged by rank."""
    collections: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$")], ...],
        Field(max_length=MOST_COLLECTIONS, title="Collections"),
    ] = ()
    """The collections of your library to search. Without a name, all of them."""
    passages: Annotated[int, Field(ge=0, le=50, title="Passages per query"), Control(labels={0: "auto"})] = 0
    """Passages per query and collection. 0 means the size of the context, but at least 50 of all collections together and 10 of each."""
    backend: Annotated[Backend, Field(title="Search backend")] = Backend.AUTO
    """Your SearXNG, the built-in metasearch (ddgs), or the offline demo library; auto uses the SearXNG that is connected, else ddgs."""
    results: Annotated[int, Field(ge=1, le=50, title="Results per query")] = 5
    """Search results of each query whose pages are read."""
    language: Annotated[str, Field(pattern=r"^(all|auto|[a-z]{2,3}(-[A-Za-z]{2,4})?)$", title="Language")] = (
        "all"
    )
    """A language code such as en, de or zh-CN; all searches every language."""
    time_range: Annotated[TimeRange, Field(title="Time range")] = TimeRange.ANY
    """Only pages from the last day, week, month or year, from engines that can filter by time."""
    safe_search: Annotated[SafeSearch, Field(title="Safe search")] = SafeSearch.MODERATE
    """Whether engines leave out explicit results."""
    categories: Annotated[str, Field(max_length=200, title="Categories")] = ""
    """SearXNG categories, separated by commas (general, news, science, it); empty means its default."""
    engines: Annotated[str, Field(max_length=200, title="Engines")] = ""
    """SearXNG engines by name, separated by commas; empty means all enabled engines."""


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class ReadKnobs:
    """Knobs of the read stage."""

    page_timeout: Annotated[
        float, Field(ge=0.5, le=60, title="Page timeout"), Control(step=0.5, unit="s")
    ] = 5.0
    """The longest wait for one page, from DNS lookup to last byte."""
    deadline: Annotated[
        float, Field(ge=0, le=300, title="Phase deadline"), Control(step=1.0, unit="s", labels={0: "none"})
    ] = 20.0
    """The longest wait for all pages together, from the first fetch; 0 means no deadline."""
    early_cut_percent: Annotated[
        int,
        Field(
            ge=0,
            le=100,
            title="Early cut: enough pages",
            validation_alias=AliasChoices("early_cut_percent", "enough"),
        ),
        Control(step=5, unit="%", labels={0: "never", 100: "never"}),
    ] = 90
    """Skips the remaining pages once this share is done and none arrived for the idle time. One must have been read; 0 or 100 means never."""
    early_cut_idle: Annotated[
        float,
        Field(
            ge=0.05,
            le=10,
            title="Early cut: idle time",
            validation_alias=AliasChoices("early_cut_idle", "quiet"),
        ),
        Control(step=0.05, unit="s"),
    ] = 0.3
    """The time without a new page before the early cut."""
    max_megabytes: Annotated[
        float, Field(ge=0.1, le=50, title="Page size limit"), Control(step=0.1, unit="MB")
    ] = 8.0
    """Larger pages, compressed or decompressed, are skipped."""
    concurrency: Annotated[int, Field(ge=1, le=128, title="Pages at once")] = 64
    """Concurrent page fetches of this run, at most 3 per host."""
    extractor: Annotated[Extractor, Field(title="Article extractor")] = Extractor.ACCURATE
    """How articles are extracted. accurate uses trafilatura. fast needs about an eighth of the CPU and keeps more boilerplate. visible keeps all visible text, with menus and footers."""
    robots: Annotated[bool, Field(title="Honour robots.txt")] = True
    """Skips pages that robots.txt disallows."""
    fresh: Annotated[bool, Field(title="Ignore the page cache")] = False
    """Fetches every page again instead of using cached pages of earlier runs."""


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class ChunkKnobs:
    """Knobs of the chunk stage."""

    size: Annotated[
        int,
        Field(ge=100, le=4000, title="Passage size"),
        Control(step=50, unit="characters", sweep=(200, 300, 500, 800, 1200)),
    ] = 500
    """The maximum passage length; small passages are precise, large ones keep context."""
    overlap: Annotated[int, Field(ge=0, le=50, title="Overlap"), Control(unit="%", sweep=(0, 10, 25))] = 10
    """The share of a passage repeated at the start of the next, so that text at a boundary is in one passage."""
    boundary: Annotated[Boundary, Field(title="Split at")] = Boundary.NATURAL
    """natural splits at paragraphs and sentences with balanced lengths, section also at every heading, sentence fills passages with whole sentences, recursive splits at paragraphs, then lines, sentences and words, fixed at a character count."""

    @property
    def overlap_characters(self) -> int:
        """The overlap of neighbouring passages in characters."""
        return self.size * self.overlap // 100


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class EmbedKnobs:
    """Knobs of the embed stage."""

    batch: Annotated[int, Field(ge=1, le=2048, title="Batch size"), Control(unit="texts")] = 300
    """The most texts in one request to a remote embedder."""
    in_flight: Annotated[int, Field(ge=1, le=32, title="Calls in flight")] = 4
    """Concurrent requests to a remote embedder."""
    everything_first: Annotated[bool, Field(title="Embed everything first")] = False
    """Embeds all passages before the context is chosen. Otherwise an embedder on this machine begins with the passages that can enter it, and embeds the rest while somebody looks at the run."""


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class RankKnobs:
    """Knobs of the rank stage, and of what is put into the context."""

    strategy: Annotated[
        Strategy, Field(title="Ranking"), Control(labels={"bm25": "BM25"}, orders=True, common=True)
    ] = Strategy.FUSED
    """cosine ranks by embedding similarity, bm25 by matching words, fused by reciprocal rank fusion of both."""
    top_k: Annotated[
        int, Field(ge=0, le=50, title="Passages in the context"), Control(sweep=(4, 6, 12), common=True)
    ] = 6
    """The number of best passages that become numbered sources."""
    threshold: Annotated[
        float,
        Field(ge=-1, le=1, title="Minimum cosine"),
        Control(step=0.01, labels={-1: "off"}, needs_vectors=True),
    ] = -1.0
    """Passages below this cosine similarity are excluded from the context; -1 means off."""
    min_similarity: Annotated[
        float,
        Field(ge=0, le=1, title="Minimum similarity"),
        Control(step=0.05, labels={0: "off"}, common=True, needs_vectors=True),
    ] = 0.0
    """Passages below this similarity are excluded from the context: the cosine on a scale from 0 to 1 that is calibrated for the embedder; 0 means off."""
    per_page: Annotated[
        int,
        Field(ge=-1, le=50, title="Passages per page"),
        Control(labels={-1: "auto", 0: "no limit"}, common=True),
    ] = -1
    """The most passages of one page in the context. auto (-1) means 3, or more if the context would not fill; 0 means no limit."""
    max_documents: Annotated[
        int,
        Field(ge=0, le=50, title="Documents in the context"),
        Control(labels={0: "no limit"}, sweep=(0, 1, 3)),
    ] = 0
    """The most documents in the context, each a web page or a document of a collection; 0 means no limit."""
    per_cluster: Annotated[
        int, Field(ge=0, le=50, title="Near-identical passages"), Control(labels={0: "no limit"})
    ] = 1
    """The most passages of different pages in the context that have nearly the same text; 0 means no limit."""
    surroundings: Annotated[
        int,
        Field(ge=0, le=1500, title="Text around a passage"),
        Control(step=100, unit="characters", labels={0: "none"}, sweep=(0, 150, 300)),
    ] = 0
    """The most text of the page that the model is given before each passage and after it, in whole sentences and none twice; 0 means the passage alone. A passage of a collection has none."""
    cosine_weight: Annotated[
        float,
        Field(ge=0, le=1, title="Fusion: weight of cosine"),
        Control(step=0.05, sweep=(0.25, 0.5, 0.75), orders=True, common=True, needs_vectors=True),
    ] = 0.5
    """The weight of cosine in the fused ranking; BM25 has the rest."""
    diversity: Annotated[
        float,
        Field(ge=0, le=1, title="Diversity"),
        Control(
            step=0.05,
            labels={0: "off"},
            sweep=(0.0, 0.3, 0.6),
            orders=True,
            common=True,
            needs_vectors=True,
        ),
    ] = 0.0
    """Maximal marginal relevance: the penalty for similarity to a better passage; 0 means off."""
    rerank: Annotated[bool, Field(title="Rerank")] = False
    """Reorders the best passages with the connected reranking model."""
    min_characters: Annotated[
        int, Field(ge=0, le=1000, title="Shortest passage"), Control(unit="characters", labels={0: "off"})
    ] = 0
    """Shorter passages are excluded from the context; 0 means none are."""
    only_domains: Annotated[str, Field(max_length=SITES_LIMIT, title="Only these sites")] = ""
    """Domains separated by commas, such as example.org, edu, with their subdomains: these alone are searched and used; empty means all sites."""
    without_domains: Annotated[str, Field(max_length=SITES_LIMIT, title="Excluded sites")] = ""
    """Domains that are neither searched nor used, separated by commas, with their subdomains."""
    excluded: Annotated[
        tuple[Annotated[str, Field(max_length=4096)], ...], Field(max_length=200, title="Excluded pages")
    ] = ()
    """Pages whose passages are excluded from the context; their scores are still shown."""


def within_sites(
    knobs: RankKnobs, only: Sequence[str] | None = None, without: Sequence[str] | None = None
) -> RankKnobs:
    """Return the knobs with these sites for one question. None leaves a list as it is.

    Raises:
        BadInput: when a list is longer than its knob may be.
    """
    allowed = knobs.only_domains if only is None else ", ".join(only)
    excluded = knobs.without_domains if without is None else ", ".join(without)
    if max(len(allowed), len(excluded)) > SITES_LIMIT:
        raise BadInput("There are too many sites.", hint=f"Name them in {SITES_LIMIT:,} characters at most.")
    return replace(knobs, only_domains=allowed, without_domains=excluded)


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class AnswerKnobs:
    """Knobs of the answer stage."""

    length: Annotated[Length, Field(title="Answer length")] = Length.NORMAL
    """short is one paragraph, normal a few, long a structured report."""
    temperature: Annotated[float, Field(ge=0, le=2, title="Temperature"), Control(step=0.05)] = 0.2
    """Sampling temperature of the chat model; low values stay closer to the sources."""
    max_tokens: Annotated[
        int, Field(ge=0, le=MOST_ANSWER_TOKENS, title="Answer limit"), Control(step=100, unit="tokens")
    ] = 0
    """The most tokens of the answer, reasoning included; 0 means the limit of the answer length."""
    stop: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=200)], ...],
        Field(max_length=4, title="Stop sequences"),
    ] = ()
    """The answer ends before the first of these texts."""
    prompt_layout: Annotated[
        PromptLayout,
        Field(title="Prompt messages", validation_alias=AliasChoices("prompt_layout", "messages")),
    ] = PromptLayout.TWO
    """The message with the sources. two puts them into the user's message, before the question. three makes them a system message of their own."""
    ask_first: Annotated[bool, Field(title="Ask first whether the passages answer")] = False
    """Ask the chat model in one short call, before it writes, whether the passages state the answer; a no is shown above it."""


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Knobs:
    """All groups. A stage is handed its own group only, so what it depends on shows in its signature."""

    run: RunKnobs = RunKnobs()
    plan: PlanKnobs = PlanKnobs()
    search: SearchKnobs = SearchKnobs()
    read: ReadKnobs = ReadKnobs()
    chunk: ChunkKnobs = ChunkKnobs()
    embed: EmbedKnobs = EmbedKnobs()
    rank: RankKnobs = RankKnobs()
    answer: AnswerKnobs = AnswerKnobs()

    @classmethod
    def parse(cls, values: Mapping[str, Any], given_as: Callable[[str], str] = str) -> Knobs:
        """Knobs from nested mappings such as `{"rank": {"top_k": 3}}`.

        `given_as` is what a field is called where the values come from, by its path such as `rank.top_k`.

        Raises:
            BadInput: naming every field that is unknown or out of bounds, and its bounds.
        """
        try:
            return KNOBS.validate_python(values)
        except ValidationError as error:
            wrong = "; ".join(
                f"{given_as('.'.join(map(str, fault['loc'][:2])))}: {fault['msg'][0].lower()}{fault['msg'][1:]}"
                for fault in error.errors(include_url=False)
            )
            raise BadInput(f"Settings out of bounds: {wrong}.", hint="Correct them and ask again.") from error

    def to_json(self) -> dict[str, dict[str, Any]]:
        """Return the knobs as JSON values by group."""
        values: dict[str, dict[str, Any]] = KNOBS.dump_python(self, mode="json")
        return values


KNOBS = TypeAdapter(Knobs)
"""The reader and writer of knobs."""


def within_typed_sites(question: str, knobs: Knobs) -> tuple[str, Knobs]:
    """Return a question without its words `site:` and `-site:`, and the knobs that narrow it to these sites.

    Raises:
        BadInput: when there are too many sites.
    """
    words, only, without = without_site_words(question)
    if not words or not (only or without):
        return question, knobs
    rank = within_sites(knobs.rank, only or None, (*listed_domains(knobs.rank.without_domains), *without))
    return words, replace(knobs, rank=rank)
