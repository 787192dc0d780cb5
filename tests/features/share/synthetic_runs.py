"""Finished runs of any size from seeded words and vectors, and random settings of their ranking."""

import random
import re
from dataclasses import replace
from typing import Any

import numpy as np

from core.config.knobs import Knobs, RankKnobs
from core.config.schema import Parameter, parameters
from core.model import (
    Answer,
    AnswerKind,
    Article,
    Author,
    Index,
    Page,
    Passage,
    Phase,
    Place,
    Query,
    Result,
    SearchReply,
    source_numbers,
)
from core.model.passage_urls import passage_url
from core.run import events as e
from core.run.fold import folded_run
from core.run.state import Run
from core.run.transitions import index_event
from core.stages.check import check
from core.stages.rank import rank, sources
from tests.samples import records

QUESTION = "How do heat pumps work in cold winter weather?"
WORDS = re.findall(
    r"\w+",
    "heat pumps cold winter weather work air water house energy electricity meter output temperature trial field "
    "outside inside garden river stone music history market people country science paper model result number",
)
PASSAGE_WORDS = 30
A_PAGE = 6
"""Passages of one page."""
EMBEDDER = "minilm-l6-v2-w8a8-256:8199be6f"


def synthetic_run(
    passages: int, *, width: int = 384, knobs: RankKnobs | None = None, waiting: bool = False
) -> Run:
    """A run with so many passages: pages of several languages, hosts and documents, some nearly the same. With `waiting`
    every third passage has no vector yet."""
    dice, random_numbers = random.Random(passages), np.random.default_rng(passages)
    pages = _pages(dice, -(-passages // A_PAGE))
    index = _index(pages, passages, width, random_numbers)
    if waiting and index.vectors is not None:
        vectors = index.vectors.copy()
        vectors[::3] = np.nan
        index = replace(index, vectors=vectors)
    every_knob = replace(Knobs(), rank=knobs or RankKnobs(top_k=8))
    by_key = {page.key: page for page in pages}
    ranking = rank(QUESTION, index, every_knob.rank, by_key)
    chosen = sources(ranking, index, by_key, every_knob.rank)
    numbers = [source.number for source in chosen]
    text = "\n\n".join(f"A claim is **held** by its source [{number}]." for number in numbers)
    query = Query(text="heat pumps winter", author=Author.MODEL)
    results = tuple(
        Result(url=page.url, title=page.title, snippet="", rank=rank_of)
        for rank_of, page in enumerate(pages, 1)
    )
    return folded_run(
        records(
            e.RunStarted(f"run-{passages}", QUESTION, every_knob, "2026-01-02T03:04:05+00:00"),
            e.PhaseStarted(Phase.PLAN),
            e.QueryPlanned(query),
            e.SearchAnswered(query, SearchReply(backend="searxng", results=results)),
            *(e.PageRead(page) for page in pages),
            e.PageChunked(pages[0].key, index.passages),
            index_event(index),
            e.Ranked(ranking),
            e.SourcesChosen(chosen),
            e.Answered(Answer(kind=AnswerKind.WRITTEN, text=text, model="test@host")),
            e.Checked(check(text, source_numbers(chosen))),
            e.RunDone(),
        )
    )


def random_knobs(run: Run, dice: random.Random, *, diversity: bool = False) -> RankKnobs:
    """Return random knobs of the ranking, each at its default with a chance of one half.

    Every knob with options or bounds is among them, so a new one is compared without a change here.
    """
    values: dict[str, Any] = {
        "only_domains": dice.choice(("example, org", "https://WWW.site-1.example/x", "*.org")),
        "without_domains": dice.choice(("site-2.example", "org", "a://b:1 , site-3.example")),
        "excluded": tuple(dice.sample(list(run.pages), 2)),
    }
    values |= {
        knob.name: _random_value(knob, dice)
        for knob in parameters()
        if knob.group == "rank" and knob.name not in values
    }
    values = {name: value for name, value in values.items() if dice.random() < 0.5}
    values["diversity"] = round(dice.uniform(0.05, 1), 2) if diversity else 0.0
    return Knobs.parse({"rank": values}).rank


def _random_value(knob: Parameter, dice: random.Random) -> Any:
    """Return a value within the bounds, more often a small one: low limits exclude some passages, high limits none."""
    if knob.minimum is None or knob.maximum is None:
        return dice.choice(knob.enum or (False, True))
    value = knob.minimum + (knob.maximum - knob.minimum) * dice.random() ** 2
    return round(value) if knob.type == "integer" else round(value, 2)


def _pages(dice: random.Random, count: int) -> list[Page]:
    pages: list[Page] = []
    for number in range(count):
        words = [dice.choice(WORDS) for _ in range(A_PAGE * PASSAGE_WORDS)]
        if number % 7 == 3:  # nearly the same text as an earlier page
            words = [*pages[number - 2].text.split()[:-2], "other", "end"]
        url = f"https://site-{number % 11}.{'example' if number % 3 else 'sub.org'}/{number}"
        metadata = {}
        if number % 5 == 4:
            url = passage_url("papers", str(number))
            metadata = {"document": f"{number // 10:024x}"}
        text = " ".join(f"{word}😀" if dice.random() < 0.01 else word for word in words)
        language = ("en", "en", "de", "ja", "")[number % 5]
        article = Article(text=text, extractor="fast", language=language, metadata=metadata)
        pages.append(Page(key=url, url=url, title=f"Page {number}", article=article))
    return pages


def _index(pages: list[Page], passages: int, width: int, random_numbers: np.random.Generator) -> Index:
    cut = [passage for page in pages for passage in _passages(page)][:passages]
    question = _units(random_numbers.standard_normal((1, width)))[0]
    topics = random_numbers.standard_normal((12, width))
    noise = random_numbers.standard_normal((passages, width))
    nearness = random_numbers.uniform(-0.5, 3, passages)[:, None]
    of_topic = topics[random_numbers.integers(0, len(topics), passages)]
    vectors = _units(of_topic + noise + nearness * question * np.sqrt(width))
    vectors[5] = vectors[3]  # equal scores
    vectors[7] = np.nan
    return Index(
        passages=tuple(cut), vectors=vectors, question=question, embedder=EMBEDDER, embedder_languages=("en",)
    )


def _passages(page: Page) -> list[Passage]:
    words = page.text.split(" ")
    made, start = [], 0
    for first in range(0, len(words), PASSAGE_WORDS):
        text = " ".join(words[first : first + PASSAGE_WORDS])
        made.append(Passage(text=text, place=Place(page=page.key, start=start, end=start + len(text))))
        start += len(text) + 1
    return made


def _units(vectors: np.ndarray) -> np.ndarray:
    units: np.ndarray = (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)
    return units
