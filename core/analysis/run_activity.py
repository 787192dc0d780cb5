"""The present activity of a run: a line for the page, counts, the offer to answer."""

from dataclasses import dataclass
from math import ceil

from core.config.run_knobs import Method
from core.model import QUOTED, Phase
from core.run.state import Run, RunStatus
from core.run.timeline import Wait
from core.text.display import embedder_name
from core.text.sanitize import pluralize

_WORK = {
    Phase.PLAN: "Writing search queries",
    Phase.EMBED: "Embedding passages",
    Phase.RANK: "Ranking passages",
    Phase.ANSWER: "Writing the answer",
}
SILENT_SECONDS = 10.0
"""Seconds without data after which a chat model is reported as silent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageCounts:
    """Passages of a run. `found` counts all, before passages with the same text are merged."""

    found: int
    merged: int
    """Passages left out because another has the same text."""
    embedded: int
    """Passages with a vector. During embedding, merged passages count too."""

    @property
    def kept(self) -> int:
        """Passages that are not merged into another."""
        return self.found - self.merged


def passage_counts(run: Run) -> PassageCounts:
    """Return the counts of the index, or of the work so far."""
    if run.index is None or run.last_complete is not run:
        return PassageCounts(found=len(run.passages), merged=0, embedded=len(run.live_cosine))
    in_index = len(run.index.passages) + len(run.index.not_embedded)
    total = max(len(run.passages), in_index)
    if run.index.vectors is not None:
        embedded = len(run.index.passages) - len(run.index.waiting)
        return PassageCounts(found=total, merged=total - in_index, embedded=embedded)
    embedded = len(run.live_cosine) if run.live else 0
    return PassageCounts(found=total, merged=total - in_index, embedded=min(embedded, in_index))


def embedded_so_far(run: Run) -> str:
    """Return the number of embedded passages while some have no vector, or ""."""
    if run.index is None or not len(run.index.waiting):
        return ""
    total = len(run.index.passages)
    return f"{total - len(run.index.waiting):,} of {total:,} embedded"


def current_activity(run: Run, now: float) -> str:
    """Return the activity of a live run at `now` seconds of its clock, without an end mark."""
    if run.status is RunStatus.QUEUED:
        return "Waiting for a free slot"
    if waiting := waiting_for(run, now):
        return waiting
    running = {phase for phase, span in run.timeline.phases.items() if span.end is None}
    counts = passage_counts(run)
    embedded = f"{counts.embedded:,} of {pluralize(counts.found, 'passage')}"
    if Phase.ANSWER in running or Phase.RANK in running:
        rest = f", {count}, the rest when needed" if (count := embedded_so_far(run)) else ""
        return _WORK[Phase.ANSWER if Phase.ANSWER in running else Phase.RANK] + rest
    if Phase.READ in running:
        finished_pages = len(run.pages) + len(run.skips.keys() - run.pages.keys())
        return f"Reading pages: {finished_pages:,} of {len(run.hits):,} done, {embedded} embedded"
    if Phase.CHUNK in running or (Phase.EMBED in running and counts.found):
        return f"Embedding {embedded}"
    if run.knobs.run.method is Method.AGENT and Phase.PLAN in running:
        return f"Deciding on step {len(run.steps) + 1}"
    if embedded_so_far(run):
        return f"Embedding {embedded}, first those that can enter the context"
    return "Searching" if run.queries else _WORK[Phase.PLAN]


def waiting_for(run: Run, now: float) -> str:
    """The model server that a live run waits for at `now` seconds, without an end mark, or ""."""
    if waits := [(phase, wait) for phase in Phase if (wait := run.timeline.waiting(phase, now))]:
        phase, wait = waits[-1]
        return f"{_WORK.get(phase, str(phase).capitalize())}: {retry_text(wait, now)}"
    return silent.text if (silent := silent_model(run, now)) else ""


def retry_text(wait: Wait, now: float) -> str:
    """Return the reason of a wait, with the seconds until the next attempt."""
    return f"{wait.reason} of {wait.server}, retrying in {ceil(wait.ends() - now)} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class SilentModel:
    """A chat model without recent output."""

    model: str
    seconds: float
    """Seconds since its request or latest output."""
    gives_up: float | None
    """Seconds of silence before the request is given up, or None."""
    can_quote: bool
    """Whether the model writes the answer, so that quoting the sources can replace it."""

    @property
    def text(self) -> str:
        """The name and time of the wait.

        A server that keeps its connection open may outlast the limit.
        """
        name = embedder_name(self.model)
        limited = self.gives_up is not None and self.seconds <= self.gives_up
        until = f", gives up at {ceil(self.gives_up or 0)} s" if limited else ""
        return f"Waiting for {name}: nothing for {int(self.seconds)} s{until}"


def silent_model(run: Run, now: float) -> SilentModel | None:
    """Return the chat model of a live run that is silent for `SILENT_SECONDS`, or None."""
    timeline = run.timeline
    for phase, reply in timeline.awaited.items() if run.live else ():
        seconds = timeline.silent(phase, now)
        if seconds >= SILENT_SECONDS and timeline.waiting(phase, now) is None:
            can_quote = phase is Phase.ANSWER
            return SilentModel(
                model=reply.model, seconds=seconds, gives_up=reply.gives_up, can_quote=can_quote
            )
    return None


def writes_answer(run: Run) -> bool:
    """Return whether a chat model is writing the answer, which quoting the sources can end."""
    return run.live and Phase.ANSWER in run.timeline.awaited


def can_quote(run: Run) -> bool:
    """Return whether quotes can replace an answer that the model writes or failed to write."""
    return writes_answer(run) or ((offer := answer_offer(run)) is not None and offer.model_failed)


def quoted_instead(run: Run) -> bool:
    """Return whether sources are quoted despite a chat model. A note has the reason."""
    return any(note.phase is Phase.ANSWER and QUOTED in note.message.lower() for note in run.notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOffer:
    """The basis for answering a run that ended without a complete answer."""

    pages: int
    """The number of pages with a ranked passage, or of all pages without a ranking."""
    hits: int
    ranked: int
    """The number of ranked passages, or 0 without a ranking."""
    strategy: str
    """The name of the ranking, or ""."""
    passages: int
    model_failed: bool
    """Whether the chat model made the run fail, so the sources can be quoted without it."""


def answer_offer(run: Run) -> AnswerOffer | None:
    """Return the basis for answering an unfinished run, or None.

    Live runs, complete answers and runs without pages give None.
    """
    finished = run.status is RunStatus.DONE or (run.answer is not None and run.answer.complete)
    if run.live or finished or not run.pages:
        return None
    counts = passage_counts(run)
    model_failed = run.error is not None and run.error.part == "answer" and not run.sections
    if run.index is None or run.ranking is None:
        return AnswerOffer(
            pages=len(run.pages),
            hits=len(run.hits),
            ranked=0,
            strategy="",
            passages=counts.kept,
            model_failed=model_failed,
        )
    pages = {place.page for passage in run.index.passages for place in (passage.place, *passage.also)}
    return AnswerOffer(
        pages=len(pages),
        hits=len(run.hits),
        ranked=len(run.ranking.order),
        strategy=run.ranking.strategy,
        passages=counts.kept,
        model_failed=model_failed,
    )
