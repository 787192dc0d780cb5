"""Runs for the questions of a data set, with the reasons why relevant text was missed."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cachetools import LRUCache

from core.analysis.rankings.context_membership import exclusion_reasons, overlaps
from core.analysis.rankings.ranked_passages import ranks_by_row
from core.config.knobs import ChunkKnobs, Knobs
from core.errors import BadInput
from core.features.evaluate.data_sets.corpus import Corpus, build_corpus, document_pages
from core.features.evaluate.data_sets.data_set import DataSet, Question
from core.features.evaluate.results import Results
from core.features.evaluate.sweep import knobs_of, values_of
from core.model import Page, Passage, Place
from core.ports import Embed, Rerank
from core.run import events as e
from core.run.recorded_run import RecordedRun
from core.run.recorder import Recorder
from core.run.run_ids import new_run_id
from core.run.state import Run
from core.stages.rank import best_first, sources
from core.stages.ranking.context_selection import ExclusionReason
from core.stages.rerank import rank_and_rerank

CHARACTERS_LIMIT = 60_000_000
"""The size limit of a data set that is held in memory, in characters."""
KEPT_RUNS = 64
"""The number of cached rankings."""
SCORES = {"bm25": "BM25", "cosine": "cosine", "fused": "fusion", "rerank": "the reranking model"}
"""The scores that rank passages, in the order of computation, with their names."""
DILUTED = 0.4
"""The share of its passage below which a relevant text may be called diluted."""


class QuestionRuns:
    """The questions of one data set as runs. Each chunking is computed once."""

    def __init__(self, data: DataSet, embed: Embed, rerank: Rerank | None = None) -> None:
        """`embed` is the experiment's embedder, `rerank` is for settings with reranking."""
        self.questions: Mapping[str, Question] = {question.id: question for question in data.questions}
        self._data, self._embed, self._rerank = data, embed, rerank
        self._pages: Mapping[str, Page] | None = None
        self._corpora: dict[ChunkKnobs, Corpus] = {}
        self._runs: LRUCache[tuple[str, Knobs], RecordedRun] = LRUCache(KEPT_RUNS)
        self._lock = asyncio.Lock()

    async def runs(self, question: str, settings: Sequence[str]) -> tuple[RecordedRun, ...]:
        """Return runs of a question under these settings, from given pages up to the sources.

        Raises:
            BadInput: when the data set has no such question, cannot be used, or is too large.
            EmbedFailed: when something has no vector.
        """
        if question not in self.questions:
            raise BadInput(
                "The data set has no such question any more.", hint="Run the experiment again, as a new one."
            )
        async with self._lock:
            return tuple([await self._run(question, knobs_of(setting)) for setting in settings])

    async def _run(self, question: str, knobs: Knobs) -> RecordedRun:
        key = (question, knobs)
        if key not in self._runs:
            self._runs[key] = await self._ranked(self.questions[question].text, knobs)
        return self._runs[key]

    async def _ranked(self, question: str, knobs: Knobs) -> RecordedRun:
        corpus = await self._corpus(knobs.chunk)
        records: list[e.Record] = []
        recorder = Recorder(lambda record, run: records.append(record))
        started = datetime.now(UTC).isoformat()
        recorder.emit(e.RunStarted(new_run_id(), question, knobs, started))
        passages: defaultdict[str, list[Passage]] = defaultdict(list)
        for passage in corpus.passages:
            passages[passage.place.page].append(passage)
        for key, page in corpus.pages.items():
            recorder.emit(e.PageRead(page))
            recorder.emit(e.PageChunked(key, tuple(passages[key])))
        index = corpus.index((await self._embed([question])).vectors[0])
        ranking = await rank_and_rerank(
            question, index, knobs.rank, corpus.pages, self._rerank, recorder.emit
        )
        recorder.emit(e.Indexed(index))
        recorder.emit(e.Ranked(ranking))
        recorder.emit(e.SourcesChosen(sources(ranking, index, corpus.pages, knobs.rank)))
        recorder.emit(e.RunDone())
        return RecordedRun(run=recorder.run, records=tuple(records))

    async def _corpus(self, chunk: ChunkKnobs) -> Corpus:
        if self._pages is None:
            self._pages = await asyncio.to_thread(self._read)
        if chunk not in self._corpora:
            self._corpora[chunk] = await build_corpus(self._pages, chunk, self._embed)
        return self._corpora[chunk]

    def _read(self) -> Mapping[str, Page]:
        size = 0
        for document in self._data.documents():
            size += len(document.text)
            if size > CHARACTERS_LIMIT:
                raise BadInput(
                    f"The data set has more than {CHARACTERS_LIMIT:,} characters, too many to rank a question while you wait.",
                    hint="Its figures are in the table; make a smaller data set of the questions that you want to see.",
                )
        return document_pages(self._data)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevantText:
    """A relevant excerpt or document of a question, with its position in a ranking."""

    place: Place
    row: int | None
    """The row of the best-ranked passage that overlaps the text, or None."""
    rank: int | None
    """The rank of the passage, from 1."""
    number: int | None
    """The number of the passage in the context."""
    reason: ExclusionReason | None
    """The passage's exclusion reason, if any."""
    ranks: Mapping[str, int]
    """The passage's rank by each computed score of `SCORES`, from 1."""
    share: float
    """The relevant share of the passage, from 0 to 1."""


