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
    """The first event of a run: what is asked, with which knobs."""

    id: str
    question: str
    knobs: Knobs
    at: str  # ISO 8601, UTC
    turn: Turn | None = None  # of a follow-up question
    client: ClientRequest | None = None  # what a chat client sent with it


@dataclass(frozen=True, slots=True)
class RunResumed:
    """A run that had ended continues under these knobs: ranked again, answered again, or with further pages."""

    knobs: Knobs


@dataclass(frozen=True, slots=True)
class PhaseStarted:
    """A phase begins. What it produced earlier in this run is dropped."""

    phase: Phase


@dataclass(frozen=True, slots=True)
class PhaseEnded:
    """A phase has ended, however it ended."""

    phase: Phase


@dataclass(frozen=True, slots=True)
class Note:
    """Something a person should know although the run goes on: a fallback, a partial failure."""

    phase: Phase
    message: str
    hint: str = ""
    severity: Severity = Severity.INFO


class Purpose(StrEnum):
    """What a chat model is asked for."""

    PLAN = "plan"
    """Search queries, or the sub-questions of a report."""
    DECIDE = "decide"
    """The next steps of an agent."""
    VERDICT = "verdict"
    """Whether the sources answer the question."""
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class ModelAsked:
    """A chat model was sent a request, and its reply is awaited."""

    phase: Phase
    model: str
    purpose: Purpose = Purpose.ANSWER
    silence: float | None = None  # seconds without any data after which it is given up; None: no limit
    ends: float | None = None  # seconds after which the reply is awaited no longer; None: no limit


@dataclass(frozen=True, slots=True)
class ModelHeard:
    """The awaited chat model has sent a part of its reply, which may be reasoning. Told once a second at most."""

    phase: Phase


@dataclass(frozen=True, slots=True)
class ModelThought:
    """The awaited chat model has sent reasoning, which is no part of the answer."""

    phase: Phase
    text: str
    takes_back: bool = False  # all that was written of the answer so far is a part of this reasoning


@dataclass(frozen=True, slots=True)
class ModelUsed:
    """A call of a model has ended, also one that was stopped or that broke off, and took these tokens."""

    phase: Phase
    usage: ModelUsage


@dataclass(frozen=True, slots=True)
class ModelRetry:
    """A model server refused a request for now, or the connection was lost. A wait begins, then it is asked again."""

    phase: Phase
    retry: Retry
    batch: int = 0  # the embedding batch that waits; 0: another request


@dataclass(frozen=True, slots=True)
class QueryPlanned:
    """A search query is known."""

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
    """A query has no answer; `message` says why."""

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
    """A page was not read, with the reason."""

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
    """An embedding batch returned. `cosine[i]` is the cosine similarity of the passage with id `passages[i]` to the question."""

    batch: int  # 0: of passages of the index that had waited
    passages: tuple[str, ...]
    cosine: tuple[float, ...]
    reused: int  # how many of the vectors came from the cache
    rows: Rows | None = None  # of the index, which now have these vectors; None: the index is still to come
    vectors: Floats | None = None


@dataclass(frozen=True, slots=True)
class BatchFailed:
    """A batch of texts has no vectors; `message` says why."""

    batch: int
    texts: int
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Indexed:
    """The passages are ready to be ranked. Those that are not in `rows` wait for their vectors; None: none waits."""

    index: Index  # its vectors are those of `rows`
    rows: Rows | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """The passages are ranked, and the context is chosen."""

    ranking: Ranking


@dataclass(frozen=True, slots=True)
class SourcesChosen:
    """The numbered sources of the answer that follows. A later ranking does not change them."""

    sources: tuple[Source, ...]
    embedded: tuple[str, ...] = ()  # ids of the passages that had a vector by then; empty: none waited


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
    """A person, or a client that went away, ended the run early."""


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The run ended without an answer: which part failed, and what to do."""

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

Emit = Callable[[Event], None]  # how a stage reports an event: returns at once, and never raises


@dataclass(frozen=True, slots=True)
class Record:
    """An event and its time `at`, in seconds since the run began."""

    at: float
    event: Event
