"""Add missing terms of the conversation to a follow-up, without a chat model."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from core.model import Exchange
from core.text.bm25_index import tokens
from core.text.content_words import content_words, phrases
from core.text.language import dominant_language
from core.text.markdown.citations import without_citations
from core.text.questions import QUESTION_LIMIT
from core.text.tokenization import UNSPACED, words

MOST_TERMS = 5
"""The maximum number of added terms."""

_FEW_WORDS = 2
"""The maximum content words of a follow-up that always depends on its context."""
_LEAST_SHARE = 0.3
"""The minimum salience of an added term, as a share of the highest salience."""
_NAME_WEIGHT = 8.0
"""The weight of a word with a digit or an inner capital, such as an acronym."""
_IN_ANSWER = 1.5
"""The factor for a word that is also in the latest answer, because the conversation is about it."""

_REFERENCES = {
    "de": "beide beiden dabei dadurch dafür dagegen damit danach daran darauf daraus darin davon dazu derselbe dessen "
    "dies diese diesem diesen dieser dieses dort er ihm ihn ihr ihre ihrem ihren ihrer sein seine sie solche solchen "
    "sonst stattdessen",
    "en": "both former he her him his instead it its latter neither ones otherwise same she such that their them these "
    "they this those",
}
"""Words that refer to something mentioned before."""
_OPENERS = {"de": "aber also dann denn oder und", "en": "also and because but or so then"}
"""Words at the beginning of a sentence that continues another sentence."""
_ABOUT = {
    "de": ("Zu ", " und "),
    "en": ("About ", " and "),
    "es": ("Sobre ", " y "),
    "fr": ("Sur ", " et "),
    "it": ("Su ", " e "),
    "nl": ("Over ", " en "),
    "pt": ("Sobre ", " e "),
}
"""The words before the terms, and between the last two terms. Other languages have only the terms."""
_UNSPACED_REFERENCES = re.compile("[它他她这這那该該]|呢[？?]?$|それ|その|そこ|これ|この|では|じゃ")
_UNSPACED_TEXT = re.compile(f"[{UNSPACED}]")
_LAST_STOPS = " .!?…。！？؟।"


def expanded_question(follow_up: str, history: Sequence[Exchange]) -> str:
    """Prefix the follow-up with terms of earlier questions. Example: "About chunk overlap: what does it cost?".

    The earlier questions are the latest question and, while a question depends on its context too, the question before
    it. A term is a phrase (`core.text.content_words.phrases`) with a word that the follow-up lacks. Its salience is the
    sum of its words' weights. A conversation has no collection for inverse document frequencies, so a word's weight is
    its length, because rare words are long (Zipf 1935). If the questions have no terms, the latest answer's terms are
    used. In scripts without spaces the term is the latest question itself. A follow-up that does not depend on its
    context is returned unchanged.
    """
    language = dominant_language([follow_up, *(exchange.question for exchange in history)])
    if not history or not depends_on_context(follow_up, language):
        return follow_up
    latest = history[-1]
    answer = without_citations(latest.answer)
    if _UNSPACED_TEXT.search(latest.question):
        terms = [latest.question.strip(_LAST_STOPS)]
    else:
        context = list(_context_questions(history, language))
        terms = _salient(follow_up, context, answer, language) or _salient(follow_up, [answer], "", language)
    named: list[str] = []
    for term in terms:
        if len(_about([*named, term], follow_up, language)) <= QUESTION_LIMIT:
            named.append(term)
    return _about(named, follow_up, language) if named else follow_up


def _about(terms: Sequence[str], follow_up: str, language: str) -> str:
    """Prefix the follow-up with the terms. A first word that continues another sentence is dropped."""
    before, last = _ABOUT.get(language, ("", ", "))
    *first, final = terms
    subject = f"{', '.join(first)}{last}{final}" if first else final
    opener, _, rest = follow_up.partition(" ")
    continues = opener.strip(",").casefold() in _OPENERS.get(language, "").split()
    question = rest.lstrip() if continues and rest.strip(_LAST_STOPS) else follow_up
    if language == "en" and question[1:2].islower():
        question = question[0].lower() + question[1:]
    return f"{before}{subject}: {question}"


def depends_on_context(question: str, language: str) -> bool:
    """Check that a question depends on its context. It refers back, continues a sentence or has few content words."""
    if _UNSPACED_TEXT.search(question):
        return bool(_UNSPACED_REFERENCES.search(question.strip()))
    in_order = words(question)
    return (
        len(content_words(question, language)) <= _FEW_WORDS
        or in_order[0] in _OPENERS.get(language, "").split()
        or refers_back(question, language)
    )


def refers_back(text: str, language: str) -> bool:
    """Check for a pronoun or a similar reference."""
    return not set(_REFERENCES.get(language, "").split()).isdisjoint(words(text))


def _context_questions(history: Sequence[Exchange], language: str) -> Iterator[str]:
    """Yield the latest question and its context questions, latest first."""
    for exchange in reversed(history):
        yield exchange.question
        if not depends_on_context(exchange.question, language):
            return


def _salient(follow_up: str, texts: Iterable[str], answer: str, language: str) -> list[str]:
    """Find the most salient terms that the follow-up lacks. They are in order, and each adds a new word."""
    known, in_answer = set(tokens(follow_up, language)), set(tokens(answer, language))
    salience: defaultdict[str, float] = defaultdict(float)
    for text in texts:
        for phrase in phrases(text, language):
            for word in phrase.split():
                if not known.issuperset(stems := tokens(word, language)):
                    salience[phrase] += _weight(word) * (_IN_ANSWER if in_answer.issuperset(stems) else 1)
    chosen = set[str]()
    for phrase in sorted(salience, key=salience.__getitem__, reverse=True)[:MOST_TERMS]:
        stems = tokens(phrase, language)
        if not known.issuperset(stems) and salience[phrase] >= _LEAST_SHARE * max(salience.values()):
            chosen.add(phrase)
            known.update(stems)
    return [phrase for phrase in salience if phrase in chosen]


def _weight(word: str) -> float:
    written = [character for character in word if character.isalnum()]
    is_name = len(written) > 1 and any(
        character.isdigit() or character.isupper() for character in written[1:]
    )
    return _NAME_WEIGHT if is_name else max(len(written) - 3.0, 0.1)
