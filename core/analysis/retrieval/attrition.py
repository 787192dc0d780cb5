"""Attrition from search results to citations: losses of each step, with reasons.

Addresses are counted up to the articles, then passages. Within a unit the counts are conserved: an item that enters a
step goes to the next step or is lost.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.analysis.rankings.context_membership import answer_matches_context, cited_rows, exclusion_reasons
from core.model import Place, Query, Result, SkipReason
from core.run.state import Run
from core.text.urls import canonical_url

AFTER_FETCHING = frozenset(
    {
        SkipReason.BROKEN,
        SkipReason.CRASHED,
        SkipReason.NEEDS_JAVASCRIPT,
        SkipReason.CONSENT_WALL,
        SkipReason.LOGIN_WALL,
        SkipReason.NOT_FOUND,
        SkipReason.EMPTY,
    }
)
"""Skip reasons of fetched pages."""


class AttritionStep(StrEnum):
    """The steps, in order. The first four count addresses, the others passages."""

    HITS = "search results"
    UNIQUE = "unique pages"
    FETCHED = "fetched"
    EXTRACTED = "extracted"
    PASSAGES = "passages"
    RANKED = "ranked"
    CONTEXT = "in the context"
    CITED = "cited"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Items that pass to the next step (`reason` is "") or are lost (`to` is None).

    A band of a flow diagram. `items` are names: "query\nrank" for search results, keys of hits, ids of passages.
    `width` is the flow's share of all results, from 0 to 1. Widths are conserved at every step, also at the change from
    addresses to passages.
    """

    start: AttritionStep
    to: AttritionStep | None
    reason: str
    items: tuple[str, ...]
    width: float

    @property
    def count(self) -> int:
        """The number of items."""
        return len(self.items)

    @property
    def key(self) -> str:
        """A unique name for links and widgets."""
        return f"{self.start.name.lower()}:{self.reason or 'next'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attrition:
    """All flows in the order of the steps, the largest losses of a step first.

    `counts` has the number of items at each step. `answered` is False if no answer was written from the current
    context. Then the step "cited" is missing.
    """

    counts: dict[AttritionStep, int]
    flows: tuple[Flow, ...]
    answered: bool

    def losses(self, step: AttritionStep) -> tuple[Flow, ...]:
        """Return the losses at a step."""
        return tuple(flow for flow in self.flows if flow.start is step and flow.to is None)


Lost = Sequence[tuple[str, str]]
"""Pairs of a reason and an item."""


def attrition(run: Run) -> Attrition:
    """Count the items at every step of the run, and the losses by reason."""
    rows, unique, repeated = _results(run)
    unfetched, unread, articles = _pages(run)
    unfetched_keys = {key for _, key in unfetched}
    fetched = [hit.key for hit in run.hits if hit.key not in unfetched_keys]
    unranked, ranked = _passages(run)
    left_out, context = _ranked(run)
    steps: list[tuple[AttritionStep, Lost, Sequence[str]]] = [
        (AttritionStep.UNIQUE, repeated, unique),
        (AttritionStep.FETCHED, unfetched, fetched),
        (AttritionStep.EXTRACTED, unread, articles),
        (AttritionStep.PASSAGES, (), [*ranked, *(item for _, item in unranked)]),
        (AttritionStep.RANKED, unranked, ranked),
        (AttritionStep.CONTEXT, left_out, context),
    ]
    answered = run.answer is not None and answer_matches_context(run)
    if answered and run.index is not None:
        cited = {run.index.passages[row].id for row in cited_rows(run)}
        uncited = [("never cited", item) for item in context if item not in cited]
        steps.append((AttritionStep.CITED, uncited, [item for item in context if item in cited]))
    counts, flows = {AttritionStep.HITS: len(rows)}, list[Flow]()
    start, width = AttritionStep.HITS, 1.0
    for to, lost, remaining in steps:
        scale = width / max(len(lost) + len(remaining), 1)
        for reason, items in _by_reason(lost):
            flows.append(Flow(start=start, to=None, reason=reason, items=items, width=scale * len(items)))
        counts[to], width = len(remaining), scale * len(remaining)
        flows.append(Flow(start=start, to=to, reason="", items=tuple(remaining), width=width))
        start = to
    return Attrition(counts=counts, flows=tuple(flows), answered=answered)


def _by_reason(lost: Lost) -> list[tuple[str, tuple[str, ...]]]:
    """Group the lost items by reason, the commonest first."""
    by_reason: defaultdict[str, list[str]] = defaultdict(list)
    for reason, item in lost:
        by_reason[reason].append(item)
    ordered = sorted(by_reason.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    return [(reason, tuple(items)) for reason, items in ordered]


def _results(run: Run) -> tuple[list[str], list[str], Lost]:
    """Return the names of all results, of each page's first result, and of the others with reasons."""
    # A rank alone does not identify a result: the web and each collection count from 1.
    read = {(origin.query, origin.rank, hit.key) for hit in run.hits for origin in hit.found}
    keys = {hit.key for hit in run.hits}
    seen_keys: set[str] = set()
    rows, unique, lost = [], [], []
    for name, query, result in result_rows(run):
        key = canonical_url(result.url)
        rows.append(name)
        if (query.text, result.rank, key) in read and key not in seen_keys:
            seen_keys.add(key)
            unique.append(name)
        elif key in keys:
            lost.append(("duplicate URL", name))
        else:
            lost.append(("beyond the results per query", name))
    return rows, unique, lost


def result_rows(run: Run) -> Iterator[tuple[str, Query, Result]]:
    """Yield all results of all search replies, each with its name in a flow."""
    for query in run.queries:
        for place, result in enumerate(run.replies[query].results if query in run.replies else ()):
            yield f"{query.text}\n{place}", query, result


def _pages(run: Run) -> tuple[Lost, Lost, list[str]]:
    """Return keys of unfetched and of unextracted hits with reasons, and of articles.

    Snippets that replace unread pages count as articles.
    """
    unfetched, unread, articles = [], [], []
    for hit in run.hits:
        skip = run.skips.get(hit.key)
        if hit.key in run.pages:
            articles.append(hit.key)
        elif skip is None:
            unfetched.append(("not fetched", hit.key))
        elif skip.reason in AFTER_FETCHING:
            unread.append((str(skip.reason), hit.key))
        else:
            unfetched.append((str(skip.reason), hit.key))
    return unfetched, unread, articles


def _passages(run: Run) -> tuple[Lost, list[str]]:
    """Return ids of unranked and of ranked passages."""
    if run.index is None:
        return [("not embedded yet", passage.id) for passage in run.passages], []
    index = run.index
    duplicate = [
        ("duplicate text", place_id(place))
        for passage in (*index.passages, *index.not_embedded)
        for place in passage.also
    ]
    losses = [("could not be embedded", passage.id) for passage in index.not_embedded]
    if run.ranking is None:
        waiting = [("not ranked yet", passage.id) for passage in index.passages]
        return [*duplicate, *losses, *waiting], []
    return [*duplicate, *losses], [passage.id for passage in index.passages]


def _ranked(run: Run) -> tuple[Lost, list[str]]:
    """Return ids of passages outside the context with reasons, and inside it."""
    if run.index is None:
        return [], []
    ids = [passage.id for passage in run.index.passages]
    reasons = exclusion_reasons(run)
    left_out = [(str(reason), ids[row]) for row, reason in reasons.items() if reason is not None]
    return left_out, [ids[row] for row, reason in reasons.items() if reason is None]


def place_id(place: Place) -> str:
    """Return the id of a passage with this range."""
    return f"{place.page}#{place.start}-{place.end}"
