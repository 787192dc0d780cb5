"""Score how well each sentence supports an answer, without a chat model.

    support = closeness + 0.6 * coverage by the passage + 0.2 * coverage by the sentence

Closeness is the cosine between question and sentence, scaled so that unrelated sentences are at 0 and the question
itself is at 1. Embedders whose cosines are all between 0.7 and 0.9 then count like others. Coverage is the share of the
question's words that occur, weighted by the square root of how far the question's vector moves without the word. This
needs no list of stop words in any language, and a missing name weighs more than a missing "how".

Support is coverage alone if cosines say nothing. That is so without vectors, and words are then weighted by length. It
is also so if the embedder does not know the language: even the least similar of many sentences is then far more similar
to the question than unrelated sentences are.

A sentence in another language than the question shares few words with it. If the embedder reads both languages,
coverage counts `WORDS_ACROSS` of what it counts otherwise, and `ENOUGH_ACROSS` is scaled to `ENOUGH`. The closeness of
a sentence below a heading is at least the mean of both, because a heading often is the question in other words.

The weights and limits were set on labelled questions. docs/decisions/0003-abstention.md has the figures, and 0074 the
figures across languages.
"""

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.model import Source
from core.ports import Embed
from core.stages.embedding.batching import embed_in_batches
from core.text.content_words import JOINED_WORDS, WordsOfText
from core.text.language import dominant_language
from core.text.markdown.cited_sentences import read_sentences
from core.text.sentences import LABELLED_ROW
from core.text.tokenization import UNSPACED

ENOUGH = 0.75
"""The minimum support of the best sentence for a quoted answer. Below it the sources hold no answer."""

ENOUGH_BY_WORDS = 0.45
"""The minimum support if support is coverage alone."""

ENOUGH_ACROSS = 0.24
"""The minimum support of a sentence in another language than the question, before it is scaled to `ENOUGH`."""

MATCHED_IN_PART = 0.85
"""The share of a minimum that suffices where words are joined or not divided, because coverage counts whole words."""

WORDS_ACROSS = 0.5
"""The factor of coverage across languages, which share names and technical terms."""

_UNRELATED_SPREAD = 0.2
"""The least similar sentence's closeness from which the embedder is assumed not to know the language."""
_FEWEST_SENTENCES = 8
"""The minimum number of sentences for that test."""

_PASSAGE_WEIGHT, _SENTENCE_WEIGHT = 0.6, 0.2
_FULL_COVERAGE = _PASSAGE_WEIGHT + _SENTENCE_WEIGHT
_SHORTEST = 20
"""The minimum characters of a quotable sentence."""
_FEWEST_BARS = 2
"""The number of vertical bars from which a sentence is a table row, which is not quoted."""
_LONGEST_HEADING = 100
"""The fewest characters of a line that is no heading."""
_NAVIGATION = re.compile(
    r"\W*(?:see also|read (?:more|also|next)|related (?:articles?|pages?|topics?|links?|posts?)|further reading"
    r"|siehe auch|mehr zum thema|weiterlesen|voir aussi|à lire aussi|lire la suite|véase también|leer más"
    r"|vedi anche|leggi anche|veja também|leia mais|zie ook|lees (?:ook|meer)|zobacz też|смотрите также|см\. также"
    r"|参见|另见|関連項目)\s*(?:[:：\u2013\u2014-]|\Z)",
    re.IGNORECASE,
)
"""The beginning of a line that only leads to other pages."""
_MOST_SENTENCES = 200
"""The maximum number of embedded sentences. The sentences with the best coverage are chosen."""
_MOST_WORDS = 24
"""The maximum number of question words that are weighted. The longest are chosen."""

# Unrelated sentences: their mean cosine to a question is the embedder's level for unrelated text.
_UNRELATED = (
    "The train to the coast leaves every morning from platform four.",
    "She planted tomatoes and basil along the southern wall.",
    "The committee approved the budget after a short debate.",
    "Heavy rain is expected in the mountains tonight.",
    "He bought a second-hand bicycle and repaired its brakes.",
    "The orchestra rehearsed the symphony for three hours.",
    "Most customers pay by card rather than in cash.",
    "The castle was rebuilt in the fifteenth century.",
    "Enzymes lower the energy that a reaction needs.",
    "Our team lost the final by a single goal.",
    "The file could not be opened because it was damaged.",
    "Fresh bread smells best straight from the oven.",
)

