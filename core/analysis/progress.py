"""Progress of a run: phases with counts, outcome of each hit, and notices about fallbacks and failures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from core.model import Hit, Page, Phase, Skip, SkipReason
from core.model.passage_urls import site
from core.run.state import Run, RunStatus

PHASES = (
    (Phase.PLAN, "Queries"),
    (Phase.SEARCH, "Search"),
    (Phase.READ, "Articles"),
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

    GATHER = "gather"
    ANSWER = "answer"
    ENDED = "ended"


def run_stage(run: Run) -> RunStage:
    if not run.live:
        return RunStage.ENDED
    answering = run.timeline.phases.get(Phase.ANSWER)
    return RunStage.ANSWER if answering and answering.end is None else RunStage.GATHER


class PhaseState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    CUT = "cut"
    """The run ended while this phase was under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseProgress:
    """One phase in the stepper. `seconds` is None before it begins."""

    phase: Phase
    title: str
    state: PhaseState
    count: str
    unit: str
    seconds: float | None


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
    return PhaseProgress(
        phase=phase, title=title, state=state, count=count, unit=unit, seconds=max(span.seconds(now), 0.0)
    )


def _count(run: Run, phase: Phase) -> tuple[str, str]:
    match phase:
        case Phase.PLAN:
            return _number(len(run.queries)), ""
        case Phase.SEARCH:
            return _number(len(run.hits)), "hit" if len(run.hits) == 1 else "hits"
        case Phase.READ:
            return _number(len(run.pages)), f"/ {len(run.hits)}"
        case Phase.CHUNK:
            return _number(len(run.passages)), ""
        case Phase.EMBED:
            width = run.index.vectors.shape[1] if run.index and run.index.vectors is not None else 0
            done = run.vectors_computed + run.vectors_reused
            return _number(done), f"× {width}" if width else ""
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
    return PageOutcome.FETCHING if hit.key in run.fetching and run.live else PageOutcome.QUEUED


def retriable(run: Run) -> tuple[str, ...]:
    """Keys of the hits that were skipped because of a timeout or deadline."""
    return tuple(hit.key for hit in run.hits if (skip := run.skips.get(hit.key)) and skip.reason in RETRIABLE)


def best_so_far(run: Run, limit: int = 5) -> tuple[tuple[float, str, str], ...]:
    """`(cosine, passage, site)` of the best passages embedded so far, best first."""
    texts = {passage.id: passage for passage in run.passages if passage.id in run.live_cosine}
    best = sorted(texts.items(), key=lambda item: -_finite(run.live_cosine[item[0]]))[:limit]
    return tuple(
        (run.live_cosine[key], passage.text, site(run.pages[passage.place.page].url))
        for key, passage in best
        if passage.place.page in run.pages
    )


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
