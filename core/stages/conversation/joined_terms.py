"""A follow-up that depends on its conversation, joined with the terms that it lacks: what is done without a chat model."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from core.config.questions import QUESTION_LIMIT
from core.model import Exchange
from core.text.bm25_index import tokens
from core.text.content_words import content_words, phrases
from core.text.language import dominant_language
from core.text.markdown.citations import without_citations
from core.text.tokenization import UNSPACED, words

MOST_TERMS = 5
"""The most terms that are added."""

_FEW_WORDS = 2
"""A follow-up with no more content words than these depends on its context."""
_LEAST_SHARE = 0.3
"""The least salience of a term that is added, as a share of the highest."""
_NAME_WEIGHT = 8.0
"""The weight of a word with a digit or an inner capital, such as an acronym."""
_IN_ANSWER = 1.5
"""The factor for a word that the latest answer has too: it is what the conversation is about."""

_REFERENCES = {
    "de": "beide beiden dabei dadurch dafür dagegen damit danach daran darauf daraus darin davon dazu derselbe dessen "
    "dies diese diesem diesen dieser dieses dort er ihm ihn ihr ihre ihrem ihren ihrer sein seine sie solche solchen "
    "sonst stattdessen",
    "en": "both former he her him his instead it its latter neither ones otherwise same she such that their them these "
    "they this those",
}
"""Words that stand for something named before."""
_OPENERS = {"de": "aber also dann denn oder und", "en": "also and because but or so then"}
"""Words that begin a sentence which continues another one."""
_ABOUT = {
    "de": ("Zu ", " und "),
    "en": ("About ", " and "),
    "es": ("Sobre ", " y "),
    "fr": ("Sur ", " et "),
    "it": ("Su ", " e "),
    "nl": ("Over ", " en "),
    "pt": ("Sobre ", " e "),
}
"""What stands before the terms, and between the last two of them. In other languages the terms stand alone."""
_UNSPACED_REFERENCES = re.compile("[它他她这這那该該]|呢[？?]?$|それ|その|そこ|これ|この|では|じゃ")
_UNSPACED_TEXT = re.compile(f"[{UNSPACED}]")
_LAST_STOPS = " .!?…。！？؟।"


def joined_question(follow_up: str, history: Sequence[Exchange]) -> str:
    """The follow-up with the most salient terms of the questions that it depends on, as "About chunk overlap: what does it cost?".

    These questions are the latest one and, as long as one depends on its context too, the one before it. A term is a
    phrase (`core.text.content_words.phrases`) with a word that the follow-up lacks; its salience is the sum of its
    words' weights. A conversation has no collection to take inverse document frequencies from, so a word weighs as
    much as it is long, for rare words are long (Zipf 1935). Where the questions have nothing, the terms are the latest
    answer's. In scripts without spaces the term is the latest question itself. A follow-up that stands alone is
    returned as it is.
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
    """The follow-up after what it is about, without the word that continues another sentence."""
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
    """Whether a question refers to something named before it, continues a sentence, or has few words of content."""
    if _UNSPACED_TEXT.search(question):
        return bool(_UNSPACED_REFERENCES.search(question.strip()))
    in_order = words(question)
    return (
        len(content_words(question, language)) <= _FEW_WORDS
        or in_order[0] in _OPENERS.get(language, "").split()
        or refers_back(question, language)
    )


def refers_back(text: str, language: str) -> bool:
    """Whether a text has a word that stands for something named before it, such as a pronoun."""
    return not set(_REFERENCES.get(language, "").split()).isdisjoint(words(text))


def _context_questions(history: Sequence[Exchange], language: str) -> Iterator[str]:
    """The latest question and those that it depends on, latest first."""
    for exchange in reversed(history):
        yield exchange.question
        if not depends_on_context(exchange.question, language):
            return


def _salient(follow_up: str, texts: Iterable[str], answer: str, language: str) -> list[str]:
    """The most salient terms of the texts that the follow-up lacks, in order, none made of the words of others."""
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
