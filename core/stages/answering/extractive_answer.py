"""Quote the sentences of the sources that best answer the question."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.config.knobs import AnswerKnobs, Length
from core.errors import EmbedFailed
from core.model import Answer, AnswerKind, Phase, Severity, Source
from core.ports import Embed
from core.run.events import Emit, Note, TokensWritten
from core.stages.answering.answer_prompt import NOT_FOUND
from core.stages.answering.answer_writer import AnswerWriter
from core.stages.answering.answerability import caveat
from core.stages.answering.asked_kind import asked_for
from core.stages.answering.sentence_scoring import ScoredSentence, score_sentences, score_sentences_by_words
from core.text.bm25_index import tokens
from core.text.content_words import content_words
from core.text.language import dominant_language, language_name
from core.text.markdown.citations import find_citations
from core.text.sanitize import one_line, truncate
from core.text.sentences import LABELLED_ROW
from core.text.urls import without_addresses

SENTENCES = {Length.SHORT: 2, Length.NORMAL: 4, Length.LONG: 8}
"""The maximum number of quoted sentences."""

QUOTE_LIMIT = 350
"""The maximum characters of a quotation. A longer sentence is cut at a clause."""

_SUPPORT_MARGIN = 0.5
"""The maximum distance of a quoted sentence's support from the best support."""
_SUPPORT_SHARE = 0.8
"""The minimum support of a quoted sentence, as a share of the threshold."""
_AS_GOOD = 0.13
"""The distance below the best support, as a share of the threshold, within which a sentence is quoted in any case.

A sentence further below has to add to the quotations before it.
"""
_DUPLICATE_JACCARD = 0.75
"""The Jaccard similarity of word sets from which two sentences count as duplicates and are quoted once."""

_LIST_MARK = re.compile(r"\A(?:[-*+•‣▪◦>|]+|\d{1,3}[.)]|#{1,6})\s+")
_IN_BRACKETS = re.compile(r"\[([^\[\]]*\d[^\[\]]*)\]")
_RUNS = re.compile(r"`{2,}|~{3,}")
_OPEN_TAG = re.compile(r"<(?=[A-Za-z/][^<>]*$)")


@dataclass(frozen=True, slots=True)
class _Quotation:
    text: str
    source: int
    start: int
    numbers: tuple[int, ...]
    language: str
    """The code of the sentence's language if the question has another language."""


async def extractive_answer(  # noqa: PLR0917  # a stage takes what it uses
    question: str,
    sources: Sequence[Source],
    knobs: AnswerKnobs,
    embed: Embed,
    emit: Emit,
    writer: AnswerWriter,
    *,
    seconds: float | None = None,
) -> Answer:
    """Quote the best-supported sentences through `writer`.

    A further sentence adds a word of the question or the kind of answer, or fits about as well as the best. Each has the
    numbers of its sources. The sources are ordered by relevance, and sentences within a source by
    position. A sentence in another language than the question is labelled with its language. If even the best sentence
    has too little support, the answer is that the sources hold none. A note precedes sentences that may not answer the
    question. Addresses in the question are no words of it. If `embed` fails or takes longer than `seconds`, sentences are scored by words.
    """
    question = without_addresses(question) or question
    waiting = asyncio.timeout(seconds)
    try:
        async with waiting:
            scores = await score_sentences(question, sources, embed)
    except (EmbedFailed, TimeoutError) as error:
        if isinstance(error, TimeoutError) and not waiting.expired():
            raise
        reason, hint = (
            (error.message, error.hint) if isinstance(error, EmbedFailed) else ("the time was over.", "")
        )
        by_words = f"Sentences were selected by matching words only: {reason}"
        emit(Note(Phase.ANSWER, by_words, hint, Severity.WARNING))
        scores = score_sentences_by_words(question, sources)
    if not scores.sentences or scores.sentences[0].score < scores.enough:
        emit(TokensWritten(NOT_FOUND))
        return Answer(kind=AnswerKind.NOT_FOUND, text=NOT_FOUND)
    if doubt := caveat(question, sources, scores):
        emit(doubt)
    previous = None
    least = max(scores.sentences[0].score - _SUPPORT_MARGIN, _SUPPORT_SHARE * scores.enough)
    worthy = [sentence for sentence in scores.sentences if sentence.score >= least]
    adds = _Additions(question, sources, scores.sentences[0].score - _AS_GOOD * scores.enough)
    for quotation in chosen(worthy, sources, SENTENCES[knobs.length], adds):
        gap = "" if previous is None else " " if previous == quotation.source else "\n\n"
        marks = "".join(f"[{number}]" for number in quotation.numbers)
        language = f"({language_name(quotation.language)}) " if quotation.language else ""
        writer.write(f"{gap}“{quotation.text}” {language}{marks}")
        previous = quotation.source
    writer.close()
    return Answer(kind=AnswerKind.EXTRACTIVE, text=writer.text)


