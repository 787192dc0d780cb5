"""Names that a cited source lacks, and sentences that say the opposite of what supports them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from core.model import Sentence
from core.text.bm25_index import tokens
from core.text.content_words import content_words
from core.text.facts.named_facts import MOST_SENTENCES, claimed_facts
from core.text.language import dominant_language
from core.text.sentences import sentences as sentence_spans

NOUNS_HAVE_CAPITALS = frozenset({"de"})
"""Languages in which a capital letter makes no name."""
_LEAST_SHARED = 0.6
"""The share of a sentence's content words in the sentence that supports it, from which both are compared."""
_LEAST_WORDS = 3
"""The fewest shared content words for that comparison."""
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|neither|nor|nobody|nothing|cannot|without|hardly|scarcely)\b|n[’']t\b"
    r"|\b(?:fail(?:s|ed)? to|lack(?:s|ed)?|unable to|rather than|instead of)\b",
    re.IGNORECASE,
)
_NO_NEGATION = re.compile(r"\bnot only\b|\bno (?:longer|doubt|matter)\b|\bwhether or not\b", re.IGNORECASE)
_OPPOSITES = (
    ("more greater higher larger bigger longer", "less fewer lower smaller shorter"),
    ("most highest largest biggest longest maximum", "least fewest lowest smallest shortest minimum"),
    ("increase increases increased increasing rise rises rose raised raises raise grow grows grew growing gain gains",
     "decrease decreases decreased decreasing fall falls fell lower lowers lowered reduce reduces reduced reducing "
     "decline declines declined shrink shrinks shrank loss loses"),
    ("before earlier precedes preceded", "after later follows followed"),
    ("above over exceeds", "below under"),
    ("first", "last"),
    ("always", "never"),
    ("all every", "no none"),
    ("many", "few"),
    ("faster quicker fast", "slower slow"),
    ("better best improve improves improved", "worse worst worsen worsens worsened degrade degrades degraded"),
    ("strong stronger strengthens", "weak weaker weakens"),
    ("hot hotter warm warmer warming", "cold colder cool cooler cooling"),
    ("early", "late"), ("new newer", "old older"), ("high", "low"), ("large big", "small"), ("long", "short"),
    ("positive positively", "negative negatively"), ("possible", "impossible"), ("likely", "unlikely"),
    ("include includes included", "exclude excludes excluded"), ("accept accepts accepted", "reject rejects rejected"),
    ("begin begins began start starts started", "end ends ended stop stops stopped"),
    ("cause causes caused promote promotes promoted", "prevent prevents prevented inhibit inhibits inhibited"),
    ("allow allows allowed permit permits permitted", "forbid forbids forbidden prohibit prohibits prohibited"),
    ("true", "false"), ("safe", "dangerous unsafe"), ("easy easier", "hard harder difficult"),
    ("cheap cheaper", "expensive dearer"), ("rich", "poor"), ("open opens opened", "closed closes"),
    ("north northern", "south southern"), ("east eastern", "west western"), ("left", "right"),
    ("upper", "lower"), ("inside within", "outside"), ("win wins won", "lose loses lost"),
)  # fmt: skip
"""Words and their opposites in English."""
_WORD = re.compile(r"[^\W\d_]+")
_WRITTEN = re.compile(r"[^\W\d_][\w’'-]*")
_MOST_LONGER = 2.0
"""The most content words of a supporting sentence, as a multiple of the claim's. A longer one says more than one thing."""


@dataclass(frozen=True, slots=True)
class ClaimDoubt:
    """A doubt about a sentence of an answer. Either `names` or `opposite` is empty."""

    sentence: Sentence
    names: tuple[str, ...] = ()
    """Names, as written, that no cited source has."""
    opposite: str = ""
    """The sentence of a cited source that says the opposite."""


