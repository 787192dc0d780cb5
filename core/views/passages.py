"""The passages of a run as rows, as a curve, in their articles, and against another ranking."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.model import Evidence, Index, Page, Phase, Place, Source
from core.run import Run
from core.views.progress import site
from core.words import one_line

SNIPPET = 160
"""Characters of a passage in a table: whole passages would be most of what is sent to the browser."""

CHARACTERS_A_TOKEN = 4
"""A rule of thumb for English; other languages need more tokens for the same characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A ranked passage. `row` is its place in the index, `number` its number in the context, or None.

    Scores are raw and None where they were not computed.
    """

    row: int
    rank: int
    number: int | None
    cosine: float | None
    bm25: float | None
    fused: float | None
    rerank: float | None
    diverse: float | None
    snippet: str
    title: str
    site: str
    url: str
    key: str
    others: int
    """How many further places hold the very same text."""


def rows(run: Run) -> tuple[Row, ...]:
    """The ranked passages, best first; none before there is a ranking."""
    if run.index is None or run.evidence is None:
        return ()
    index, evidence = run.index, run.evidence
    numbers = {row: number for number, row in enumerate(evidence.context, 1)}
    found = []
    for rank, row in enumerate(evidence.order.tolist(), 1):
        passage = index.passages[row]
        page = run.pages.get(passage.place.page)
        url = page.url if page else ""
        found.append(
            Row(
                row=row,
                rank=rank,
                number=numbers.get(row),
                cosine=_score(evidence.cosine, row),
                bm25=_score(evidence.bm25, row),
                fused=_score(evidence.fused, row),
                rerank=_score(evidence.rerank, row),
                diverse=_score(evidence.diverse, row),
                snippet=one_line(passage.text, SNIPPET),
                title=one_line(page.title or site(url), 120) if page else "",
                site=site(url),
                url=url,
                key=passage.place.page,
                others=len(passage.also),
            )
        )
    return tuple(found)


def chosen(
    table: Sequence[Row], *, words: str = "", only_context: bool = False, key: str | None = None
) -> tuple[Row, ...]:
    """The rows that hold all `words`, in any case, in passage, title or site."""
    wanted = words.casefold().split()
    return tuple(
        row
        for row in table
        if (not only_context or row.number is not None)
        and (key is None or row.key == key)
        and all(word in f"{row.snippet} {row.title} {row.site}".casefold() for word in wanted)
    )


def _score(scores: NDArray[np.float32] | None, row: int) -> float | None:
    return None if scores is None or not math.isfinite(scores[row]) else float(scores[row])


def cosines(run: Run) -> Mapping[str, float]:
    """Similarity to the question by passage id."""
    if run.index is None or run.evidence is None or run.evidence.cosine is None:
        return {}
    return {
        passage.id: float(score)
        for passage, score in zip(run.index.passages, run.evidence.cosine, strict=True)
    }


def sampled(table: Sequence[Row], limit: int) -> tuple[Row, ...]:
    """At most about `limit` rows: all of the context, the best half, and every so many of the rest."""
    if len(table) <= limit:
        return tuple(table)
    best = limit // 2
    step = math.ceil((len(table) - best) / (limit - best))
    return tuple(
        row
        for place, row in enumerate(table)
        if place < best or row.number is not None or (place - best) % step == 0
    )


# --- the score curve --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Scores by rank. `cut` is the last rank that is in the context, 0 when none is."""

    name: str
    scores: tuple[float, ...]
    context: tuple[int, ...]
    """Ranks, from 1, of the passages in the context."""
    cut: int
    threshold: float | None
    """The smallest cosine that is let in, when the curve shows cosines and a threshold is set."""


def curve(run: Run) -> Curve | None:
    """The score that the passages are ordered by; None when there is no ranking."""
    if run.evidence is None or not len(run.evidence.order):
        return None
    name, scores = _ordering(run.evidence)
    if scores is None:
        return None
    ordered = scores[run.evidence.order]
    ordered = ordered[np.isfinite(ordered)]  # a reranking model judges the best only
    places = {row: rank for rank, row in enumerate(run.evidence.order.tolist(), 1)}
    context = tuple(places[row] for row in run.evidence.context if row in places)
    threshold = run.knobs.rank.threshold
    return Curve(
        name=name,
        scores=tuple(float(score) for score in ordered),
        context=context,
        cut=max(context, default=0),
        threshold=threshold if name == "cosine" and threshold > -1 else None,
    )


