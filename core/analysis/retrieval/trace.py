"""Trace of a pasted sentence or address: its last step towards the answer."""

import math
import re
import unicodedata
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum

from core.analysis.rankings.context_membership import cited_rows, exclusion_reasons, overlaps
from core.analysis.rankings.ranked_passages import ranks_by_row, score_at
from core.model import Floats, Hit, Place
from core.model.passage_urls import site
from core.run.state import Run
from core.stages.ranking.context_selection import ExclusionReason
from core.text.display import decimal
from core.text.sanitize import ordinal, plural, pluralize
from core.text.tokenization import UNSPACED
from core.text.urls import canonical_url

MINIMUM_SIMILARITY = 0.6
"""The least weighted share of the query's words in an approximate match. Rare words weigh more."""

LONGEST_QUERY = 2000
"""The most characters of the pasted text to search for."""

# Words; in scripts without spaces between them, single characters.
_WORD = re.compile(f"[{UNSPACED}]|[^\\W_{UNSPACED}]+")
STEPS = ("found by a query", "page read", "in the article", "in one passage", "in the context", "cited")
"""The steps from search result to citation."""
_COMPARED_MATCHES = 20
"""The most matches of one text to trace."""
_ADDRESS = re.compile(r"(?i)(?:https?://\S+|(?:[\w-]+\.)+[a-z]{2,}(?:[/:?#]\S*)?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A match at `texts[key][start:end]`. `similarity` is 1 for an exact match, in any letter case and spacing."""

    key: str
    start: int
    end: int
    similarity: float


def matches(query: str, texts: Mapping[str, str]) -> tuple[Match, ...]:
    """Return the first exact match in each text, or else the best approximate match.

    Similarity is the greatest share of the query's words inside a window of the same length. Each word is weighted by
    log(1 + all words / its count). The time is linear in the length of the texts.
    """
    query_words = [word for word, _, _ in _words(query[:LONGEST_QUERY])]
    if not query_words:
        return ()
    read = {key: _words(text) for key, text in texts.items()}
    needle = f" {' '.join(query_words)} "
    exact = tuple(
        match for key, words in read.items() if (match := _exact(key, words, needle, len(query_words)))
    )
    if exact or len(query_words) < 3:
        return exact
    counts = Counter(word for words in read.values() for word, _, _ in words)
    total = counts.total()
    weights = {word: math.log1p(total / max(counts[word], 1)) for word in query_words}
    approximate = [
        match for key, words in read.items() if (match := _approximate(key, words, query_words, weights))
    ]
    best = max(approximate, key=lambda match: match.similarity, default=None)
    return (best,) if best and best.similarity >= MINIMUM_SIMILARITY else ()


Words = Sequence[tuple[str, int, int]]


def _words(text: str) -> Words:
    return [(_folded(word.group()), word.start(), word.end()) for word in _WORD.finditer(text)]


def _folded(word: str) -> str:
    return word.lower() if word.isascii() else unicodedata.normalize("NFKC", word).casefold()


def _exact(key: str, words: Words, needle: str, count: int) -> Match | None:
    line = f" {' '.join(word for word, _, _ in words)} "
    start = line.find(needle)
    if start < 0:
        return None
    starts, reached = [], 0
    for word, _, _ in words:
        starts.append(reached)
        reached += len(word) + 1
    first = bisect_right(starts, start) - 1
    return Match(key=key, start=words[first][1], end=words[first + count - 1][2], similarity=1.0)


def _approximate(
    key: str, words: Words, query_words: Sequence[str], weights: Mapping[str, float]
) -> Match | None:
    """Find the window with the most query weight. The window has the query's length."""
    missing = Counter(query_words)
    whole = sum(weights[word] for word in query_words)
    window: deque[int] = deque()
    weight_found = best = 0.0
    span = (0, 0)
    for end, (word, _, _) in enumerate(words):
        if word in missing:
            window.append(end)
            weight_found += weights[word] if missing[word] > 0 else 0.0
            missing[word] -= 1
        if window and window[0] <= end - len(query_words):
            dropped = words[window.popleft()][0]
            missing[dropped] += 1
            weight_found -= weights[dropped] if missing[dropped] > 0 else 0.0
        if weight_found > best + 1e-9:
            best, span = weight_found, (window[0], end)
    if not best:
        return None
    return Match(key=key, start=words[span[0]][1], end=words[span[1]][2], similarity=best / whole)


class TraceOutcome(IntEnum):
    """The last reached step, from none to the answer."""

    EMPTY_QUERY = 0
    NEVER_A_HIT = 1
    BEYOND_THE_LIMIT = 2
    NOT_READ_YET = 3
    SKIPPED = 4
    NOT_IN_ANY_PAGE = 5
    NOT_EXTRACTED = 6
    NOT_RANKED = 7
    SPLIT = 8
    LEFT_OUT = 9
    NOT_CITED = 10
    CITED = 11


class StepState(StrEnum):
    """The state of a trace at one step."""

    PASSED = "passed"
    ENDED = "ended"
    NOT_REACHED = "not reached"
    UNKNOWN = "unknown"
    """Unknown, because no page that was read contains the text."""


_ENDED_AT = {
    TraceOutcome.NEVER_A_HIT: 0,
    TraceOutcome.BEYOND_THE_LIMIT: 0,
    TraceOutcome.NOT_READ_YET: 1,
    TraceOutcome.SKIPPED: 1,
    TraceOutcome.NOT_IN_ANY_PAGE: 2,
    TraceOutcome.NOT_EXTRACTED: 2,
    TraceOutcome.NOT_RANKED: 3,
    TraceOutcome.SPLIT: 3,
    TraceOutcome.LEFT_OUT: 4,
    TraceOutcome.NOT_CITED: 5,
    TraceOutcome.CITED: len(STEPS),
}
"""The index of the failed step in `STEPS`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedPassage:
    """A ranked passage with all or part of the text. `number` is its number in the context, if any."""

    row: int
    rank: int
    score: float | None
    number: int | None
    reason: ExclusionReason | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The last reached step, with a sentence in `message`.

    `place` is the range of a pasted text in its page, with `similarity` 1 for an exact match. `passages` are the
    overlapping passages, best first. `score_name` names their scores, and `cutoff` is the score of the last passage in
    the context.
    """

    outcome: TraceOutcome
    message: str
    page: str | None = None
    place: Place | None = None
    similarity: float = 1.0
    passages: tuple[TracedPassage, ...] = ()
    score_name: str = ""
    cutoff: float | None = None

    @property
    def steps(self) -> tuple[tuple[str, StepState], ...]:
        """`STEPS` with the state of each, or empty for an empty query."""
        if self.outcome is TraceOutcome.EMPTY_QUERY:
            return ()
        end, left = _ENDED_AT[self.outcome], len(STEPS) - _ENDED_AT[self.outcome] - 1
        passed = StepState.UNKNOWN if self.outcome is TraceOutcome.NOT_IN_ANY_PAGE else StepState.PASSED
        states = [passed] * end + [StepState.ENDED] + [StepState.NOT_REACHED] * left
        return tuple(zip(STEPS, states, strict=False))


def absence_from_answer(run: Run, query: str) -> Trace:
    """Trace a pasted sentence or address. Several matches give the furthest trace. Never raises."""
    query = query.strip()
    if not query:
        return Trace(outcome=TraceOutcome.EMPTY_QUERY, message="Paste a sentence or an address.")
    if _ADDRESS.fullmatch(query):
        return _trace_address(run, query if "://" in query else f"https://{query}")
    matched = matches(query, {key: page.text for key, page in run.pages.items()})
    if matched:
        traces = (_trace_match(run, match) for match in matched[:_COMPARED_MATCHES])
        return max(traces, key=lambda trace: trace.outcome)
    return _trace_unread(run, query)


# --- an address -------------------------------------------------------------------------------------------


def _trace_address(run: Run, url: str) -> Trace:
    key = canonical_url(url)
    hits = {hit.key: hit for hit in run.hits}
    redirected = next((page.key for page in run.pages.values() if canonical_url(page.url) == key), None)
    hit = hits.get(redirected or key)
    if hit is not None:
        return _trace_hit(run, hit)
    for query, reply in run.replies.items():
        for result in reply.results:
            if canonical_url(result.url) == key:
                message = (
                    f"“{query.text}” found it at rank {result.rank}, but only the first "
                    f"{pluralize(run.knobs.search.results, 'result')} of a query {plural(run.knobs.search.results, 'is', 'are')} read."
                )
                return Trace(outcome=TraceOutcome.BEYOND_THE_LIMIT, message=message)
    others = sum(site(hit.url) == site(url) for hit in run.hits)
    message = "No query found this address." + (
        f" Queries found {others} other {plural(others, 'page')} of its site." if others else ""
    )
    return Trace(outcome=TraceOutcome.NEVER_A_HIT, message=message)


def _trace_hit(run: Run, hit: Hit) -> Trace:
    if hit.key in run.pages:
        whole_page = Place(page=hit.key, start=0, end=len(run.pages[hit.key].text))
        return replace(_trace_place(run, whole_page, whole_page=True), page=hit.key)
    skip = run.skips.get(hit.key)
    if skip is None:
        message = "A query found it, and its page is not read yet."
        return Trace(outcome=TraceOutcome.NOT_READ_YET, message=message, page=hit.key)
    detail = f" ({skip.detail})" if skip.detail else ""
    message = f"A query found it, but the page was skipped: {skip.reason}{detail}."
    return Trace(outcome=TraceOutcome.SKIPPED, message=message, page=hit.key)


# --- a text -----------------------------------------------------------------------------------------------


def _trace_unread(run: Run, query: str) -> Trace:
    """Trace a text outside all articles: a search result's snippet may contain it."""
    snippets = {hit.key: f"{hit.title}\n{hit.snippet}" for hit in run.hits}
    in_snippet = {match.key: match for match in matches(query, snippets)}
    hit = next((hit for hit in run.hits if hit.key in in_snippet), None)
    if hit is None:
        skipped = (
            f", and {pluralize(len(run.skips), 'page')} {plural(len(run.skips), 'was', 'were')} skipped"
            if run.skips
            else ""
        )
        read = sum(map(run.has_full_page, run.pages))
        message = (
            f"None of {pluralize(read, 'page')} that {plural(read, 'was', 'were')} read contains it{skipped}."
        )
        return Trace(outcome=TraceOutcome.NOT_IN_ANY_PAGE, message=message)
    trace = _trace_hit(run, hit)
    snippet = f"The search result's snippet for {site(hit.url)} contains it. "
    if hit.key in run.pages:
        extractor = run.pages[hit.key].article.extractor
        message = f"{snippet}The article that {extractor} extracted from the page does not."
        return Trace(outcome=TraceOutcome.NOT_EXTRACTED, message=message, page=hit.key)
    return replace(trace, message=snippet + trace.message, similarity=in_snippet[hit.key].similarity)


def _trace_match(run: Run, match: Match) -> Trace:
    place = Place(page=match.key, start=match.start, end=match.end)
    trace = _trace_place(run, place, whole_page=False)
    return replace(trace, page=match.key, place=place, similarity=match.similarity)


# --- in the ranking ---------------------------------------------------------------------------------------


def _trace_place(run: Run, place: Place, *, whole_page: bool) -> Trace:
    """Trace a range of a page through the passages that overlap it."""
    if run.index is None or run.ranking is None:
        message = "Its page was read; the passages are not ranked yet."
        return Trace(outcome=TraceOutcome.NOT_RANKED, message=message)
    rows = [
        (row, any(own.start <= place.start and place.end <= own.end for own in places))
        for row, passage in enumerate(run.index.passages)
        if (places := [own for own in (passage.place, *passage.also) if overlaps(own, place)])
    ]
    if not rows:
        return _trace_outside_passages(run, place)
    containing = [row for row, contains_all in rows if contains_all]
    name, scores = run.ranking.deciding
    passages = _traced_passages(run, containing or [row for row, _ in rows], scores)
    last = run.ranking.context[-1] if run.ranking.context else None
    cutoff = None if last is None else score_at(scores, last)
    outcome, message = _best_outcome(run, passages, name, cutoff)
    if not containing and not whole_page:
        outcome = TraceOutcome.SPLIT
        message = f"It is split across {len(passages)} passages; none contains all of it. The best: {message}"
    return Trace(outcome=outcome, message=message, passages=passages, score_name=name, cutoff=cutoff)


def _trace_outside_passages(run: Run, place: Place) -> Trace:
    not_embedded = run.index.not_embedded if run.index else ()
    if any(overlaps(own, place) for passage in not_embedded for own in (passage.place, *passage.also)):
        message = "Its passage could not be embedded, so it was not ranked."
    else:
        message = "No passage contains it: fragments with almost no words are dropped."
    return Trace(outcome=TraceOutcome.NOT_RANKED, message=message)


def _traced_passages(run: Run, rows: Sequence[int], scores: Floats | None) -> tuple[TracedPassage, ...]:
    assert run.ranking is not None  # noqa: S101  # the caller looked
    ranks, numbers = ranks_by_row(run.ranking), run.context_numbers
    reasons = exclusion_reasons(run)
    passages = (
        TracedPassage(
            row=row,
            rank=ranks[row],
            score=score_at(scores, row),
            number=numbers.get(row),
            reason=reasons[row],
        )
        for row in rows
    )
    return tuple(
        sorted(passages, key=lambda passage: (passage.number is None, passage.number or passage.rank))
    )


def _best_outcome(
    run: Run, passages: Sequence[TracedPassage], name: str, cutoff: float | None
) -> tuple[TraceOutcome, str]:
    """Return the furthest passage's outcome, with its message."""
    best = passages[0]
    score = "" if best.score is None else f" with {name} {decimal(best.score, 3)}"
    if best.reason is not None:
        count = len(run.index.passages) if run.index else 0
        limit = "" if cutoff is None else f"; the cut-off is at {decimal(cutoff, 3)}"
        message = f"Ranked {ordinal(best.rank)} of {count}{score}{limit}: {best.reason}."
        return TraceOutcome.LEFT_OUT, message
    cited = set(cited_rows(run))
    number = next((passage.number for passage in passages if passage.row in cited), None)
    if number is not None:
        return TraceOutcome.CITED, f"It is source {number} of the context{score}, and the answer cites it."
    source = f"It is source {best.number} of the context{score}"
    if run.answer is None:
        return TraceOutcome.NOT_CITED, f"{source}; there is no answer yet."
    return TraceOutcome.NOT_CITED, f"{source}, but the answer never cites it."
