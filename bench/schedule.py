"""What a seed holds: who answers when, and the earliest moment at which a perfect client could be done.

All times are in seconds; those of the ideal are counted from the question.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from bench.articles import words

FIRST_TOKEN = 0.4
"""From a chat request to the first token of its reply."""
TOKEN = 0.012
"""From one token to the next."""
EMBED_CALL, EMBED_TEXT = 0.15, 0.0002
"""What an embedding call takes, and each text in it."""
PAGE_TEXTS = 25
"""Passages of one page, about: the least that the last embedding call holds."""

PAGE_TIMEOUT = 5.0
"""The longest wait for one page, of every client that is measured."""
ENOUGH, QUIET = 90, 0.3
"""The early cut: per cent of the pages, and seconds of nothing after."""
WARM_TIMEOUT = 0.5
"""The page timeout of the small run that comes before every measurement."""

_P95 = 1.645
"""Standard deviations from the median to the 95th percentile of a normal distribution."""


def question(run: int = 0) -> str:
    """The question of one of a seed's runs: its number chooses the queries and pages."""
    return f"How did the old bridge fare, case {run}?"


@dataclass(frozen=True, slots=True)
class Seed:
    """What a world is made from. The same seed is always the same world.

    With `real` false nothing takes time and nothing fails. `runs` is how many different questions the
    world can answer; each has its own queries and pages.
    """

    number: int
    queries: int
    results: int
    real: bool = True
    runs: int = 1
    repeats: float = 0.1
    """The share of results that an earlier query of the run has named already."""
    pace: float = 1.0
    """How many times as long the chat model takes for a token of an answer."""


@dataclass(frozen=True, slots=True)
class PlannedPage:
    number: int
    host: int
    latency: float
    """To the first byte; infinite for a page that never answers."""
    status: int

    @property
    def readable(self) -> bool:
        return self.status == 200 and self.latency < math.inf


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    text: str
    out: float
    """From the plan's request until this line is complete."""
    search: float
    pages: tuple[PlannedPage, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that will happen in a world, and the ideal schedules that follow from it."""

    seed: Seed
    runs: tuple[tuple[PlannedQuery, ...], ...]

    @classmethod
    def of(cls, seed: Seed) -> Plan:
        draw = random.Random(f"world {seed.number}: {seed.queries} x {seed.results}")
        numbers = iter(range(seed.runs * seed.queries * seed.results))
        return cls(seed, tuple(tuple(_queries(draw, seed, run, numbers)) for run in range(seed.runs)))

    @property
    def pages(self) -> tuple[PlannedPage, ...]:
        """All pages of all runs, by number."""
        found = {page.number: page for run in self.runs for query in run for page in query.pages}
        return tuple(found[number] for number in sorted(found))

    @property
    def first_token(self) -> float:
        return FIRST_TOKEN if self.seed.real else 0.0

    @property
    def token(self) -> float:
        return TOKEN if self.seed.real else 0.0

    def embedding(self, texts: int) -> float:
        """How long an embedding call with so many texts takes."""
        return EMBED_CALL + EMBED_TEXT * texts if self.seed.real else 0.0

    def named(self, run: int = 0) -> dict[PlannedPage, float]:
        """When the first hit list that names it is in, for each page of a run."""
        times: dict[PlannedPage, float] = {}
        for query in self.runs[run]:
            at = query.out + query.search
            for page in query.pages:
                times[page] = min(at, times.get(page, math.inf))
        return times

    def all_named(self, run: int = 0) -> float:
        """When the last hit list is in."""
        return max(query.out + query.search for query in self.runs[run])

    def settled(self, timeout: float, extraction: float, run: int = 0) -> dict[PlannedPage, float]:
        """When each page is either extracted or known to be unreadable."""
        return {
            page: at + (page.latency + extraction if _in_time(page, timeout) else min(page.latency, timeout))
            for page, at in self.named(run).items()
        }

    def ideal(self, timeout: float, extraction: float, run: int = 0) -> float:
        """Time to context when every page is either read or given up at its own timeout.

        Queries are searched and pages fetched the moment they are named, each page is extracted (taking
        `extraction`) and embedded (one call) on arrival, all at once: no client can be done earlier.
        """
        settled = self.settled(timeout, extraction, run)
        return max(
            at + (self.embedding(PAGE_TEXTS) if _in_time(page, timeout) else 0.0)
            for page, at in settled.items()
        )

    def ideal_cut(
        self, timeout: float, extraction: float, *, percent: int, idle: float, run: int = 0
    ) -> float:
        """Time to context by the early-cut rule: `percent` of the pages settled and then `idle` seconds of nothing.

        The rule only begins once every hit is named and one page is extracted. What arrived before the cut is embedded.
        """
        settled = self.settled(timeout, extraction, run)
        arrivals = sorted(settled.values())
        first_read = min((at for page, at in settled.items() if _in_time(page, timeout)), default=math.inf)
        needed = math.ceil(len(arrivals) * percent / 100)
        cut = arrivals[-1]
        for count, (at, following) in enumerate(zip(arrivals, [*arrivals[1:], math.inf], strict=True), 1):
            moment = max(at + idle, self.all_named(run))
            if count >= needed and first_read <= at and moment < following and count < len(arrivals):
                cut = moment
                break
        embedded = [
            at + self.embedding(PAGE_TEXTS)
            for page, at in settled.items()
            if at <= cut and _in_time(page, timeout)
        ]
        return max(cut, *embedded) if embedded else cut


def _in_time(page: PlannedPage, timeout: float) -> bool:
    return page.readable and page.latency < timeout


def _queries(draw: random.Random, seed: Seed, run: int, numbers: Iterator[int]) -> Iterator[PlannedQuery]:
    """A single query is the question itself, which no model has to write."""
    out = FIRST_TOKEN - TOKEN if seed.real else 0.0
    known: list[PlannedPage] = []
    for _ in range(seed.queries):
        text = words(draw, draw.randint(5, 9))
        out += TOKEN * len(tokens(f"{text}\n")) if seed.real else 0.0
        if seed.queries == 1:
            text, out = question(run), 0.0
        pages: list[PlannedPage] = []
        for _ in range(seed.results):
            others = [page for page in known if page not in pages]
            if others and draw.random() < seed.repeats:
                pages.append(draw.choice(others))
            else:
                pages.append(_page(draw, seed, next(numbers)))
        known += [page for page in pages if page not in known]
        search = _lognormal(draw, 0.5, 1.2) if seed.real else 0.0
        yield PlannedQuery(text, out, search, tuple(pages))


def _page(draw: random.Random, seed: Seed, number: int) -> PlannedPage:
    latency, fate = _lognormal(draw, 0.3, 2.0), draw.random()
    host = number // 2
    if not seed.real:
        return PlannedPage(number, host, 0.0, 200)
    if fate < 0.05:
        return PlannedPage(number, host, math.inf, 200)
    return PlannedPage(number, host, latency, 404 if fate < 0.08 else 200)


def _lognormal(draw: random.Random, median: float, p95: float) -> float:
    return draw.lognormvariate(math.log(median), math.log(p95 / median) / _P95)


def tokens(text: str) -> list[str]:
    """The text in pieces as a model might stream it: words with their leading space, and line ends."""
    pieces: list[str] = []
    for word in text.replace("\n", " \n ").split(" "):
        if word:
            pieces.append(word if word == "\n" or not pieces or pieces[-1] == "\n" else f" {word}")
    return pieces