_UNDIVIDED = frozenset(("ja", "km", "lo", "my", "th", "zh"))
"""Languages without blanks between words. Chinese was measured."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """A sentence at `start:end` of the text of `sources[source]`, with its support.

    `text` is the sentence without Markdown marks. `language` is the ISO 639-1 code if the language is known and is not
    the question's.
    """

    source: int
    start: int
    end: int
    text: str
    score: float
    language: str = ""


@dataclass(frozen=True, slots=True)
class SentenceScores:
    """The quotable sentences of the sources, best first, and the minimum score for quoting.

    `usual` is that minimum in a language that divides all words. Doubt is measured from it.
    """

    sentences: tuple[ScoredSentence, ...]
    enough: float
    usual: float


async def score_sentences(question: str, sources: Sequence[Source], embed: Embed) -> SentenceScores:
    """Score sentences by meaning and by words.

    Raises:
        EmbedFailed: when the embedder fails.
    """
    language = dominant_language(source.text for source in sources)
    words = _words_of(question)
    candidates = sorted(_with_coverage(sources, words, _by_length(words), language), key=_best_first)[
        :_MOST_SENTENCES
    ]
    if not candidates:
        return SentenceScores((), ENOUGH, ENOUGH)
    texts = [question, *_UNRELATED, *words.values(), *(sentence.text for sentence in candidates)]
    vectors = await embed_in_batches(texts, embed)
    cosine = np.vecdot(vectors, vectors[0]).astype(np.float64)
    unrelated, moved, close = np.split(cosine[1:], [len(_UNRELATED), len(_UNRELATED) + len(words)])
    importance = np.sqrt(np.maximum(1 - moved, 1e-4))
    covered = {
        (sentence.source, sentence.start): sentence.score
        for sentence in _with_coverage(sources, words, importance / importance.sum(), language)
    }
    coverage = np.array([covered[sentence.source, sentence.start] for sentence in candidates])
    base = unrelated.mean()
    closeness = (close - base) / max(1 - base, 1e-3)
    other = _other_languages(question, sources, embed.languages)
    if any(other):
        candidates = [replace(sentence, language=other[sentence.source]) for sentence in candidates]
        across = np.array([bool(sentence.language) for sentence in candidates])
        headings = [_heading_above(sources[sentence.source].text, sentence.start) for sentence in candidates]
        of_heading = await _closeness(headings, embed, vectors[0], base)
        near = np.maximum(closeness, (closeness + of_heading) / 2) + WORDS_ACROSS * coverage
        support = np.where(across, near * (ENOUGH / ENOUGH_ACROSS), closeness + coverage)
        return _sorted(candidates, support, ENOUGH)
    if len(candidates) >= _FEWEST_SENTENCES and closeness.min() > _UNRELATED_SPREAD:
        return _sorted(candidates, coverage / _FULL_COVERAGE, ENOUGH_BY_WORDS, language)
    return _sorted(candidates, closeness + coverage, ENOUGH, language)


def _heading_above(text: str, start: int) -> str:
    """Return the nearest line above an offset that is a heading, or ""."""
    above = text[:start].split("\n\n")[:-1]
    lines = (line.strip("#* \t") for block in reversed(above) for line in reversed(block.splitlines()))
    return next((line for line in lines if 0 < len(line) < _LONGEST_HEADING and line[-1].isalnum()), "")


async def _closeness(texts: Sequence[str], embed: Embed, question: Floats, base: float) -> Floats:
    """Return the closeness of each text to the question's vector. An empty text has -1."""
    distinct = list(dict.fromkeys(filter(None, texts)))
    vectors = await embed_in_batches(distinct, embed) if distinct else ()
    values = {
        text: (float(vector @ question) - base) / max(1 - base, 1e-3)
        for text, vector in zip(distinct, vectors, strict=True)
    }
    return np.array([values.get(text, -1.0) for text in texts])


