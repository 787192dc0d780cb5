"""How far a run is: its phases, the pages on their way, and what a person should know."""

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
"""The phases with the names that people read."""

RETRIABLE = frozenset({SkipReason.CUT, SkipReason.DEADLINE, SkipReason.TIMEOUT})
"""Reasons that are about time: the page may well be readable."""


class Stage(StrEnum):
    """What can change on screen."""

    GATHER = "gather"
    ANSWER = "answer"
    ENDED = "ended"


def stage(run: Run) -> Stage:
    if not run.live:
        return Stage.ENDED
    answering = run.timeline.phases.get(Phase.ANSWER)
    return Stage.ANSWER if answering and answering.end is None else Stage.GATHER


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


def steps(run: Run, now: float) -> tuple[PhaseProgress, ...]:
    """The phases at `now` seconds of the run's clock."""
    return tuple(_step(run, phase, title, now) for phase, title in PHASES)


def _step(run: Run, phase: Phase, title: str, now: float) -> PhaseProgress:
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


# --- pages on their way -----------------------------------------------------------------------------------


class PageOutcome(StrEnum):
    """What became of a hit."""

    QUEUED = "waiting"
    FETCHING = "fetching"
    READ = "read"
    SNIPPET = "snippet only"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One hit with what became of it. `place` counts from 1 in the merged order."""

    place: int
    hit: Hit
    fate: PageOutcome
    page: Page | None
    skip: Skip | None

    @property
    def site(self) -> str:
        return site(self.hit.url)

    @property
    def seconds(self) -> float | None:
        part = self.skip or self.page
        return part.seconds if part else None


def lines(run: Run) -> tuple[Line, ...]:
    """The hits in their merged order, each with what became of it so far."""
    return tuple(
        Line(
            place=place,
            hit=hit,
            fate=_fate(run, hit),
            page=run.pages.get(hit.key),
            skip=run.skips.get(hit.key),
        )
        for place, hit in enumerate(run.hits, 1)
    )


def _fate(run: Run, hit: Hit) -> PageOutcome:
    page = run.pages.get(hit.key)
    if page:
        return PageOutcome.SNIPPET if page.snippet_only else PageOutcome.READ
    if hit.key in run.skips:
        return PageOutcome.SKIPPED
    return PageOutcome.FETCHING if hit.key in run.fetching and run.live else PageOutcome.QUEUED


def retriable(run: Run) -> tuple[str, ...]:
    """Keys of the hits that were left out for want of time."""
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


# --- what a person should know ----------------------------------------------------------------------------


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
        found.append(Notice(phase=Phase.SEARCH, message=f"Engines that did not answer: {named}."))
    for broken in run.embed_faults:
        message = f"{broken.texts} passages take no part in the ranking: {broken.message}"
        found.append(Notice(phase=Phase.EMBED, message=message, hint=broken.hint))
    order = list(Phase)
    unique = dict.fromkeys(found)
    return tuple(sorted(unique, key=lambda notice: order.index(notice.phase)))
