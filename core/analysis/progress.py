"""Progress of a run: phases with counts and states, and the outcome of each hit."""

import math
from dataclasses import dataclass
from enum import StrEnum

from core.analysis.run_activity import passage_counts, retry_text
from core.model import Author, Hit, Notice, Page, Phase, Severity, Skip, is_left_out
from core.model.passage_urls import site
from core.run.notices import TIME_SKIPS
from core.run.state import Run, RunStatus
from core.run.timeline import Span
from core.text.sanitize import plural, pluralize
from core.text.text_length import text_length

PHASES = (
    (Phase.PLAN, "Queries"),
    (Phase.SEARCH, "Search"),
    (Phase.READ, "Pages"),
    (Phase.CHUNK, "Passages"),
    (Phase.EMBED, "Embed"),
    (Phase.RANK, "Rank"),
    (Phase.ANSWER, "Answer"),
)
"""The phases with their displayed titles."""
MOST_BEST = 5
"""The most best passages to show while the answer is not there."""

_CELL = {Phase.CHECK: Phase.ANSWER}
"""Phases without a cell in the stepper, and the phases that show them."""

_PHASE_OF_PART = {"library": Phase.SEARCH, **{str(phase): phase for phase in Phase}}
"""The failed phase, by the part that an error names."""


class RunStage(StrEnum):
    """The stage of a run, which decides what a live page redraws."""

    QUEUED = "queued"
    GATHER = "gather"
    ANSWER = "answer"
    ENDED = "ended"


def run_stage(run: Run) -> RunStage:
    """Return the stage of the run."""
    if not run.live:
        return RunStage.ENDED
    if run.status is RunStatus.QUEUED:
        return RunStage.QUEUED
    answering = run.timeline.phases.get(Phase.ANSWER)
    return RunStage.ANSWER if answering and answering.end is None else RunStage.GATHER


def spoken_state(run: Run) -> str:
    """Return the state of a run as a sentence, which changes only with the stage."""
    match run_stage(run):
        case RunStage.QUEUED | RunStage.GATHER:
            return "Searching and reading."
        case RunStage.ANSWER:
            return "Writing the answer."
    if run.error:
        return f"The run failed: {run.error.message}"
    if run.status is RunStatus.PLANNED:
        return "The plan waits for approval."
    if run.status is not RunStatus.DONE:
        return f"The run was {run.status}."
    complete = f"The answer is complete, with {pluralize(len(run.sources), 'source')}"
    return (
        f"{complete} and {pluralize(count, 'warning')}." if (count := len(warnings(run))) else f"{complete}."
    )


def warnings(run: Run) -> tuple[Notice, ...]:
    """Return the warnings among the run's notices: a loss or a doubt."""
    return tuple(notice for notice in run.notices if notice.severity is Severity.WARNING)


def missing_hits(run: Run) -> str:
    """Return why a run has no hits."""
    if run.live:
        return "Searching …"
    if run.replies:
        return "No search found anything."
    return "Every search failed." if run.search_faults else "The run ended before a search had answered."


class PhaseState(StrEnum):
    """The state and outcome of a phase."""

    WAITING = "waiting"
    """The phase has not begun, or never began in an ended run."""
    RUNNING = "running"
    DONE = "done"
    PARTIAL = "partial"
    """The phase ended with a warning: data was lost, or may be wrong."""
    FAILED = "failed"
    """The phase made the run fail."""
    CUT = "cut"
    """The run ended during this phase."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseProgress:
    """One phase in the stepper. `seconds` is None before its start, and excludes retry waits."""

    phase: Phase
    title: str
    state: PhaseState
    count: str
    unit: str
    seconds: float | None
    detail: str = ""
    """An explanation of the count, if it is not plain."""
    waiting: str = ""
    """The reason and end of the phase's wait, or ""."""
    wait_seconds: float = 0.0
    waited: float = 0.0
    """Seconds of waiting for another attempt, which `seconds` excludes."""


def phase_progress(run: Run, now: float) -> tuple[PhaseProgress, ...]:
    """Return the phases at `now` on the run's clock."""
    lossy = {_CELL.get(notice.phase, notice.phase) for notice in warnings(run)}
    return tuple(_phase(run, phase, title, now, lossy=phase in lossy) for phase, title in PHASES)


def _phase(run: Run, phase: Phase, title: str, now: float, *, lossy: bool) -> PhaseProgress:
    span = run.timeline.phases.get(phase)
    count, unit = _count(run, phase)
    state = _state(run, phase, span, lossy=lossy)
    if span is None or state is PhaseState.WAITING:
        return PhaseProgress(phase=phase, title=title, state=state, count="", unit="", seconds=None)
    wait = run.timeline.waiting(phase, now)
    seconds = max(run.timeline.worked(phase, now), 0.0)
    return PhaseProgress(
        phase=phase,
        title=title,
        state=state,
        count=count,
        unit=unit,
        seconds=seconds,
        detail=_detail(run, phase),
        waiting=retry_text(wait, now) if wait else "",
        wait_seconds=wait.ends() - now if wait else 0.0,
        waited=max(span.seconds(now) - seconds, 0.0),
    )