def _other_languages(question: str, sources: Sequence[Source], read: Set[str]) -> list[str]:
    """Return the languages of sources in another language.

    A source has "" if its language is unknown or the question's, or if the embedder does not `read` both.
    """
    question_language = dominant_language([question])
    if len(read) < 2 or question_language not in read:
        return [""] * len(sources)
    languages = (dominant_language([source.text]) for source in sources)
    return [language if language in read and language != question_language else "" for language in languages]


def score_sentences_by_words(question: str, sources: Sequence[Source]) -> SentenceScores:
    """Score sentences by word coverage alone, from 0 to 1. This needs no vectors."""
    words = _words_of(question)
    language = dominant_language(source.text for source in sources)
    candidates = tuple(_with_coverage(sources, words, _by_length(words), language))
    coverage = np.array([sentence.score for sentence in candidates])
    return _sorted(candidates, coverage / _FULL_COVERAGE, ENOUGH_BY_WORDS, language)


def _sorted(
    sentences: Sequence[ScoredSentence], values: Floats, usual: float, language: str = ""
) -> SentenceScores:
    scored = (
        replace(sentence, score=float(value)) for sentence, value in zip(sentences, values, strict=True)
    )
    in_part = language in JOINED_WORDS or language in _UNDIVIDED
    enough = usual * (MATCHED_IN_PART if in_part else 1)
    return SentenceScores(tuple(sorted(scored, key=_best_first)), enough, usual)


def _best_first(sentence: ScoredSentence) -> tuple[float, int, int]:
    return -sentence.score, sentence.source, sentence.start


def _with_coverage(
    sources: Sequence[Source], words: Iterable[str], weights: Floats, language: str
) -> Iterator[ScoredSentence]:
    """Yield the sentences scored by word coverage."""
    question_words = list(words)

    def coverage(text: str) -> float:
        sentence = WordsOfText(text, language)
        shares = (sentence.share_of(word) for word in question_words)
        return float(sum(weight * share for weight, share in zip(weights, shares, strict=True)))

    for position, source in enumerate(sources):
        text = source.text
        passage = coverage(f"{source.title}\n{text}")
        claims = read_sentences(text)
        # An overlap may have cut the first sentence. A collection's passage has no page to complete it from.
        cut = len(claims) > 1 and claims[0].text[:1].islower()
        for claim in claims[cut:]:
            if _is_quotable(claim.text) and text.count("|", claim.start, claim.end) < _FEWEST_BARS:
                total = _PASSAGE_WEIGHT * passage + _SENTENCE_WEIGHT * coverage(claim.text)
                yield ScoredSentence(position, claim.start, claim.end, claim.text, total)


def _is_quotable(sentence: str) -> bool:
    """Check that the sentence is a statement. Headings, questions, fragments and links to other pages are not."""
    bare = sentence.rstrip("\"'”’»)]* ")
    shortest = _SHORTEST if sentence.isascii() else _SHORTEST // 2  # other scripts say more in a character
    heading = (
        len(sentence) < _LONGEST_HEADING
        and bare.isascii()
        and bare[-1:].isalnum()
        and not LABELLED_ROW.match(sentence)
    )
    return (
        len(sentence) >= shortest
        and not heading
        and bare[-1:] not in "?？؟"
        and not _NAVIGATION.match(sentence)
    )


@cache
def _word_pattern() -> Any:
    import regex  # the standard library's \\w leaves out the vowel signs of Indic scripts

    letters = rf"[\p{{L}}\p{{M}}\p{{N}}--[{UNSPACED}]]+"
    return regex.compile(rf"[{UNSPACED}]+|{letters}(?:[-.'’]{letters})*", regex.V1)


def _words_of(question: str) -> dict[str, str]:
    """Map each question word, or run of a script without spaces, to the question without it."""
    without: dict[str, str] = {}
    for word in _word_pattern().finditer(question):
        rest = f"{question[: word.start()]} {question[word.end() :]}"
        without.setdefault(word[0], " ".join(rest.split()) or word[0])
    longest = sorted(without, key=len, reverse=True)[:_MOST_WORDS]
    return {word: without[word] for word in longest} or {question: question}


def _by_length(words: Iterable[str]) -> Floats:
    weights = np.maximum([len(word) - 3.0 for word in words], 0.1)
    return np.asarray(weights / weights.sum())
