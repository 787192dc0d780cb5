"""Why was this not found? Where a pasted sentence or address ended on its way to the answer."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from core.analysis.losses.text_match import Match, matches
from core.analysis.rankings.context_membership import cited_rows, overlaps, verdicts_of
from core.model import Floats, Hit, Place
from core.model.passage_urls import site
from core.run.state import Run
from core.stages.context_selection import ExclusionReason
from core.text.urls import canonical_url


class End(IntEnum):
    """How far it came, from not at all to the answer."""

    NOTHING_SOUGHT = 0
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPart:
    """A ranked passage that holds it or a piece of it. `number` is its number in the context, if any."""

    row: int
    rank: int
    score: float | None
    number: int | None
    reason: ExclusionReason | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Where it ended. `message` says it in a sentence.

    `place` is where a pasted text stands in its page, with `likeness` 1 for the very words. `parts` are the
    passages concerned, best first; their scores are of the kind that `score_name` tells, and `cutoff` is
    the score of the last source.
    """

    end: End
    message: str
    page: str | None = None
    place: Place | None = None
    likeness: float = 1.0
    parts: tuple[RunPart, ...] = ()
    score_name: str = ""
    cutoff: float | None = None


_PLACES = 20
"""The most places of one text whose fates are compared."""

_ADDRESS = re.compile(r"(?i)(?:https?://\S+|(?:[\w-]+\.)+[a-z]{2,}(?:[/:?#]\S*)?)")


def why_not(run: Run, sought: str) -> Trace:
    """The fate of a pasted sentence, or of an address. Never raises; of several places the one that came furthest."""
    sought = sought.strip()
    if not sought:
        return Trace(end=End.NOTHING_SOUGHT, message="Paste a sentence or an address.")
    if _ADDRESS.fullmatch(sought):
        return _address(run, sought if "://" in sought else f"https://{sought}")
    found = matches(sought, {key: page.text for key, page in run.pages.items()})
    if found:
        return max((_text(run, match) for match in found[:_PLACES]), key=lambda fate: fate.end)
    return _in_no_page(run, sought)


# --- an address -------------------------------------------------------------------------------------------


def _address(run: Run, url: str) -> Trace:
    key = canonical_url(url)
    hits = {hit.key: hit for hit in run.hits}
    landed = next((page.key for page in run.pages.values() if canonical_url(page.url) == key), None)
    hit = hits.get(landed or key)
    if hit is not None:
        return _of_hit(run, hit)
    for query, reply in run.replies.items():
        for result in reply.results:
            if canonical_url(result.url) == key:
                knobs = run.knobs.search
                limit = knobs.passages if result.collection else knobs.results
                message = (
                    f"“{query.text}” found it at rank {result.rank}, but only the first "
                    f"{limit} results of a query are read."
                )
                return Trace(end=End.BEYOND_THE_LIMIT, message=message)
    others = sum(site(hit.url) == site(url) for hit in run.hits)
    message = "No query found this address." + (
        f" Of its site, {others} other {'page was' if others == 1 else 'pages were'} found." if others else ""
    )
    return Trace(end=End.NEVER_A_HIT, message=message)


def _of_hit(run: Run, hit: Hit) -> Trace:
    if hit.key in run.pages:
        page = run.pages[hit.key]
        fate = _ranked(run, Place(page=hit.key, start=0, end=len(page.text)), whole_page=True)
        return replace(fate, page=hit.key)
    skip = run.skips.get(hit.key)
    if skip is None:
        return Trace(end=End.NOT_READ_YET, message="It was found, and is not read yet.", page=hit.key)
    detail = f" ({skip.detail})" if skip.detail else ""
    message = f"It was found, but the page was skipped: {skip.reason}{detail}."
    return Trace(end=End.SKIPPED, message=message, page=hit.key)


# --- a text -----------------------------------------------------------------------------------------------


