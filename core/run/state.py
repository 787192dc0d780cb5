"""The state of a run, folded from its events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import assert_never

from core.config.knobs import Knobs
from core.model import (
    Answer,
    CitationCheck,
    ClientRequest,
    Hit,
    Index,
    Message,
    Notice,
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
from core.run.growing import Growing, with_items, without_item
from core.run.notices import notices
from core.run.reports import plan_events as p
from core.run.reports.sections import IN_BRIEF, Section
from core.run.step_events import ModelDecided, Step, StepEnded, StepStarted, folded_steps
from core.run.timeline import Timeline
from core.run.transitions import (
    ModelCall,
    UsageKey,
    add_usage,
    folded_calls,
    usage_of,
    whole_index,
    with_batch,
    with_merged_hits,
    with_section,
    without_results_of,
)

_RANKING_PHASES = frozenset({Phase.CHUNK, Phase.EMBED, Phase.RANK})
_RANKING_FIELDS = (
    *("knobs", "passages", "live_cosine", "vectors_reused", "vectors_computed"),
    *("embed_faults", "index", "ranking"),
)
_ANSWER_FIELDS = ("sources", "embedded_for_answer", "prompt", "text", "answer", "check", "earlier_answers")


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """The immutable state of a run after some of its events. `apply` returns the next state."""

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
    before: Run | None = None
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
    def last_complete(self) -> Run:
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
        return next((reply.backend for reply in self.replies.values()), "")

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

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Return the notices of the run in phase order."""
        return notices(self)

    def interrupted(self) -> Run:
        """Return an unended run as interrupted, others unchanged."""
        if not self.live:
            return self
        closed = replace(self, timeline=self.timeline.closed(self.seconds))
        return _ended_early(closed, RunStatus.INTERRUPTED)

    def apply(self, record: e.Record) -> Run:
        """Return the state after `record`."""
        timeline, calls = self.timeline.apply(record), folded_calls(self, record)
        run = replace(self, seconds=record.at, timeline=timeline, calls=calls)
        match record.event:
            case e.RunStarted() as start:
                run = replace(run, id=start.id, question=start.question, knobs=start.knobs, turn=start.turn)
                run = replace(run, client=start.client, model_usage=usage_of(start))
                return replace(run, started=start.at, status=RunStatus.RUNNING)
            case e.RunResumed(knobs=knobs):
                before = _ended_early(self, RunStatus.INTERRUPTED) if self.before else self
                return replace(run, knobs=knobs, status=RunStatus.RUNNING, error=None, before=before, part="")
            case e.PhaseStarted(phase=phase):
                return without_results_of(run, phase)
            case e.Note() as note:
                return replace(run, notes=(*run.notes, note))
            case e.ModelUsed() as used:
                sums: dict[UsageKey, e.ModelUsed] = {}
                for call in (*run.model_usage, used):
                    add_usage(sums, call)
                return replace(run, model_usage=tuple(sums.values()))
            case e.QueryPlanned(query=query) if query in run.queries:
                return run  # another section has planned it
            case e.QueryPlanned(query=query):
                return replace(run, queries=(*run.queries, query))
            case e.SearchAnswered(query=query, reply=reply):
                run = replace(run, replies=with_items(run.replies, {query: reply}))
                return run if isinstance(run.replies, Growing) else with_merged_hits(run)
            case e.QueryFailed(query=query) as fault:
                return replace(run, search_faults=with_items(run.search_faults, {query: fault}))
            case e.FetchStarted(key=key):
                return replace(run, fetching=(*run.fetching, key))
            case e.PageRead(page=page):
                run = replace(run, pages=with_items(run.pages, {page.key: page}))
                return run if page.snippet_only else replace(run, skips=without_item(run.skips, page.key))
            case e.PageSkipped(skip=skip) if run.has_full_page(skip.key):
                return run  # a failed second extractor does not discard the page
            case e.PageSkipped(skip=skip):
                return replace(run, skips=with_items(run.skips, {skip.key: skip}))
            case e.PageChunked(passages=passages):
                return replace(run, passages=(*run.passages, *passages))
            case e.Embedded() as batch:
                return with_batch(run, batch)
            case e.BatchFailed() as fault:
                return replace(run, embed_faults=(*run.embed_faults, fault))
            case e.Indexed() as event:
                return replace(run, index=whole_index(event), ranking=None)
            case e.Ranked(ranking=ranking):
                return replace(run, ranking=ranking)
            case e.SourcesChosen(sources=sources, embedded=ids):
                run = run._with_answer_archived()._without_answer_notes()
                return replace(run, sources=sources, embedded_for_answer=ids)
            case e.Prompted(messages=messages):
                return replace(run, prompt=messages)
            case e.TokensWritten(text=text):
                return replace(run, text=run.text + text)
            case e.ModelThought(phase=Phase.ANSWER, takes_back=True) if run.calls:
                return replace(run, text=run.text[: run.calls[-1].written_from])
            case e.Answered(answer=answer):
                return replace(run, answer=answer, text=answer.text)
            case e.Checked(check=check):
                return replace(run, check=check)
            case ModelDecided() as decision:
                return replace(run, decisions=(*run.decisions, decision))
            case StepStarted() | StepEnded() as event:
                return replace(run, steps=folded_steps(run.steps, run.decisions, event, record.at))
            case p.PlanProposed() as plan:
                return replace(run, plan=plan, status=RunStatus.PLANNED)
            case p.PlanApproved(sub_questions=questions):
                sections = tuple(Section(question=question) for question in questions)
                return replace(run, sections=sections, status=RunStatus.RUNNING, error=None)
            case p.SectionStarted() | p.SectionWritten() | p.SectionLeftOut() as event:
                return with_section(run, event, record.at)
            case p.BriefStarted():
                return replace(run, part=IN_BRIEF)
            case e.RunDone():
                status = RunStatus.PLANNED if run.waits_for_approval else RunStatus.DONE
                return replace(run, status=status, before=None, part="")
            case e.RunStopped():
                return _ended_early(run, RunStatus.STOPPED)
            case e.RunFailed() as error:
                return replace(_ended_early(run, RunStatus.FAILED), error=error)
            case (
                e.PhaseEnded()
                | e.ModelRetry()
                | e.SearchStarted()
                | e.Fetched()
                | e.EmbedStarted()
                | e.ModelAsked()
                | e.ModelHeard()
                | e.ModelThought()
            ):
                return run
            case _:
                assert_never(record.event)

    def _with_answer_archived(self) -> Run:
        if self.answer is None:
            return self
        version = AnswerVersion(answer=self.answer, sources=self.sources, check=self.check)
        return replace(self, earlier_answers=(*self.earlier_answers, version), answer=None)

    def _without_answer_notes(self) -> Run:
        """Drop notes about a replaced answer. The notes of a report belong to its sections and stay."""
        if self.before is None or self.sections:
            return self
        return replace(self, notes=tuple(note for note in self.notes if note.phase is not Phase.ANSWER))


