"""Tools that explain a run: why_not, attrition, tune, compare, leave_out."""

import asyncio
from dataclasses import replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from core import followups
from core.analysis.rankings.ablation import without_pages, without_query
from core.analysis.rankings.context_membership import context_sources, context_tokens, ranked_at_hand
from core.analysis.rankings.ranked_passages import RankedPassage, ranked_passages
from core.analysis.rankings.ranking_comparison import RankingDiff, compare_rankings
from core.analysis.retrieval.attrition import attrition
from core.analysis.retrieval.flow_diagram import flow_items
from core.analysis.retrieval.trace import Trace, absence_from_answer
from core.analysis.run_changes import ChangeKind, run_changes
from core.config.knob_changes import changes, with_values
from core.config.knobs import Knobs
from core.errors import BadInput
from core.features.api.strict_json import Strict
from core.features.mcp.asking_tools import Settings
from core.features.mcp.calls import Call, Result, tool
from core.features.mcp.documents import Passage, RunId, document_id, passage, shown
from core.run.state import Run
from core.stages.rank import require_texts

TUNED = ("chunk", "rank")
"""The groups of settings that apply to the pages of an ended run."""
EXAMPLES = 3
"""The most examples of a loss."""
MOST_PASSAGES = 50
"""The most passages and changes in a result."""


class RunArguments(Strict):
    """The argument of tools about one run."""

    run: RunId


Text = Annotated[str, Field(min_length=1, max_length=2_000)]


class WhyNotArguments(RunArguments):
    """The arguments of why_not."""

    text: Text
    """A sentence or passage that the answer should have used, or the address of a page."""


class Step(BaseModel):
    """A step from search result to citation: passed, ended, not reached or unknown."""

    step: str
    state: str


class WhyNotResult(Result):
    """How far a text or an address came towards the answer, and why no farther."""

    run: str
    outcome: str
    """The last step that was reached, such as left_out or cited."""
    message: str
    steps: list[Step]
    document: str
    """The id of the page with the text, for the tool fetch, or ""."""
    similarity: float
    """1 if the page has exactly this text."""
    passages: list[Passage]
    """The passages with the text or a part of it, best first."""
    reasons: list[str]
    """The reason why each of `passages` is not in the context, or ""."""
    score_name: str
    """The score that decided the order."""
    cutoff: float | None
    """The score of the last passage in the context."""
    link: str


@tool("Why not in the answer")
async def why_not(call: Call, arguments: WhyNotArguments) -> WhyNotResult:
    """Tell at which step a sentence, a passage or an address was lost on its way into the answer of a run: not found,
    not read, not extracted, split, ranked too low (with rank, score, cut-off and reason) or not cited.
    """
    run = await call.run(arguments.run)
    return await asyncio.to_thread(_traced, call, run, arguments.text)


def _traced(call: Call, run: Run, text: str) -> WhyNotResult:
    trace = absence_from_answer(run, text)
    rows = {row.row: row for row in ranked_passages(run)}
    shown_passages = trace.passages[:MOST_PASSAGES]
    return WhyNotResult(
        run=run.id,
        outcome=trace.outcome.name.lower(),
        message=trace.message,
        steps=_steps(trace),
        document=document_id(run.id, trace.page) if trace.page and trace.page in run.pages else "",
        similarity=trace.similarity,
        passages=[passage(run.id, rows[traced.row]) for traced in shown_passages],
        reasons=[str(traced.reason or "") for traced in shown_passages],
        score_name=trace.score_name,
        cutoff=trace.cutoff,
        link=call.link("explain", run=run.id, view="lost"),
    )


def _steps(trace: Trace) -> list[Step]:
    return [Step(step=name, state=state) for name, state in trace.steps]


class Loss(BaseModel):
    """Items that a step lost for one reason."""

    reason: str
    count: int
    examples: list[str]
    """Titles or texts of the first of them, each with its address."""


class StepCount(BaseModel):
    """A step with the number of its items, and the losses on the way to the next step."""

    step: str
    count: int
    lost: list[Loss]


class AttritionResult(Result):
    """The counts of a run from search results to citations, and what each step lost."""

    run: str
    question: str
    steps: list[StepCount]
    answered: bool
    """Whether the answer was written from the current context. Otherwise the step "cited" is missing."""
    link: str


@tool("Losses at each step", name="attrition")
async def count_losses(call: Call, arguments: RunArguments) -> AttritionResult:
    """Count what each step of a run kept and lost, from search results to citations, by reason."""
    run = await call.run(arguments.run)
    return await asyncio.to_thread(_losses, call, run)


