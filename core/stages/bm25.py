"""BM25 over an index's passages."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from core.model import Passage
from core.text.lexicon import Lexicon, Scores, tokens

_REMEMBERED = 8
"""Lexicons kept: turning a knob asks for the same passages again."""

_lexicons: OrderedDict[tuple[int, str], tuple[tuple[Passage, ...], Lexicon]] = OrderedDict()
_lock = Lock()


def bm25(question: str, passages: tuple[Passage, ...], language: str = "") -> Scores:
    """BM25 of each passage for the question, as `Lexicon.scores` has it: float32, 0 and up.

    `language` is an ISO 639-1 code that chooses the stemmer; empty, the passages' own words tell. The
    lexicon is remembered for the last few tuples of passages.
    """
    lexicon = _lexicon(passages, language)
    return lexicon.scores(dict.fromkeys(tokens(question, lexicon.language)))


def prepare_bm25(passages: tuple[Passage, ...]) -> None:
    """Read the words of the passages now, so that the first ranking by them has nothing to read."""
    _lexicon(passages, "")


def _lexicon(passages: tuple[Passage, ...], language: str) -> Lexicon:
    key = id(passages), language  # the passages are kept with the entry, so the number stays theirs
    with _lock:
        if key in _lexicons:
            _lexicons.move_to_end(key)
            return _lexicons[key][1]
    lexicon = Lexicon.of([passage.text for passage in passages], language)
    with _lock:
        _lexicons[key] = passages, lexicon
        while len(_lexicons) > _REMEMBERED:
            _lexicons.popitem(last=False)
    return lexicon
