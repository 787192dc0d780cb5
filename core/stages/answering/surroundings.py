"""Add the text around a passage: small passages are easier to find, larger ones answer better.

The passage itself is embedded, ranked and shown in tables unchanged. The text that the model reads, and that an answer
is checked against, begins earlier and ends later.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from core.model import Place
from core.stages.answering.answer_prompt import SOURCE_TOKENS
from core.stages.chunking.text_boundaries import best_cut, word_from
from core.text.sanitize import CHARACTERS_A_TOKEN
from core.text.sentences import sentences

LEAD = 400
"""The maximum characters by which a start is moved to the beginning of its sentence."""
_LOOK = 100
"""Extra characters that are read to see whether a sentence begins or ends at the edge."""
_sentences = lru_cache(500)(sentences)
"""A page asks for the same passages at each move of a setting."""


def surrounded(places: Sequence[Place], texts: Mapping[str, str], characters: int) -> tuple[Place, ...]:
    """Widen each place by surrounding text of its page.

    It gets up to `characters` on either side, in whole sentences. A longer sentence is cut between words. No text is
    added twice or repeated from another place. Text between two places goes to the better ranked place. No place
    becomes longer than the prompt allows. `places` are passages, best first, and `texts` are the texts of their pages
    by key.
    """
    widened = list(places)
    if not characters:
        return tuple(widened)
    for index, place in enumerate(places):
        text = texts[place.page]
        others = [
            neighbour
            for other, neighbour in enumerate(widened)
            if other != index and neighbour.page == place.page
        ]
        floor = max((neighbour.end for neighbour in others if neighbour.start < place.start), default=0)
        ceiling = min(
            (neighbour.start for neighbour in others if neighbour.end > place.end), default=len(text)
        )
        room = SOURCE_TOKENS * CHARACTERS_A_TOKEN - 1 - (place.end - place.start)
        reach = min(characters, max(room, 0) // 2)
        widened[index] = Place(
            page=place.page,
            start=_start(text, place.start, floor, reach),
            end=_end(text, place.end, ceiling, reach),
        )
    return tuple(widened)


def from_its_sentence(place: Place, text: str) -> Place:
    """Move the start back to its sentence's beginning.

    An overlap or a limit may have cut that sentence. A sentence that begins more than `LEAD` characters earlier stays
    cut, and so does a sentence that would not fit into the prompt.
    """
    looked = max(0, place.start - LEAD, place.end - SOURCE_TOKENS * CHARACTERS_A_TOKEN + 1)
    spans = _sentences(text[looked : place.start + _LOOK])
    for begin, end in spans[bool(looked) :]:  # the start of the first sentence is not visible
        if looked + begin < place.start < looked + end:
            return replace(place, start=looked + begin)
    return place


def _start(text: str, start: int, floor: int, reach: int) -> int:
    """Find the widened start, from `floor` and `start - reach` on. It is a sentence's, else a word's, else `start`."""
    if start - floor <= reach:
        free = text[floor:start]
        return start - len(free.lstrip()) if floor < start else start
    earliest = start - reach
    looked = max(floor, earliest - _LOOK)
    sentence_starts = (looked + begin for begin, _ in sentences(text[looked:start]))
    first = next(
        (start_of_sentence for start_of_sentence in sentence_starts if start_of_sentence >= earliest), None
    )
    return word_from(text, earliest, looked, start) if first is None else first


def _end(text: str, end: int, ceiling: int, reach: int) -> int:
    """Find the widened end, up to `ceiling` and `end + reach`. It is a sentence's, else a word's."""
    if ceiling - end <= reach:
        return end + len(text[end:ceiling].rstrip()) if ceiling > end else end
    ended = [last for _, last in sentences(text[end : min(ceiling, end + reach + _LOOK)]) if last <= reach]
    return end + ended[-1] if ended else best_cut(text, end, end + reach)[0] if reach else end