def relevant_texts(question: Question, run: Run) -> tuple[RelevantText, ...]:
    """Return every excerpt of the question with its rank in the run.

    Without excerpts these are the relevant documents.
    """
    if run.index is None or run.ranking is None:
        return ()
    index, ranking = run.index, run.ranking
    ranks, reasons, numbers = ranks_by_row(ranking), exclusion_reasons(run), run.context_numbers
    rank_by_score = {
        name: {row: rank for rank, row in enumerate(best_first(scores).tolist(), 1)}
        for name in SCORES
        if (scores := getattr(ranking, name)) is not None
    }
    texts = []
    for place in _relevant_places(question, run.pages):
        rows = [
            row
            for row, passage in enumerate(index.passages)
            if any(overlaps(place, own) for own in (passage.place, *passage.also))
        ]
        row = min(rows, key=lambda row: ranks.get(row, len(ranks) + 1), default=None)
        texts.append(
            RelevantText(
                place=place,
                row=row,
                rank=None if row is None else ranks.get(row),
                number=None if row is None else numbers.get(row),
                reason=None if row is None else reasons.get(row),
                ranks={} if row is None else {name: by_row[row] for name, by_row in rank_by_score.items()},
                share=0.0 if row is None else _share(place, index.passages[row]),
            )
        )
    return tuple(texts)


def _relevant_places(question: Question, pages: Mapping[str, Page]) -> Iterator[Place]:
    if question.excerpts:
        yield from (Place(page=page, start=start, end=end) for page, start, end in question.excerpts)
        return
    for document, grade in question.judgements.items():
        if grade > 0 and document in pages:
            yield Place(page=document, start=0, end=len(pages[document].text))


def _share(place: Place, passage: Passage) -> float:
    own = next(own for own in (passage.place, *passage.also) if overlaps(place, own))
    shared = min(place.end, own.end) - max(place.start, own.start)
    return shared / max(own.end - own.start, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A setting that differs from another setting in one knob."""

    setting: str
    path: str
    value: Any


def neighbours(results: Results, setting: str) -> tuple[Neighbour, ...]:
    """Return the settings that differ from this setting in exactly one knob, in the order of the knobs."""
    own = values_of(setting)
    differing: list[Neighbour] = []
    for result in results.results:
        values = values_of(result.setting)
        changed = [path for path in own if values[path] != own[path]]
        if len(changed) == 1:
            differing.append(Neighbour(setting=result.setting, path=changed[0], value=values[changed[0]]))
    order = list(own)
    return tuple(sorted(differing, key=lambda neighbour: order.index(neighbour.path)))


def explanation(text: RelevantText, before: RelevantText | None, top_k: int) -> tuple[str, ...]:
    """Explain the rank of a relevant text, in sentences.

    `before` is the same text in another ranking, `top_k` the number of sources in the context.
    """
    if text.row is None or text.rank is None:
        return (
            "No passage has any of it: it is shorter than the shortest passage, or its document is empty.",
        )
    sentences = []
    if text.number is not None:
        sentences.append(f"It is source {text.number}.")
    elif text.reason is ExclusionReason.CUT:
        sentences.append(f"Its passage is at rank {text.rank:,}, and the context takes {top_k:,}.")
    else:
        sentences.append(f"Its passage is at rank {text.rank:,}, and not in the context: {text.reason}.")
    if len(text.ranks) > 1:
        ranks = ", ".join(f"{SCORES[name]} has it at {rank:,}" for name, rank in text.ranks.items())
        sentences.append(f"{ranks[:1].upper()}{ranks[1:]}.")
    if before and before.row is not None and text.share < min(DILUTED, before.share * 0.8):
        sentences.append(
            f"Diluted: it is {text.share:.0%} of its passage, and {before.share:.0%} under the baseline."
        )
    return tuple(sentences)
