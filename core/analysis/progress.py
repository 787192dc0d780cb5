"""Progress of a run: phases with counts, outcome of each hit, and notices about fallbacks and failures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from core.analysis.run_activity import passage_counts, retry_text
from core.model import Hit, Page, Phase, Skip, SkipReason
from core.model.passage_urls import site
from core.run.state import Run, RunStatus
from core.text.sanitize import pluralize

PHASES = (
    (Phase.PLAN, "Queries"),
    (Phase.SEARCH, "Search"),
    (Phase.READ, "Pages"),
    (Phase.CHUNK, "Passages"),
    (Phase.EMBED, "Embed"),
    (Phase.RANK, "Rank"),
    (Phase.ANSWER, "Answer"),
)
"""The phases with their titles on screen."""

RETRIABLE = frozenset({SkipReason.CUT, SkipReason.DEADLINE, SkipReason.TIMEOUT})
"""Skip reasons about time: another fetch may succeed."""


class RunStage(StrEnum):
    """What a live page has to redraw."""

    QUEUED = "queued"
    GATHER = "gather"
    ANSWER = "answer"
    ENDED = "ended"


def run_stage(run: Run) -> RunStage:
    if not run.live:
        return RunStage.ENDED
    if run.status is RunStatus.QUEUED:
        return RunStage.QUEUED
    answering = run.timeline.phases.get(Phase.ANSWER)
    return RunStage.ANSWER if answering and answering.end is None else RunStage.GATHER


def spoken_state(run: Run) -> str:
    """The state of a run as one sentence, which changes with its stage and not with every event."""
    match run_stage(run):
        case RunStage.QUEUED | RunStage.GATHER:
            return "Searching and reading."
        case RunStage.ANSWER:
            return "Writing the answer."
    if run.error:
        return f"The run failed: {run.error.message}"
    if run.status is not RunStatus.DONE:
        return f"The run was {run.status}."
    return f"The answer is complete, with {pluralize(len(run.sources), 'source')}."


class PhaseState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    CUT = "cut"
    """The run ended while this phase was under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseProgress:
    """One phase in the stepper. `seconds` is None before it begins, and leaves out waits for another attempt."""

    phase: Phase
    title: str
    state: PhaseState
    count: str
    unit: str
    seconds: float | None
    detail: str = ""
    """What the count stands for, where that is not plain."""
    waiting: str = ""
    """Why the phase waits and until when; empty when it does not."""
    wait_seconds: float = 0.0


def phase_progress(run: Run, now: float) -> tuple[PhaseProgress, ...]:
    """The phases at `now` seconds of the run's clock."""
    return tuple(_phase(run, phase, title, now) for phase, title in PHASES)


def _phase(run: Run, phase: Phase, title: str, now: float) -> PhaseProgress:
    span = run.timeline.phases.get(phase)
    count, unit = _count(run, phase)
    if span is None:
        return PhaseProgress(
            phase=phase, title=title, state=PhaseState.WAITING, count="", unit="", seconds=None
        )
    ended_with_run = run.status not in (RunStatus.RUNNING, RunStatus.DONE) and span.end == run.seconds
    state = PhaseState.RUNNING if span.end is None else PhaseState.CUT if ended_with_run else PhaseState.DONE
    wait = run.timeline.waiting(phase, now)
    return PhaseProgress(
        phase=phase,
        title=title,
        state=state,
        count=count,
        unit=unit,
        seconds=max(run.timeline.worked(phase, now), 0.0),
        detail=_detail(run, phase),
        waiting=retry_text(wait, now) if wait else "",
        wait_seconds=wait.ends() - now if wait else 0.0,
    )


def _detail(run: Run, phase: Phase) -> str:
    counts = passage_counts(run)
    if phase is Phase.CHUNK and counts.merged:
        return f"{counts.found:,} passages, of which {counts.merged:,} have the same text as another and are merged"
    return ""


def _count(run: Run, phase: Phase) -> tuple[str, str]:
    match phase:
        case Phase.PLAN:
            return _number(len(run.queries)), ""
        case Phase.SEARCH:
            return _number(len(run.hits)), "hit" if len(run.hits) == 1 else "hits"
        case Phase.READ:
            return _number(len(run.pages)), f"/ {len(run.hits)}"
        case Phase.CHUNK:
            counts = passage_counts(run)
            return _number(counts.kept), f"{counts.merged:,} merged" if counts.merged else ""
        case Phase.EMBED:
            counts = passage_counts(run)
            width = run.index.vectors.shape[1] if run.index and run.index.vectors is not None else 0
            whole = width and counts.embedded == counts.kept
            if whole:
                return _number(counts.embedded), f"× {width}"
            return _number(counts.embedded), f"of {counts.kept:,}" if counts.kept else ""
        case Phase.RANK:
            return _number(len(run.ranking.context)) if run.ranking else "", "in context"
        case _:
            return _number(len(run.text.split())), "words"


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
        return site(self.hit.url)

    @property
    def seconds(self) -> float | None:
        read = self.skip or self.page
        return read.seconds if read else None


def hit_progress(run: Run) -> tuple[HitProgress, ...]:
    """The hits in their merged order, each with its outcome so far."""
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
    """Keys of the hits that were skipped because of a timeout or deadline, or not reached before the run ended."""
    cut_short = not run.live and run.status is not RunStatus.DONE

    def may_succeed(key: str) -> bool:
        skip = run.skips.get(key)
        return skip.reason in RETRIABLE if skip else cut_short and key not in run.pages

    return tuple(hit.key for hit in run.hits if may_succeed(hit.key))


def best_so_far(run: Run, limit: int = 5) -> tuple[tuple[float, str, str], ...]:
    """`(cosine, passage, site)` of the best passages embedded so far, best first."""
    embedded = (one for one in run.passages if one.id in run.live_cosine and one.place.page in run.pages)
    best: dict[str, tuple[float, str, str]] = {}
    for passage in sorted(embedded, key=lambda one: -_finite(run.live_cosine[one.id])):
        score = run.live_cosine[passage.id]
        best.setdefault(passage.text, (score, passage.text, site(run.pages[passage.place.page].url)))
        if len(best) == limit:
            break
    return tuple(best.values())


def _finite(score: float) -> float:
    return score if math.isfinite(score) else -2.0


# --- notices ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    phase: Phase
    message: str
    hint: str = ""


def notices(run: Run) -> tuple[Notice, ...]:
    """Fallbacks and partial failures of the run, in the order of its phases."""
    found = [Notice(phase=note.phase, message=note.message, hint=note.hint) for note in run.notes]
    for query, fault in run.search_faults.items():
        found.append(Notice(phase=Phase.SEARCH, message=f"“{query.text}”: {fault.message}", hint=fault.hint))
    silent = {pair for reply in run.replies.values() for pair in reply.silent}
    if silent:
        named = ", ".join(f"{engine} ({reason})" if reason else engine for engine, reason in sorted(silent))
        found.append(Notice(phase=Phase.SEARCH, message=f"Search engines that did not answer: {named}."))
    for broken in run.embed_faults:
        message = f"{broken.texts} passages are not ranked: {broken.message}"
        found.append(Notice(phase=Phase.EMBED, message=message, hint=broken.hint))
    order = list(Phase)
    unique = dict.fromkeys(found)
    return tuple(sorted(unique, key=lambda notice: order.index(notice.phase)))