class _Additions:
    """Finds sentences that add a word of the question, or the kind of the asked answer."""

    def __init__(self, question: str, sources: Sequence[Source], least: float) -> None:
        self._language = dominant_language([question]) or dominant_language(source.text for source in sources)
        words = content_words(question, self._language)
        self._stems = [frozenset(tokens(word, self._language)) for word in words]
        self._asked = asked_for(question, self._language)
        self._least = least
        """The support from which a sentence is quoted in any case."""
        self._covered: set[frozenset[str]] = set()
        self._is_stated = not self._asked.can_be_told_apart

    def admits(self, sentence: ScoredSentence) -> bool:
        """Admit a sentence that is better than `least` or adds. Words of another language cannot be compared."""
        text = frozenset(tokens(sentence.text, self._language))
        covered = {stems for stems in self._stems if stems <= text} - self._covered
        states = not self._is_stated and self._asked.is_stated_in(sentence.text)
        if not (covered or states or sentence.language or sentence.score >= self._least):
            return False
        self._covered |= covered
        self._is_stated = self._is_stated or states
        return True


def chosen(
    supported: Sequence[ScoredSentence], sources: Sequence[Source], most: int, adds: _Additions
) -> tuple[_Quotation, ...]:
    """Choose at most `most` quotations in reading order. Near-identical sentences are joined."""
    picked: list[_Quotation] = []
    words: list[frozenset[str]] = []
    for sentence in supported:
        number = sources[sentence.source].number
        own = frozenset(re.findall(r"\w+", sentence.text.casefold()))
        twin = next(
            (i for i, other in enumerate(words) if len(own & other) >= _DUPLICATE_JACCARD * len(own | other)),
            None,
        )
        if twin is not None:
            numbers = tuple(sorted({*picked[twin].numbers, number}))
            picked[twin] = replace(picked[twin], numbers=numbers)
        elif len(picked) < most and adds.admits(sentence):
            text = quotable(sentence.text)
            picked.append(_Quotation(text, sentence.source, sentence.start, (number,), sentence.language))
            words.append(own)
    order = list(dict.fromkeys(quotation.source for quotation in picked))
    return tuple(sorted(picked, key=lambda quotation: (order.index(quotation.source), quotation.start)))


def quotable(sentence: str) -> str:
    """Format the sentence as one quotable line.

    It has at most `QUOTE_LIMIT` characters. Its own footnote marks and list mark are removed, so that the quotation's
    number is the only citation. Markup that could hide the citation is neutralized.
    """
    text = _LIST_MARK.sub("", one_line(sentence, 10 * QUOTE_LIMIT))
    while marks := tuple(find_citations(text, None, superscripts=False)):
        text = text[: marks[-1].start].rstrip() + text[marks[-1].end :]
    text = _IN_BRACKETS.sub(r"(\1)", text)
    text = truncate(text.replace("“", "‘").replace("”", "’"), QUOTE_LIMIT)
    text = _RUNS.sub("'", text)
    text = text if text.count("`") % 2 == 0 else text.replace("`", "'")
    text = _OPEN_TAG.sub("‹", text)
    is_whole = not text[-1:].isalnum() or LABELLED_ROW.match(text)
    return text if is_whole else f"{text}…"
