"""The values of a run. Pages, stores, comparisons and exports read them from `Run`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from core.config.knobs import Knobs
from core.model import (
    Answer,
    CitationCheck,
    ClientRequest,
    Hit,
    Index,
    Message,
    Page,
    Passage,
    Phase,
    Query,
    Ranking,
    SearchReply,
    Skip,
    Source,
    Turn,
    Usage,
    context_numbers,
)
from core.model.passage_urls import collection_at_url
from core.run import events as e
from core.run.reports import plan_events as p
from core.run.reports.sections import Section
from core.run.step_events import ModelDecided, Step
from core.run.timeline import Timeline


class RunStatus(StrEnum):
    """The progress or outcome of a run."""

    QUEUED = "queued"  # waits for a free slot
    RUNNING = "running"
    PLANNED = "planned"  # a deep run: its plan waits for approval
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    """The process ended before the run did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerVersion:
    """An answer with its sources and the check of its citations."""

    answer: Answer
    sources: tuple[Source, ...]
    check: CitationCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One request to a chat model. Times are seconds since the start of the run."""

    phase: Phase
    model: str
    purpose: e.Purpose
    start: float
    end: float | None = None
    """When the reply ended, or None if it has not ended or the request was refused."""
    tokens: Usage | None = None
    estimated: bool = False
    """Whether the tokens are an estimate, because the server did not count them."""
    part: str = ""
    """The report section that the call was for, or ""."""
    text: str = ""
    """The text of the reply: queries or sub-questions by line, the reason of a decision, or the answer."""
    reasoning: str = ""
    """The reasoning of the reply, or ""."""
    written_from: int = 0
    """The offset of its answer in the text of the run."""
    decision: int | None = None
    """The index of the agent's decision in the run, or None."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunValues:
    """The values of a run after some of its events, and what follows from them."""

    id: str = ""
    question: str = ""
    knobs: Knobs = field(default_factory=Knobs)
    started: str = ""
    """The start time in ISO 8601, UTC."""
    turn: Turn | None = None
    """The position in a conversation, or None for a first question."""
    client: ClientRequest | None = None
    """The request data of a chat client, or None if the question came from another interface."""
    status: RunStatus = RunStatus.RUNNING
    seconds: float = 0.0
    """Seconds from the start of the run to its latest event."""
    queries: tuple[Query, ...] = ()
    replies: Mapping[Query, SearchReply] = field(default_factory=dict)
    """The search results of each query."""
    search_faults: Mapping[Query, e.QueryFailed] = field(default_factory=dict)
    hits: tuple[Hit, ...] = ()
    """The results of all replies by reciprocal rank fusion, best first."""
    fetching: tuple[str, ...] = ()
    """Keys of the hits whose fetch has begun."""
    pages: Mapping[str, Page] = field(default_factory=dict)
    """Pages by the key of their hit, in order of arrival."""
    skips: Mapping[str, Skip] = field(default_factory=dict)
    """Reasons why hits were not read, by key. These hits have no page, or a snippet replaces it."""
    passages: tuple[Passage, ...] = ()
    """Passages in order of arrival. `index.passages` has them sorted and without duplicates."""
    live_cosine: Mapping[str, float] = field(default_factory=dict)
    """Cosine similarity to the question by passage id. Each embedding batch adds to it."""
    index: Index | None = None
    ranking: Ranking | None = None
    sources: tuple[Source, ...] = ()
    """The numbered sources of `answer`. A later ranking does not change them."""
    embedded_for_answer: tuple[str, ...] = ()
    """Ids of the passages that had a vector when `sources` were chosen. Empty if none waited for a vector."""
    prompt: tuple[Message, ...] = ()
    text: str = ""
    """The answer text written until now."""
    answer: Answer | None = None
    check: CitationCheck = field(default_factory=CitationCheck)
    earlier_answers: tuple[AnswerVersion, ...] = ()
    """Answers given before `answer`, oldest first."""
    notes: tuple[e.Note, ...] = ()
    """Notes of the stages. `notices` adds everything else that a person should know."""
    model_usage: tuple[e.ModelUsed, ...] = ()
    """Token sums by phase and model, earlier answers included.

    Calls whose provider states a cost have a separate sum.
    """
    calls: tuple[ModelCall, ...] = ()
    """The chat model calls in order. Runs of earlier versions have none."""
    embed_faults: tuple[e.BatchFailed, ...] = ()
    decisions: tuple[ModelDecided, ...] = ()
    """The replies of an agent's chat model. Their tool calls, in order, are `steps`."""
    steps: tuple[Step, ...] = ()
    plan: p.PlanProposed | None = None
    """The plan of a deep run, whether approved or not."""
    sections: tuple[Section, ...] = ()
    """The report sections of a deep run with an approved plan."""
    part: str = ""
    """The heading of the section that is being ranked, or ""."""
    error: e.RunFailed | None = None
    vectors_reused: int = 0
    vectors_computed: int = 0
    timeline: Timeline = field(default_factory=Timeline)
    before: Self | None = None
    """The run before the current follow-up, or None. It is not exported."""

    @property
    def live(self) -> bool:
        """Whether the run is queued or running."""
        return self.status in (RunStatus.QUEUED, RunStatus.RUNNING)

    @property
    def waits_for_approval(self) -> bool:
        """Whether the run has a plan that is not approved."""
        return self.plan is not None and not self.sections

    @property
    def last_complete(self) -> Self:
        """The latest run with a ranking. Until a follow-up has a new ranking, this is the run before it."""
        if self.before is None or (self.ranking is not None and self.ranking is not self.before.ranking):
            return self
        return self.before

    @property
    def usage(self) -> Usage | None:
        """Tokens and cost of the run on model servers. None if no server was asked."""
        billed = [used.usage.tokens for used in self.model_usage if not used.usage.local]
        return sum(billed[1:], billed[0]) if billed else None

    @property
    def backend(self) -> str:
        """The search backend that answered, such as searxng, or ""."""
        return next((reply.backend for reply in self.replies.values() if reply.backend), "")

    @property
    def reasoning(self) -> str:
        """The reasoning before the latest answer, or ""."""
        answers = (call for call in reversed(self.calls) if call.purpose is e.Purpose.ANSWER)
        return next((call.reasoning for call in answers), "")

    @property
    def origins(self) -> frozenset[str]:
        """The collections of its pages. Pages of no collection add `core.config.egress.PAGES`."""
        return frozenset(map(collection_at_url, self.pages))

    @property
    def conversation(self) -> str:
        """The id of the conversation's first run, or the run's own id."""
        return (self.turn and self.turn.conversation) or self.id

    @property
    def written(self) -> str:
        """The question as the person wrote it. `question` is the rewritten form of a follow-up."""
        return self.turn.written if self.turn else self.question

    @property
    def numbers(self) -> Mapping[str, int]:
        """Taken source numbers by passage id. Earlier turns and report sections took them."""
        taken = dict(self.turn.numbers) if self.turn else {}
        return taken | {source.passage.id: source.number for part in self.sections for source in part.sources}

    @property
    def context_numbers(self) -> Mapping[int, int]:
        """Source numbers of the context's passages by index row. Empty before the ranking."""
        if self.index is None or self.ranking is None:
            return {}
        return context_numbers(self.ranking, self.index, self.numbers)

    @property
    def ranked_pages(self) -> tuple[Page, ...]:
        """Pages with text, in the order of their hits."""
        return tuple(page for hit in self.hits if (page := self.pages.get(hit.key)) and not page.lacks_text)

    @property
    def lacks_texts(self) -> bool:
        """Whether texts of its passages are missing.

        They were left out of a file. Before it has passages, its pages count.
        """
        keys = {passage.place.page for passage in self.passages} or self.pages.keys()
        return any(page.lacks_text for key in keys if (page := self.pages.get(key)))

    @property
    def full_pages(self) -> int:
        """The number of pages read, without snippets that replace pages."""
        return sum(not page.snippet_only for page in self.pages.values())

    def has_full_page(self, key: str) -> bool:
        """Whether the page was read, and not only its snippet."""
        return key in self.pages and not self.pages[key].snippet_only
