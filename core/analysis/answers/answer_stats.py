"""Answer versions of a run, and counts of one answer: length, citations, sources, tokens, cost."""

from dataclasses import dataclass
from functools import lru_cache

from core.model import (
    Answer,
    AnswerKind,
    CitationCheck,
    Phase,
    Usage,
    is_left_out,
    snippet_numbers,
    source_numbers,
)
from core.run.state import AnswerVersion, Run
from core.stages.check import check
from core.text.facts.named_facts import unsupported_figures
from core.text.sanitize import estimated_tokens
from core.text.text_length import TextLength, text_length

CHECKED_CHARACTERS = 20_000
"""The most characters of an unfinished answer to check for citations, several times a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerStats:
    """Counts of one answer. `usage` is None if the provider reports none."""

    length: TextLength | None
    """None if the text was left out of a file."""
    sentences: int
    """0 if nothing was found."""
    sentences_cited: int
    """Sentences with at least one citation."""
    citations: int
    """Pairs of a sentence and a cited source, without snippets."""
    snippet_citations: int
    """Pairs of a sentence and a cited source that is only a search engine's snippet."""
    sources: int
    sources_cited: int
    context_tokens: int
    """Estimated tokens of the sources: four characters per token."""
    usage: Usage | None
    author: str
    unsupported: int
    """Numbers and dates missing in the sources of their sentence, or 0 for an unfinished answer."""
    unknown: tuple[int, ...]
    """Cited numbers without a source."""


def answer_stats(version: AnswerVersion) -> AnswerStats:
    """Count one answer with its sources."""
    characters = sum(len(source.text) for source in version.sources)
    cited = version.check.citation_counts
    snippets = snippet_numbers(version.sources)
    of_snippets = sum(count for number, count in cited.items() if number in snippets)
    sentences = () if version.answer.kind is AnswerKind.NOT_FOUND else version.check.sentences
    unsupported = unsupported_figures(sentences, version.sources) if version.answer.complete else ()
    return AnswerStats(
        length=None if is_left_out(version.answer.text) else text_length(version.answer.text),
        sentences=len(sentences),
        sentences_cited=sum(bool(sentence.cites) for sentence in sentences),
        citations=cited.total() - of_snippets,
        snippet_citations=of_snippets,
        sources=len(version.sources),
        sources_cited=len(cited),
        context_tokens=estimated_tokens(characters),
        usage=version.answer.usage,
        author=answer_author(version.answer),
        unsupported=sum(len(figures) for _, figures in unsupported),
        unknown=version.check.unknown,
    )


def versions(run: Run) -> tuple[AnswerVersion, ...]:
    """Return every complete answer of the run, oldest first. The current answer is the last."""
    current = current_version(run)
    return (*run.earlier_answers, current) if current else run.earlier_answers


def current_version(run: Run) -> AnswerVersion | None:
    """Return the run's complete answer, or None."""
    if run.answer is None:
        return None
    return AnswerVersion(answer=run.answer, sources=run.sources, check=run.check)


def partial_version(run: Run) -> AnswerVersion | None:
    """Return the run's answer, even if unfinished, or None before its first word."""
    if run.answer is not None or not run.text:
        return current_version(run)
    partial = Answer(kind=AnswerKind.WRITTEN, text=run.text, complete=False)
    return AnswerVersion(answer=partial, sources=run.sources, check=citation_check(run))


def citation_check(run: Run) -> CitationCheck:
    """Return the citations of the answer, or of the text so far up to `CHECKED_CHARACTERS`."""
    if run.answer:
        return run.check
    return _partial_check(run.text[:CHECKED_CHARACTERS], source_numbers(run.sources))


@lru_cache(maxsize=16)
def _partial_check(text: str, numbers: frozenset[int]) -> CitationCheck:
    return check(text, numbers)


def answer_author(answer: Answer | None) -> str:
    """Return the model's name or the way the answer was made, or "" without an answer."""
    if answer is None:
        return ""
    match answer.kind:
        case AnswerKind.WRITTEN:
            return answer.model
        case AnswerKind.EXTRACTIVE:
            return "extractive"
        case AnswerKind.NOT_FOUND:
            return answer.model or "no answer"


def answer_seconds(run: Run) -> float | None:
    """Return the seconds of the latest answer, or None. Retry waits do not count."""
    answered = run.answer is not None and Phase.ANSWER in run.timeline.phases
    return run.timeline.worked(Phase.ANSWER, run.seconds) if answered else None