def _losses(call: Call, run: Run) -> AttritionResult:
    counted = attrition(run)
    return AttritionResult(
        run=run.id,
        question=run.question,
        steps=[
            StepCount(
                step=str(step),
                count=count,
                lost=[
                    Loss(
                        reason=flow.reason,
                        count=flow.count,
                        examples=[
                            f"{shown(item.label, 160)} ({item.url})"
                            for item in flow_items(run, replace(flow, items=flow.items[:EXAMPLES]))
                        ],
                    )
                    for flow in counted.losses(step)
                    if flow.count
                ],
            )
            for step, count in counted.counts.items()
        ],
        answered=counted.answered,
        link=call.link("explain", run=run.id, view="lost"),
    )


class Moved(BaseModel):
    """A passage that entered or left the context, with its ranks before and after."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    change: str
    """entered or left."""
    before: int | None
    after: int | None
    text: str
    url: str


class RankingFigures(Result):
    """Two rankings compared."""

    overlap: float
    """Rank-biased overlap of the two orders, from 0 (disjoint) to 1 (equal)."""
    contexts: float
    """The share of common passages in the two contexts, from 0 to 1."""
    moved: list[Moved]
    """The passages that entered or left the context."""
    tokens_before: int
    tokens_after: int
    """Estimated tokens of the two contexts."""


def _figures(difference: RankingDiff) -> RankingFigures:
    return RankingFigures(
        overlap=difference.overlap,
        contexts=difference.contexts,
        moved=[
            Moved(
                change="entered" if change.entered else "left",
                before=change.before,
                after=change.after,
                text=shown(change.text, 300),
                url=change.url,
            )
            for change in difference.context_only.changes[:MOST_PASSAGES]
        ],
        tokens_before=difference.before.context_tokens,
        tokens_after=difference.after.context_tokens,
    )


class TuneArguments(RunArguments):
    """The arguments of tune."""

    settings: Settings
    """Settings of passages and ranking by path, such as rank.top_k, rank.strategy or chunk.size."""
    text: Annotated[str, Field(max_length=2_000)] = ""
    """A text or address to trace under the new ranking, as why_not does."""


class TuneResult(Result):
    """A run under other settings. The stored run is as it was."""

    run: str
    settings: list[str]
    """What differs from the settings of the run."""
    context: list[Passage]
    """The passages from which an answer would be written now."""
    difference: RankingFigures
    trace: WhyNotResult | None
    """How far `text` comes under these settings."""
    link: str
    """The page that compares both rankings."""


@tool("Try other settings")
async def tune(call: Call, arguments: TuneArguments) -> TuneResult:
    """Rank the pages of a run under other settings of passages and ranking, in milliseconds: which passages would
    enter or leave the context. With a text, whether it would then be used. Nothing is stored.
    """
    run = await call.ranked_run(arguments.run)
    knobs = with_values(run.knobs, arguments.settings, TUNED)
    tuned = await _retuned(call, run, knobs)
    if tuned.error:
        raise BadInput(tuned.error.message, hint=tuned.error.hint)
    return await asyncio.to_thread(_tuned, call, run, tuned, arguments.text)


async def _retuned(call: Call, run: Run, knobs: Knobs) -> Run:
    require_texts(run.passages, run.pages)
    if at_hand := await asyncio.to_thread(ranked_at_hand, run, knobs):
        return at_hand
    runs, access = call.service.runs, call.follower.access

    async def work() -> Run:
        with runs.quotas.work(access.quota_subject) as spending:
            ports = await runs.engine.ports(knobs, access, run, writes=False)
            return await followups.retune(run, knobs, ports, spending.listen)

    return await asyncio.wrap_future(runs.loop.submit(work()))


def _tuned(call: Call, run: Run, tuned: Run, text: str) -> TuneResult:
    difference = compare_rankings(run, tuned)
    if difference is None:
        raise BadInput("There is no ranking under these settings.", hint="Choose other settings.")
    written = changes(run.knobs, tuned.knobs)
    return TuneResult(
        run=run.id,
        settings=list(written),
        context=_context(tuned),
        difference=_figures(difference),
        trace=_traced(call, tuned, text) if text.strip() else None,
        link=call.link("explain", run=run.id, view="what-if", a="own", b=list(written) or ["own"]),
    )


def _context(run: Run) -> list[Passage]:
    in_context: list[RankedPassage] = [row for row in ranked_passages(run) if row.number is not None]
    return [passage(run.id, row) for row in sorted(in_context, key=lambda row: row.number or 0)]


class CompareArguments(RunArguments):
    """The arguments of compare."""

    other: RunId
    """The id of the later run."""


class PageDifference(BaseModel):
    """A page that differs between two runs: new, gone or changed."""

    change: str
    title: str
    url: str
    reason: str


class CompareResult(Result):
    """The second run against the first."""

    runs: list[str]
    settings: list[str]
    """Settings of the second run that differ."""
    ranking: RankingFigures | None
    pages: list[PageDifference]
    sources_new: int
    sources_gone: int
    sources_changed: int
    answers_similar: float | None
    """The similarity of the two answers' sentences, from 0 to 1; null if either run has none."""
    link: str


