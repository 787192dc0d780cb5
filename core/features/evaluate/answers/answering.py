"""Answer the questions of a data set with the product's stages, and measure the answers."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from enum import StrEnum

from core.analysis.answers.attribution import AttributedSentence, attribution
from core.config.knobs import Knobs
from core.errors import OpenQueryError
from core.features.evaluate.data_sets.corpus import Corpus, build_corpus, document_pages
from core.features.evaluate.data_sets.data_set import DataSet, Question
from core.features.evaluate.failing_ports import StrictEmbed, StrictRerank, require_reranker
from core.features.evaluate.metrics import answer_metrics
from core.features.evaluate.metrics.metric_help import (
    ANSWERED,
    CITATION_PRECISION,
    CITATION_RECALL,
    CONTAINS,
    EXACT,
    REFUSED,
    TOKEN_F1,
)
from core.methods.phases import answer_and_check, rank_index
from core.methods.run_context import RunContext
from core.model import AnswerKind
from core.ports import Embed, Ports
from core.run.recorder import Recorder
from core.run.state import Run
from core.stages.streams import map_concurrently, stream
from core.text.markdown.citations import without_citations

METRICS = {
    ANSWERED: "questions with an answer that were answered",
    REFUSED: "questions without an answer that were refused",
    EXACT: "a refusal counts as 0",
    TOKEN_F1: "a refusal counts as 0",
    CONTAINS: "a refusal counts as 0",
    CITATION_RECALL: "of the answers, an estimate by similarity",
    CITATION_PRECISION: "of the answers, an estimate by similarity",
}
"""How each metric is averaged. `ANSWERED` and `REFUSED` are 1 or 0 for a question."""
CHANGED = frozenset(("chunk", "rank", "answer"))
"""The groups of knobs that change answers to known documents."""
AT_ONCE = 4
"""The number of questions answered concurrently."""


class Outcome(StrEnum):
    """The outcome of a question."""

    FAILED = "failed"
    WRONGLY_ANSWERED = "answered, though the documents hold no answer"
    WRONGLY_REFUSED = "refused wrongly"
    ANSWERED = "answered"
    RIGHTLY_REFUSED = "refused rightly"


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedSource:
    """A source that a sentence of an answer cites."""

    number: int
    supports: bool
    """Whether the source alone supports the sentence."""
    start: int
    """Offset of the most similar sentence in the source's text."""
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSentence:
    """A sentence of an answer."""

    text: str
    supported: bool
    """Whether the cited sources together support the sentence."""
    cited: tuple[CitedSource, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredQuestion:
    """A question with its answer and measurements, or with the reason for its failure."""

    id: str
    question: str
    answer: str = ""
    refused: bool = False
    """Whether the answer says that the sources hold no answer."""
    documents: tuple[str, ...] = ()
    """The document of each numbered source, from number 1 on."""
    titles: tuple[str, ...] = ()
    """The title of each numbered source."""
    sources: tuple[str, ...] = ()
    """The text of each numbered source."""
    references: tuple[str, ...] = ()
    """The reference answers of the data set, or else the excerpts that answer the question."""
    sentences: tuple[MeasuredSentence, ...] = ()
    """The sentences of the answer that were compared with the sources."""
    values: Mapping[str, float] = field(default_factory=dict)
    """The value of each metric that applies to the question."""
    notes: tuple[str, ...] = ()
    """The notices of the run, such as that the answer was cut off."""
    tokens: int = 0
    """Tokens of model calls, as far as the servers count them."""
    cost: float | None = None
    """Price in US dollars, if the provider states it."""
    seconds: float = 0.0
    failed: str = ""
    """The reason why nothing was measured, or ""."""

    @property
    def outcome(self) -> Outcome:
        """The outcome of the question."""
        if self.failed:
            return Outcome.FAILED
        if REFUSED in self.values:
            return Outcome.RIGHTLY_REFUSED if self.refused else Outcome.WRONGLY_ANSWERED
        return Outcome.WRONGLY_REFUSED if self.refused else Outcome.ANSWERED

    @property
    def has_unsupported(self) -> bool:
        """Whether a sentence lacks support by its citations, or a citation is superfluous."""
        return any(self.values.get(name, 1.0) < 1.0 for name in (CITATION_RECALL, CITATION_PRECISION))

    @property
    def quality(self) -> float:
        """A score from 0 to 1 to sort answers, or -1 for a failure.

        The mean of token F1, citation recall and citation precision, as far as they were measured. A question that was
        wrongly answered or wrongly refused has 0 in all, a rightly refused question 1.
        """
        if self.outcome is not Outcome.ANSWERED:
            return {Outcome.FAILED: -1.0, Outcome.RIGHTLY_REFUSED: 1.0}.get(self.outcome, 0.0)
        names = (TOKEN_F1, CITATION_RECALL, CITATION_PRECISION)
        some = [self.values[name] for name in names if name in self.values]
        return sum(some) / len(some) if some else 1.0


async def answer_questions(
    data: DataSet, knobs: Knobs, ports: Ports, *, done: Collection[str] = ()
) -> AsyncGenerator[AnsweredQuestion]:
    """Yield the answered questions, `AT_ONCE` at the same time.

    The chat model answers if there is a chat model. Nothing is searched or fetched. `done` are the ids of questions to
    skip.

    Raises:
        BadInput: when a document of the data set cannot be used, or there is no reranking model that the knobs ask for.
        EmbedFailed: when the documents cannot be embedded.
    """
    require_reranker([knobs], ports.rerank)
    pages = await asyncio.to_thread(document_pages, data)
    corpus = await build_corpus(pages, knobs.chunk, ports.embed)
    rerank = StrictRerank(ports.rerank) if ports.rerank else None
    strict = replace(ports, embed=StrictEmbed(ports.embed), rerank=rerank)

    async def answered(question: Question) -> AnsweredQuestion:
        run = Run(id=question.id, question=question.text, knobs=knobs, pages=pages)
        result = await _answered(question, run, corpus, strict)
        excerpts = (pages[page].article.text[start:end] for page, start, end in question.excerpts)
        return replace(result, references=question.answers or tuple(excerpts))

    remaining = stream(question for question in data.questions if question.id not in done)
    async with aclosing(map_concurrently(remaining, answered, at_once=AT_ONCE)) as results:
        async for result in results:
            yield result


async def _answered(question: Question, run: Run, corpus: Corpus, ports: Ports) -> AnsweredQuestion:
    recorder = Recorder(run=run)
    try:
        vector = (await ports.embed([question.text])).vectors[0]
        context = RunContext(question=run.question, knobs=run.knobs, ports=ports, recorder=recorder)
        await rank_index(context, corpus.index(vector))
        await answer_and_check(context)
        return await _measured(question, recorder.run, ports.embed)
    except OpenQueryError as error:
        return replace(_result(question, recorder.run), failed=str(error))


async def _measured(question: Question, run: Run, embed: Embed) -> AnsweredQuestion:
    refused = _refused(run)
    values: dict[str, float | None] = (
        {ANSWERED: float(not refused)} if question.answerable else {REFUSED: float(refused)}
    )
    if question.answerable and question.answers:
        text = "" if refused else without_citations(run.text)
        values[EXACT] = answer_metrics.exact_match(text, question.answers)
        values[TOKEN_F1] = answer_metrics.token_f1(text, question.answers)
        values[CONTAINS] = answer_metrics.contains_reference(text, question.answers)
    sentences: Sequence[AttributedSentence] = ()
    if not refused:
        sentences = (await attribution(run, embed)).sentences
        unknown = sum(not mark.known for mark in run.check.citations)
        values[CITATION_RECALL] = answer_metrics.citation_recall(sentences)
        values[CITATION_PRECISION] = answer_metrics.citation_precision(sentences, unknown)
    return replace(
        _result(question, run),
        values={name: value for name, value in values.items() if value is not None},
        sentences=tuple(map(_measured_sentence, sentences)),
    )


def _measured_sentence(sentence: AttributedSentence) -> MeasuredSentence:
    return MeasuredSentence(
        text=sentence.text,
        supported=answer_metrics.supports(sentence.citations),
        cited=tuple(
            CitedSource(
                number=cell.source, supports=answer_metrics.supports([cell]), start=cell.start, end=cell.end
            )
            for cell in sentence.citations
        ),
    )


def _refused(run: Run) -> bool:
    return run.answer is not None and run.answer.kind is AnswerKind.NOT_FOUND


def _result(question: Question, run: Run) -> AnsweredQuestion:
    usage = run.usage
    return AnsweredQuestion(
        id=question.id,
        question=question.text,
        answer=run.text,
        refused=_refused(run),
        documents=tuple(source.passage.place.page for source in run.sources),
        titles=tuple(source.title for source in run.sources),
        sources=tuple(source.text for source in run.sources),
        notes=tuple(map(str, run.notices)),
        tokens=usage.total_tokens if usage else 0,
        cost=usage.cost if usage else None,
        seconds=run.seconds,
    )
