"""The state of a run, folded from its events."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from core.model import Notice, Phase
from core.run import events as e
from core.run.growing import Growing, with_items, without_item
from core.run.notices import notices
from core.run.reports import plan_events as p
from core.run.reports.sections import IN_BRIEF, Section
from core.run.run_values import AnswerVersion, RunStatus, RunValues
from core.run.step_events import ModelDecided, StepEnded, StepStarted, folded_steps
from core.run.transitions import (
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

__all__ = ["AnswerVersion", "Run", "RunStatus"]


_RANKING_PHASES = frozenset({Phase.CHUNK, Phase.EMBED, Phase.RANK})
_RANKING_FIELDS = (
    *("knobs", "passages", "live_cosine", "vectors_reused", "vectors_computed"),
    *("embed_faults", "index", "ranking"),
)
_ANSWER_FIELDS = ("sources", "embedded_for_answer", "prompt", "text", "answer", "check", "earlier_answers")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run(RunValues):
    """The immutable state of a run after some of its events. `apply` returns the next state."""

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Return the notices of the run in phase order."""
        return notices(self)

    def kept_texts(self, key: str) -> tuple[str, ...]:
        """Return the texts that a person has kept in the article of a page. An unread page has none."""
        return self.pages[key].article.kept_texts if key in self.pages else ()

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