def _ordering(evidence: Evidence) -> tuple[str, NDArray[np.float32] | None]:
    by_name = {
        "cosine": evidence.cosine,
        "bm25": evidence.bm25,
        "fused": evidence.fused,
        "rerank": evidence.rerank,
    }
    return evidence.strategy, by_name.get(evidence.strategy)


# --- a passage in its article -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A passage with the text around it. `begins` and `ends` tell whether the article does so there."""

    before: str
    passage: str
    after: str
    begins: bool
    ends: bool


def excerpt(page: Page, place: Place, around: int = 2500) -> Excerpt:
    """The passage at `place` with up to `around` characters on each side, cut between words."""
    text = page.text
    start = 0 if place.start <= around else text.find(" ", place.start - around) + 1
    start = start if 0 < start <= place.start else max(0, place.start - around)
    end = len(text)
    if len(text) - place.end > around:
        space = text.rfind(" ", place.end, place.end + around)
        end = space if space > place.end else place.end + around
    return Excerpt(
        before=text[start : place.start],
        passage=text[place.start : place.end],
        after=text[place.end : end],
        begins=start == 0,
        ends=end == len(text),
    )


# --- against another ranking ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """A tuned ranking against the sources of the answer. Numbers are places in a context, from 1."""

    entered: tuple[int, ...]
    """Numbers in the tuned context of passages that are no sources of the answer."""
    left: tuple[int, ...]
    """Numbers of the answer's sources that the tuned context no longer holds."""
    moved: tuple[tuple[int, int], ...]
    """`(number in the answer, number now)` of those whose number is another."""
    kept: int
    recut: bool
    """Whether the articles were cut into passages anew."""
    reused: int
    computed: int
    milliseconds: float
    tokens: int
    """Of the tuned context, estimated from its characters."""

    @property
    def same_context(self) -> bool:
        return not (self.entered or self.left or self.moved)


def changes(answered: Run, tuned: Run) -> Changes | None:
    """What tuning did to the context of `answered`; None when either has no ranking."""
    if tuned.index is None or tuned.evidence is None or answered.index is None:
        return None
    then = {source.passage.id: source.number for source in answered.sources}
    now = {tuned.index.passages[row].id: n for n, row in enumerate(tuned.evidence.context, 1)}
    recut = tuned.knobs.chunk != answered.knobs.chunk
    return Changes(
        entered=tuple(n for key, n in now.items() if key not in then),
        left=tuple(n for key, n in then.items() if key not in now),
        moved=tuple((then[key], n) for key, n in now.items() if key in then and then[key] != n),
        kept=sum(key in then for key in now),
        recut=recut,
        reused=tuned.vectors_reused if recut else len(tuned.index.passages),
        computed=tuned.vectors_computed if recut else 0,
        milliseconds=1000 * _spent(tuned, recut=recut),
        tokens=context_tokens(tuned.index, tuned.evidence),
    )


def _spent(run: Run, *, recut: bool) -> float:
    """Seconds of the ranking, and of cutting and embedding when these were done for it."""
    phases = run.timeline.phases
    ranking = phases[Phase.RANK].seconds(run.seconds) if Phase.RANK in phases else 0.0
    if not recut:
        return ranking
    before = [phases[phase] for phase in (Phase.CHUNK, Phase.EMBED) if phase in phases]
    ends = [run.seconds if span.end is None else span.end for span in before]
    return ranking + (max(ends) - min(span.start for span in before) if before else 0.0)


def context_tokens(index: Index, evidence: Evidence) -> int:
    """About how many tokens the passages of the context have."""
    return math.ceil(sum(len(index.passages[row].text) for row in evidence.context) / CHARACTERS_A_TOKEN)


def other_context(answered: Run, tuned: Run) -> bool:
    """Whether an answer from the tuned ranking would rest on other sources, or on the same in another order."""
    if tuned.index is None or tuned.evidence is None:
        return False
    now = [tuned.index.passages[row].id for row in tuned.evidence.context]
    return now != [source.passage.id for source in answered.sources]


def source_numbered(sources: Sequence[Source], number: int) -> Source | None:
    return next((source for source in sources if source.number == number), None)
