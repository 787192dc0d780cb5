"""Score how well each sentence supports an answer, without a chat model.

    support = closeness + 0.6 * coverage by the passage + 0.2 * coverage by the sentence

Closeness is the cosine between question and sentence, scaled so that unrelated sentences are at 0 and the question
itself is at 1. Embedders whose cosines are all between 0.7 and 0.9 then count like others. Coverage is the share of the
question's words that occur, weighted by the square root of how far the question's vector moves without the word. This
needs no list of stop words in any language, and a missing name weighs more than a missing "how".

Support is coverage alone if cosines say nothing:

- Without vectors. Words are then weighted by length.
- If even the least similar of many sentences is far more similar to the question than unrelated sentences are. The
  embedder then does not know the language.
- If the embedder names its languages, without that of the sources. Words are then also weighted by their rarity among
  the sentences. This is not so in languages that join words or divide none, where whole words match too seldom.

A sentence in another language than the question shares few words with it. If the embedder reads both languages,
coverage counts `WORDS_ACROSS` of what it counts otherwise, and `ENOUGH_ACROSS` is scaled to `ENOUGH`. The closeness of
a sentence below a heading is at least the mean of both, because a heading often is the question in other words.

The weights and limits were set on labelled questions. docs/decisions/0003-abstention.md has the figures, and 0074 the
figures across languages.
"""

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.model import Source
from core.ports import Embed
from core.stages.embedding.batching import embed_in_batches
from core.text.content_words import JOINED_WORDS, WordsOfText, function_words
from core.text.language import dominant_language
from core.text.markdown.cited_sentences import read_sentences
from core.text.sentences import LABELLED_ROW
from core.text.tokenization import UNSPACED

ENOUGH = 0.75
"""The minimum support of the best sentence for a quoted answer. Below it the sources hold no answer."""

ENOUGH_BY_WORDS = 0.45
"""The minimum support if support is coverage alone."""

ENOUGH_BY_RARE_WORDS = 0.33
"""The minimum support if support is coverage alone and words are also weighted by rarity.

It is lower, because a word that is missing is rarer than one that occurs.
"""

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
    sentences, shares = _quotable_sentences(sources, words, language)
    if not sentences:
        return SentenceScores((), ENOUGH, ENOUGH)
    rows = _rows_to_embed(sentences, shares.coverage(_by_length(words)))
    candidates = [sentences[row] for row in rows]
    texts = [question, *_UNRELATED, *words.values(), *(sentence.text for sentence in candidates)]
    vectors = await embed_in_batches(texts, embed)
    cosine = np.vecdot(vectors, vectors[0]).astype(np.float64)
    unrelated, moved, close = np.split(cosine[1:], [len(_UNRELATED), len(_UNRELATED) + len(words)])
    importance = np.sqrt(np.maximum(1 - moved, 1e-4))
    coverage = shares.coverage(importance)[rows]
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
    unread = bool(embed.languages and language) and language not in embed.languages
    if unread and not _is_matched_in_part(language):
        of_rare_words = shares.coverage(importance * shares.rarity())[rows]
        return _sorted(candidates, of_rare_words / _FULL_COVERAGE, ENOUGH_BY_RARE_WORDS, language)
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
    sentences, shares = _quotable_sentences(sources, words, language)
    if not sentences:
        return SentenceScores((), ENOUGH_BY_WORDS, ENOUGH_BY_WORDS)
    coverage = shares.coverage(_by_length(words))
    return _sorted(sentences, coverage / _FULL_COVERAGE, ENOUGH_BY_WORDS, language)


def _sorted(
    sentences: Sequence[ScoredSentence], values: Floats, usual: float, language: str = ""
) -> SentenceScores:
    scored = (
        replace(sentence, score=float(value)) for sentence, value in zip(sentences, values, strict=True)
    )
    enough = usual * (MATCHED_IN_PART if _is_matched_in_part(language) else 1)
    return SentenceScores(tuple(sorted(scored, key=_best_first)), enough, usual)


def _is_matched_in_part(language: str) -> bool:
    """Check that words are joined or not divided in a language."""
    return language in JOINED_WORDS or language in _UNDIVIDED


def _best_first(sentence: ScoredSentence) -> tuple[float, int, int]:
    return -sentence.score, sentence.source, sentence.start


@dataclass(frozen=True, slots=True)
class _Shares:
    """The share of each question word in each sentence and in its passage.

    Rows are sentences, columns are words.
    """

    of_passage: Floats
    of_sentence: Floats
    is_function_word: NDArray[np.bool_]

    def coverage(self, weights: Floats) -> Floats:
        """Return the coverage of each sentence, at most `_FULL_COVERAGE`."""
        shares = _PASSAGE_WEIGHT * self.of_passage + _SENTENCE_WEIGHT * self.of_sentence
        covered: Floats = shares @ (weights / weights.sum())
        return covered

    def rarity(self) -> Floats:
        """Return the inverse document frequency of each word among the sentences.

        It is smoothed as if one of `_FEWEST_SENTENCES` more had the word, because few sentences tell little of it. A
        function word counts as if all had it, because a "how" is rare in statements.
        """
        number = len(self.of_sentence) + _FEWEST_SENTENCES
        having = np.where(self.is_function_word, number, 1 + self.of_sentence.sum(axis=0))
        rare: Floats = np.log(1 + number / having)
        return rare


def _quotable_sentences(
    sources: Sequence[Source], words: Iterable[str], language: str
) -> tuple[list[ScoredSentence], _Shares]:
    """Return the sentences that can be quoted, unscored, with their shares."""
    question_words = list(words)

    def shares(text: str) -> list[float]:
        own = WordsOfText(text, language)
        return [own.share_of(word) for word in question_words]

    sentences: list[ScoredSentence] = []
    of_passage, of_sentence = [], []
    for position, source in enumerate(sources):
        text = source.text
        passage = shares(f"{source.title}\n{text}")
        claims = read_sentences(text)
        # An overlap may have cut the first sentence. A collection's passage has no page to complete it from.
        cut = len(claims) > 1 and claims[0].text[:1].islower()
        for claim in claims[cut:]:
            if _is_quotable(claim.text) and text.count("|", claim.start, claim.end) < _FEWEST_BARS:
                sentences.append(ScoredSentence(position, claim.start, claim.end, claim.text, 0.0))
                of_passage.append(passage)
                of_sentence.append(shares(claim.text))
    idle = np.array([word.casefold() in function_words(language) for word in question_words])
    return sentences, _Shares(np.array(of_passage), np.array(of_sentence), idle)


def _rows_to_embed(sentences: Sequence[ScoredSentence], coverage: Floats) -> list[int]:
    """Return the rows of the best covered sentences, best first."""

    def best_first(row: int) -> tuple[float, int, int]:
        return -coverage[row], sentences[row].source, sentences[row].start

    return sorted(range(len(sentences)), key=best_first)[:_MOST_SENTENCES]


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