@tool("Compare two runs")
async def compare(call: Call, arguments: CompareArguments) -> CompareResult:
    """Compare two runs: settings, pages, ranking, sources and answers of the second against the first."""
    runs = [await call.ranked_run(run_id) for run_id in (arguments.run, arguments.other)]
    return await asyncio.to_thread(_compared, call, *runs)


def _compared(call: Call, before: Run, after: Run) -> CompareResult:
    differ = run_changes(before, after)
    kinds = [change.kind for change in differ.sources]
    return CompareResult(
        runs=[before.id, after.id],
        settings=list(changes(before.knobs, after.knobs)),
        ranking=_figures(differ.ranking) if differ.ranking else None,
        pages=[
            PageDifference(
                change=str(change.kind),
                title=shown(change.page.title, 160),
                url=change.page.url,
                reason=change.reason,
            )
            for change in differ.pages[:MOST_PASSAGES]
        ],
        sources_new=kinds.count(ChangeKind.NEW),
        sources_gone=kinds.count(ChangeKind.GONE),
        sources_changed=kinds.count(ChangeKind.CHANGED),
        answers_similar=differ.answer.similarity if differ.answer else None,
        link=call.link("explain", run=before.id, view="what-if", a="own", b=[f"run:{after.id}"]),
    )


Names = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=2_000)], ...],
    Field(max_length=50, strict=False),  # JSON has no tuples
]


class LeaveOutArguments(RunArguments):
    """The arguments of leave_out."""

    documents: Names = ()
    """Pages to leave out, by id or address."""
    queries: Names = ()
    """Search queries to leave out, with the pages that only they found."""


class LeaveOutResult(Result):
    """A run without some of its pages or queries. The stored run is as it was."""

    run: str
    pages_before: int
    pages_after: int
    context: list[Passage]
    """The passages from which an answer would be written without them."""
    difference: RankingFigures
    tokens: int
    """Estimated tokens of that context."""
    link: str


@tool("Leave sources out")
async def leave_out(call: Call, arguments: LeaveOutArguments) -> LeaveOutResult:
    """Rank a run again without some of its pages or queries: which passages would take their place."""
    run = await call.ranked_run(arguments.run)
    return await asyncio.to_thread(_without, call, run, arguments)


def _without(call: Call, run: Run, arguments: LeaveOutArguments) -> LeaveOutResult:
    require_texts(run.passages, run.pages)
    keys = frozenset(_key(run, name) for name in arguments.documents)
    if not keys and not arguments.queries:
        raise BadInput("Nothing is left out.", hint="Name documents or queries of the run.")
    rest = run
    for text in arguments.queries:
        if all(query.text != text for query in run.queries):
            known = ", ".join(query.text for query in run.queries)
            raise BadInput("The run has no such query.", hint=f"Its queries are: {known}.")
        rest = without_query(rest, text)
    rest = without_pages(rest, keys) if keys else rest
    difference = compare_rankings(run, rest)
    if difference is None:
        raise BadInput("No passage is left.", hint="Leave out less.")
    return LeaveOutResult(
        run=run.id,
        pages_before=len(run.pages),
        pages_after=len(rest.pages),
        context=_context(rest),
        difference=_figures(difference),
        tokens=context_tokens(context_sources(rest)),
        link=call.link("explain", run=run.id, view="evidence", part="sources"),
    )


def _key(run: Run, name: str) -> str:
    for key, page in run.pages.items():
        if name in (key, page.url, document_id(run.id, key)):
            return key
    raise BadInput("The run has read no such document.", hint="Take an id or address from its sources.")


TOOLS = (
    why_not,
    count_losses,
    tune,
    compare,
    leave_out,
)