def _in_no_page(run: Run, sought: str) -> Trace:
    snippets = {hit.key: f"{hit.title}\n{hit.snippet}" for hit in run.hits}
    in_snippet = {match.key: match for match in matches(sought, snippets)}
    hit = next((hit for hit in run.hits if hit.key in in_snippet), None)
    if hit is None:
        skipped = f", and {len(run.skips)} that were found could not be read" if run.skips else ""
        read = sum(map(run.has_full_page, run.pages))
        message = f"It stands in none of the {read} pages that were read{skipped}."
        return Trace(end=End.NOT_IN_ANY_PAGE, message=message)
    fate = _of_hit(run, hit)
    where = f"The search engine showed it for {site(hit.url)}. "
    if hit.key in run.pages:
        extractor = run.pages[hit.key].article.extractor
        message = f"{where}The article that {extractor} extracted from the page does not hold it."
        return Trace(end=End.NOT_EXTRACTED, message=message, page=hit.key)
    return replace(fate, message=where + fate.message, likeness=in_snippet[hit.key].likeness)


def _text(run: Run, match: Match) -> Trace:
    place = Place(page=match.key, start=match.start, end=match.end)
    fate = _ranked(run, place, whole_page=False)
    return replace(fate, page=match.key, place=place, likeness=match.likeness)


# --- in the ranking ---------------------------------------------------------------------------------------


def _ranked(run: Run, place: Place, *, whole_page: bool) -> Trace:
    """The fate of what stands at a place of a page that was read."""
    if run.index is None or run.ranking is None:
        return Trace(end=End.NOT_RANKED, message="Its page was read; the passages are not ranked yet.")
    rows = [
        (row, any(own.start <= place.start and place.end <= own.end for own in places))
        for row, passage in enumerate(run.index.passages)
        if (places := [own for own in (passage.place, *passage.also) if overlaps(own, place)])
    ]
    if not rows:
        return _in_no_passage(run, place)
    whole = [row for row, holds_all in rows if holds_all]
    name, scores = run.ranking.deciding
    parts = _parts(run, whole or [row for row, _ in rows], scores)
    last = run.ranking.context[-1] if run.ranking.context else None
    cutoff = None if last is None else _finite(scores, last)
    end, message = _told(run, parts, name, cutoff)
    if not whole and not whole_page:
        end = End.SPLIT
        message = f"It is split across {len(parts)} passages, so none holds all of it. The best: {message}"
    return Trace(end=end, message=message, parts=parts, score_name=name, cutoff=cutoff)


def _in_no_passage(run: Run, place: Place) -> Trace:
    lost = run.index.lost if run.index else ()
    if any(overlaps(own, place) for passage in lost for own in (passage.place, *passage.also)):
        message = "Its passage could not be embedded, so it took no part in the ranking."
    else:
        message = "It is in no passage: what holds next to no words is left out."
    return Trace(end=End.NOT_RANKED, message=message)


def _parts(run: Run, rows: Sequence[int], scores: Floats | None) -> tuple[RunPart, ...]:
    assert run.ranking is not None  # noqa: S101  # the caller looked
    ranks = {row: rank for rank, row in enumerate(run.ranking.order.tolist(), 1)}
    numbers = {row: number for number, row in enumerate(run.ranking.context, 1)}
    told = verdicts_of(run)
    parts = (
        RunPart(
            row=row,
            rank=ranks[row],
            score=_finite(scores, row),
            number=numbers.get(row),
            reason=told[row],
        )
        for row in rows
    )
    return tuple(sorted(parts, key=lambda part: (part.number is None, part.number or part.rank)))


def _told(run: Run, parts: Sequence[RunPart], name: str, cutoff: float | None) -> tuple[End, str]:
    best = parts[0]
    cited = set(cited_rows(run))
    shown = "" if best.score is None else f" with {name} {best.score:.3f}"
    if best.reason is not None:
        count = len(run.index.passages) if run.index else 0
        end = "" if cutoff is None else f"; the last source has {cutoff:.3f}"
        return End.LEFT_OUT, f"Ranked {_ordinal(best.rank)} of {count}{shown}{end}: {best.reason}."
    cites = [part for part in parts if part.row in cited]
    if cites:
        return End.CITED, f"It is source {cites[0].number} of the context{shown}, and the answer cites it."
    if run.answer is None:
        return End.NOT_CITED, f"It is source {best.number} of the context{shown}; there is no answer yet."
    return End.NOT_CITED, f"It is source {best.number} of the context{shown}, but the answer never cites it."


def _finite(scores: Floats | None, row: int) -> float | None:
    return None if scores is None or not math.isfinite(scores[row]) else float(scores[row])


def _ordinal(number: int) -> str:
    ending = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"
