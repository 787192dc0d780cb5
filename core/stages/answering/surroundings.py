"""Small passages are found more precisely, larger ones are easier to answer from: the text around a passage.

The passage is embedded, ranked and shown in tables as it is. What the model reads, and what an answer is checked
against, begins earlier and ends later.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from core.model import Place
from core.stages.answering.answer_prompt import SOURCE_TOKENS
from core.stages.chunking.text_boundaries import best_cut, word_from
from core.text.sanitize import CHARACTERS_A_TOKEN
from core.text.sentences import sentences

LEAD = 400
"""The most characters by which a place is moved to the beginning of its sentence."""
_LOOK = 100
"""Characters beyond the reach, which tell whether a sentence begins or ends at its edge."""


def surrounded(places: Sequence[Place], texts: Mapping[str, str], characters: int) -> tuple[Place, ...]:
    """Each place with up to `characters` of its page's text on either side, in whole sentences.

    A sentence that is longer than that is cut between words. No text is added to two places, nor text that is in
    another one: what stands between two of them goes to the first. No place becomes longer than the prompt allows.
    `places` are those of passages, best first, and `texts` those of their pages, by key.
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
    """The place from the beginning of the sentence in which it begins, where an overlap or a limit cut that.

    A sentence that begins more than `LEAD` characters before it stays cut, as where the prompt has no room for it.
    """
    looked = max(0, place.start - LEAD, place.end - SOURCE_TOKENS * CHARACTERS_A_TOKEN + 1)
    spans = sentences(text[looked : place.start + _LOOK])
    for begin, end in spans[bool(looked) :]:  # where the first begins is not seen
        if looked + begin < place.start < looked + end:
            return replace(place, start=looked + begin)
    return place


def _start(text: str, start: int, floor: int, reach: int) -> int:
    """The first sentence from `floor` and `start - reach` on, else the first word; `start` if there is none."""
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
    """The end of the last sentence up to `ceiling` and `end + reach`, else of the last word."""
    if ceiling - end <= reach:
        return end + len(text[end:ceiling].rstrip()) if ceiling > end else end
    ended = [last for _, last in sentences(text[end : min(ceiling, end + reach + _LOOK)]) if last <= reach]
    return end + ended[-1] if ended else best_cut(text, end, end + reach)[0] if reach else end