def _state(run: Run, phase: Phase, span: Span | None, *, lossy: bool) -> PhaseState:
    if run.error and _PHASE_OF_PART.get(run.error.part) is phase:
        return PhaseState.FAILED
    if span is None:
        return PhaseState.WAITING
    if span.end is None:
        return PhaseState.RUNNING
    if run.status not in (RunStatus.RUNNING, RunStatus.DONE) and span.end == run.seconds:
        return PhaseState.CUT
    return PhaseState.PARTIAL if lossy else PhaseState.DONE


def _detail(run: Run, phase: Phase) -> str:
    counts = passage_counts(run)
    if phase is Phase.CHUNK and counts.merged:
        have = plural(
            counts.merged, "has the same text as another and is", "have the same text as another and are"
        )
        return f"{pluralize(counts.found, 'passage')}, of which {counts.merged:,} {have} merged"
    return ""


def _count(run: Run, phase: Phase) -> tuple[str, str]:
    match phase:
        case Phase.PLAN:
            return _number(sum(query.author is not Author.CONVERSATION for query in run.queries)), ""
        case Phase.SEARCH:
            return _number(len(run.hits)), plural(len(run.hits), "hit")
        case Phase.READ:
            return _number(run.full_pages), f"of {len(run.hits):,}"
        case Phase.CHUNK:
            counts = passage_counts(run)
            return _number(counts.kept), f"{counts.merged:,} merged" if counts.merged else ""
        case Phase.EMBED:
            counts = passage_counts(run)
            if run.index and run.index.vectors is not None and counts.embedded == counts.kept:
                return "all", ""
            return _number(counts.embedded), f"of {counts.kept:,}" if counts.kept else ""
        case Phase.RANK:
            return (_number(len(run.ranking.context)), "in the context") if run.ranking else ("", "")
        case _:
            if is_left_out(run.text):
                return "", ""
            length = text_length(run.text)
            return _number(length.count), length.noun


def _number(count: int) -> str:
    return f"{count:,}"


# --- hits -------------------------------------------------------------------------------------------------


class PageOutcome(StrEnum):
    """The outcome of reading a hit."""

    QUEUED = "waiting"
    UNREAD = "not read"
    """The run ended before the page was read."""
    FETCHING = "fetching"
    READ = "read"
    SNIPPET = "snippet only"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class HitProgress:
    """One hit with its outcome so far. `place` counts from 1 in the merged order."""

    place: int
    hit: Hit
    outcome: PageOutcome
    page: Page | None
    skip: Skip | None

    @property
    def site(self) -> str:
        """The site of the hit's address."""
        return site(self.hit.url)

    @property
    def seconds(self) -> float | None:
        """Seconds of fetching and reading, or None."""
        read = self.skip or self.page
        return read.seconds if read else None


def hit_progress(run: Run) -> tuple[HitProgress, ...]:
    """Return the hits in their merged order, each with its outcome so far."""
    return tuple(
        HitProgress(
            place=place,
            hit=hit,
            outcome=_outcome(run, hit),
            page=run.pages.get(hit.key),
            skip=run.skips.get(hit.key),
        )
        for place, hit in enumerate(run.hits, 1)
    )


def _outcome(run: Run, hit: Hit) -> PageOutcome:
    page = run.pages.get(hit.key)
    if page:
        return PageOutcome.SNIPPET if page.snippet_only else PageOutcome.READ
    if hit.key in run.skips:
        return PageOutcome.SKIPPED
    if not run.live:
        return PageOutcome.UNREAD
    return PageOutcome.FETCHING if hit.key in run.fetching else PageOutcome.QUEUED


def retriable(run: Run) -> tuple[str, ...]:
    """Return keys of hits that may succeed again.

    They were skipped because of a timeout or deadline, or not reached before the run ended.
    """
    cut_short = not run.live and run.status is not RunStatus.DONE

    def may_succeed(key: str) -> bool:
        skip = run.skips.get(key)
        return skip.reason in TIME_SKIPS if skip else cut_short and key not in run.pages

    return tuple(hit.key for hit in run.hits if may_succeed(hit.key))


def best_so_far(run: Run) -> tuple[tuple[float, str, str], ...]:
    """Return `(cosine, passage, site)` of the best passages so far, best first."""
    embedded = (
        passage
        for passage in run.passages
        if passage.id in run.live_cosine and passage.place.page in run.pages
    )
    best: dict[str, tuple[float, str, str]] = {}
    for passage in sorted(embedded, key=lambda passage: -_finite(run.live_cosine[passage.id])):
        score = run.live_cosine[passage.id]
        best.setdefault(passage.text, (score, passage.text, site(run.pages[passage.place.page].url)))
        if len(best) == MOST_BEST:
            break
    return tuple(best.values())


def _finite(score: float) -> float:
    return score if math.isfinite(score) else -2.0
