"""The events of a run, a closed union. Pages, command line, HTTP service and store fold the same events."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from core.config.knobs import Knobs
from core.model import (
    Answer,
    CitationCheck,
    ClientRequest,
    Index,
    Message,
    ModelUsage,
    Page,
    Passage,
    Phase,
    Query,
    Ranking,
    Retry,
    SearchReply,
    Severity,
    Skip,
    Source,
    Turn,
)
from core.model.arrays import Floats, Rows
from core.run.reports.plan_events import PlanEvent
from core.run.step_events import StepEvent


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The first event of a run, with its question and knobs."""

    id: str
    question: str
    knobs: Knobs
    at: str  # ISO 8601, UTC
    turn: Turn | None = None  # of a follow-up question
    client: ClientRequest | None = None  # sent by a chat client


@dataclass(frozen=True, slots=True)
class RunResumed:
    """An ended run continues under these knobs: with a new ranking, a new answer, or further pages."""

    knobs: Knobs


@dataclass(frozen=True, slots=True)
class PhaseStarted:
    """A phase begins. What it produced earlier in this run is dropped."""

    phase: Phase


@dataclass(frozen=True, slots=True)
class PhaseEnded:
    """A phase has ended, with or without a result."""

    phase: Phase


@dataclass(frozen=True, slots=True)
class Note:
    """A fallback or partial failure that does not end the run."""

    phase: Phase
    message: str
    hint: str = ""
    severity: Severity = Severity.INFO


class Purpose(StrEnum):
    """The purpose of a request to a chat model."""

    PLAN = "plan"
    """Search queries, or the sub-questions of a report."""
    DECIDE = "decide"
    """The next steps of an agent."""
    VERDICT = "verdict"
    """A verdict on whether the sources answer the question."""
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class ModelAsked:
    """A request was sent to a chat model."""

    phase: Phase
    model: str
    purpose: Purpose = Purpose.ANSWER
    silence: float | None = None  # seconds without data before the request is given up, or None
    ends: float | None = None  # seconds before the whole reply is given up, or None


@dataclass(frozen=True, slots=True)
class ModelHeard:
    """The chat model has sent a part of its reply, possibly reasoning. Emitted at most once a second."""

    phase: Phase


@dataclass(frozen=True, slots=True)
class ModelThought:
    """The chat model has sent reasoning, which is not part of the answer."""

    phase: Phase
    text: str
    takes_back: bool = False  # the answer text until now belongs to the reasoning


@dataclass(frozen=True, slots=True)
class ModelUsed:
    """A model call has ended, was stopped or broke off, with its token counts."""

    phase: Phase
    usage: ModelUsage


@dataclass(frozen=True, slots=True)
class ModelRetry:
    """A request to a model server waits before it is sent again.

    The server refused it temporarily, or the connection was lost.
    """

    phase: Phase
    retry: Retry
    batch: int = 0  # the waiting embedding batch, or 0 for another request


@dataclass(frozen=True, slots=True)
class QueryPlanned:
    """A search query was planned."""

    query: Query


@dataclass(frozen=True, slots=True)
class SearchStarted:
    """A query was sent to the search backend."""

    query: Query


@dataclass(frozen=True, slots=True)
class SearchAnswered:
    """The search backend answered a query."""

    query: Query
    reply: SearchReply


@dataclass(frozen=True, slots=True)
class QueryFailed:
    """A query failed, with the reason in `message`."""

    query: Query
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class FetchStarted:
    """The request for a page was sent."""

    key: str
    url: str


@dataclass(frozen=True, slots=True)
class Fetched:
    """The body of a page has arrived: `size` bytes."""

    key: str
    size: int


@dataclass(frozen=True, slots=True)
class PageRead:
    """The article of a page was extracted."""

    page: Page


@dataclass(frozen=True, slots=True)
class PageSkipped:
    """A page was not read, for the reason in `skip`."""

    skip: Skip


@dataclass(frozen=True, slots=True)
class PageChunked:
    """The article of a page was cut into passages."""

    key: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class EmbedStarted:
    """A batch of texts was sent to the embedder."""

    batch: int
    texts: int


@dataclass(frozen=True, slots=True)
class Embedded:
    """An embedding batch has returned.

    `cosine[i]` is the cosine similarity of the passage with id `passages[i]` to the question.
    """

    batch: int  # 0 for passages that were already in the index
    passages: tuple[str, ...]
    cosine: tuple[float, ...]
    reused: int  # how many of the vectors came from the cache
    rows: Rows | None = None  # index rows of these vectors, or None before the index exists
    vectors: Floats | None = None


@dataclass(frozen=True, slots=True)
class BatchFailed:
    """A batch of texts has no vectors, with the reason in `message`."""

    batch: int
    texts: int
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Indexed:
    """The passages can be ranked. Rows missing in `rows` wait for their vectors. If `rows` is None, no row waits."""

    index: Index  # its vectors belong to `rows`
    rows: Rows | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """The passages are ranked, and the context is chosen."""

    ranking: Ranking


@dataclass(frozen=True, slots=True)
class SourcesChosen:
    """The numbered sources of the answer that follows. A later ranking does not change them."""

    sources: tuple[Source, ...]
    embedded: tuple[str, ...] = ()  # ids of passages that had a vector by then, or empty if none waited


@dataclass(frozen=True, slots=True)
class Prompted:
    """The exact messages sent to the chat model."""

    messages: tuple[Message, ...]
    model: str


@dataclass(frozen=True, slots=True)
class TokensWritten:
    """The next piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer is complete, or ended early."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class Checked:
    """The citations of the answer were compared with its sources."""

    check: CitationCheck


@dataclass(frozen=True, slots=True)
class RunDone:
    """The run ended with an answer."""


@dataclass(frozen=True, slots=True)
class RunStopped:
    """A person or a disconnected client ended the run early."""


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The run ended without an answer, with the failed part and a hint."""

    part: str
    message: str
    hint: str = ""
    exit_code: int = 1

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


PageEvent = SearchStarted | SearchAnswered | QueryFailed | FetchStarted | Fetched | PageRead | PageSkipped
Event = (
    RunStarted
    | RunResumed
    | PhaseStarted
    | PhaseEnded
    | Note
    | ModelAsked
    | ModelHeard
    | ModelThought
    | ModelUsed
    | ModelRetry
    | QueryPlanned
    | PageEvent
    | PageChunked
    | EmbedStarted
    | Embedded
    | BatchFailed
    | Indexed
    | Ranked
    | SourcesChosen
    | Prompted
    | TokensWritten
    | Answered
    | Checked
    | StepEvent
    | PlanEvent
    | RunDone
    | RunStopped
    | RunFailed
)

Emit = Callable[[Event], None]  # reports an event of a stage, returns at once and never raises


@dataclass(frozen=True, slots=True)
class Record:
    """An event and its time `at`, in seconds since the run began."""

    at: float
    event: Event