@lru_cache(maxsize=32)
def claim_doubts(
    sentences: tuple[Sentence, ...], sources: tuple[tuple[int, str], ...]
) -> tuple[ClaimDoubt, ...]:
    """Return the doubts about sentences that cite a source.

    Args:
        sentences: those of an answer. Up to `MOST_SENTENCES` are read.
        sources: the number and the text of each source, with its title and its surroundings.
    """
    texts = {number: _SourceText(text) for number, text in sources}
    return tuple(doubt for sentence in sentences[:MOST_SENTENCES] for doubt in _doubts(sentence, texts))


class _SourceText:
    """A source's words and sentences, read when they are needed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.language = dominant_language([text])
        self.words = frozenset(tokens(text, self.language)) | frozenset(tokens(text, ""))
        self.initials = cache(lambda: _initials(text))
        self.sentences = cache(lambda: [_Statement(text[start:end]) for start, end in sentence_spans(text)])


class _Statement:
    """An English sentence with its content words, its negations and its words."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.stems = frozenset(stem for word in content_words(text, "en") for stem in tokens(word, "en"))
        self.words = frozenset(word.casefold() for word in _WORD.findall(text))
        self.is_negated = len(_NEGATION.findall(_NO_NEGATION.sub(" ", text))) % 2 == 1


def _doubts(sentence: Sentence, texts: Mapping[int, _SourceText]) -> Iterator[ClaimDoubt]:
    cited = [texts[number] for number in sentence.cites if number in texts]
    if not cited:
        return
    language = dominant_language([sentence.text])
    if not language or any(source.language not in ("", language) for source in cited):
        return  # names and opposites differ between languages
    if language not in NOUNS_HAVE_CAPITALS and (names := unknown_names(sentence.text, cited, language)):
        yield ClaimDoubt(sentence, names=names)
    if language == "en" and (opposite := opposite_of(sentence.text, cited)):
        yield ClaimDoubt(sentence, opposite=opposite)


def unknown_names(claim: str, sources: Sequence[_SourceText], language: str) -> tuple[str, ...]:
    """Return the names of a claim that no source has, as written.

    An abbreviation is known if the initials of neighbouring words of a source, or of the claim, are its letters.
    """
    written = {
        word.casefold().removesuffix("’s").removesuffix("'s"): word for word in _WRITTEN.findall(claim)
    }
    names = sorted(claimed_facts(claim).names, key=claim.casefold().find)
    return tuple(
        written.get(name, name)
        for name in names
        if len(name) > 1
        and not any(_has(source, written.get(name, name), language) for source in sources)
        and name not in _initials(claim)
    )


def _has(source: _SourceText, name: str, language: str) -> bool:
    """Return whether a source has each part of a name that has a capital letter, in any of its forms."""
    parts = [part for part in re.split(r"[-’'_]", name) if not part.islower()] or [name]
    return all(
        all(word in source.words for word in tokens(part, ""))
        or all(stem in source.words for stem in tokens(part, language))
        or (len(part) > 2 and part.casefold() in source.initials())
        for part in parts
    )


def _initials(text: str) -> str:
    return "".join(word[0] for word in _WORD.findall(text)).casefold()


def opposite_of(claim: str, sources: Sequence[_SourceText]) -> str:
    """Return the sentence of a source that shares most of the claim's words and says the opposite, or ""."""
    said = _Statement(claim)
    if len(said.stems) < _LEAST_WORDS:
        return ""
    nearest = max(
        (
            statement
            for source in sources
            for statement in source.sentences()
            if len(statement.stems) <= _MOST_LONGER * len(said.stems)
        ),
        key=lambda statement: len(said.stems & statement.stems),
        default=None,
    )
    if nearest is None:
        return ""
    shared = len(said.stems & nearest.stems)
    if shared < max(_LEAST_WORDS, _LEAST_SHARED * len(said.stems)):
        return ""
    turned = said.is_negated != nearest.is_negated
    swapped = any(
        (said.words & one and nearest.words & other and not said.words & other and not nearest.words & one)
        for pair in _pairs()
        for one, other in (pair, pair[::-1])
    )
    return nearest.text if turned != swapped else ""


@cache
def _pairs() -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    return tuple((frozenset(one.split()), frozenset(other.split())) for one, other in _OPPOSITES)