def _with_ranking_of(run: Run, other: Run) -> Run:
    """Return the run with the ranking of `other`.

    The passages, knobs and phase spans behind the ranking are taken too.
    """
    spans = {p: s for p, s in run.timeline.phases.items() if p not in _RANKING_PHASES}
    spans |= {p: s for p, s in other.timeline.phases.items() if p in _RANKING_PHASES}
    return replace(_with_fields_of(run, other, _RANKING_FIELDS), timeline=replace(run.timeline, phases=spans))


def _with_answer_of(run: Run, other: Run) -> Run:
    return _with_fields_of(run, other, _ANSWER_FIELDS)


def _ended_early(run: Run, status: RunStatus) -> Run:
    """Return the run after work that was cut short.

    A follow-up without a new ranking restores the earlier passages and ranking. If it has written nothing, it restores
    the earlier answer. A stopped follow-up that changes neither restores the earlier status too.
    """
    before, run = run.before, replace(run, status=status, before=None)
    if before is None:
        return run
    unranked = run.ranking is None or run.ranking is before.ranking
    if unranked:
        run = _with_ranking_of(run, before)
    if run.answer is None and not run.text:
        run = _with_answer_of(run, before)
    unchanged = unranked and run.answer is before.answer and run.text == before.text
    if status is RunStatus.STOPPED and unchanged and not before.live:
        run = replace(run, status=before.status, error=before.error)
    return run


def _with_fields_of(run: Run, other: Run, names: tuple[str, ...]) -> Run:
    return replace(run, **{name: getattr(other, name) for name in names})
