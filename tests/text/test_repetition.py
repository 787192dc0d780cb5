"""A reply that loops is recognised, and text that repeats for a reason is not."""

from collections.abc import Callable
from itertools import cycle, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.repetition import LEAST_CHARACTERS, RepetitionGuard
from tests.growth import LINEAR, growth
from tests.services.openai_server import MARKDOWN_ANSWER

SENTENCE = "The overlap of chunks affects the recall of retrieval [1]. "
CHINESE = "分块的重叠会影响检索的召回率。"
VARIED = [
    f"The kettle number {n} boils water in {3 * n} minutes, and then it is emptied. " for n in range(99)
]

LOOPS = {
    "a sentence": SENTENCE * 45,
    "a sentence on lines": f"{SENTENCE.strip()}\n\n" * 45,
    "a bullet": f"- {SENTENCE.strip()}\n" * 45,
    "a numbered item": "".join(f"{n}. {SENTENCE}\n" for n in range(1, 46)),
    "a sentence with other citations": "".join(SENTENCE.replace("1", str(n)) for n in range(1, 46)),
    "a sentence with several citations": "".join(
        SENTENCE.replace("1", f"{n}, {n + 1}") for n in range(1, 46)
    ),
    "a word": "water " * 500,
    "three words": "and the kettle " * 200,
    "two sentences": (SENTENCE + VARIED[1]) * 20,
    "a paragraph": "".join(VARIED[:12]) * 9,
    "Chinese": CHINESE * 45,
    "characters without a space": "haha" * 300,
    "a Chinese character": "的" * 500,
    "a row of a table": "| kettle | boils water [1] |\n" * 60,
    "a line of code": "```\n" + "kettle.boil(water, minutes=5)\n" * 60,
    "after other text": MARKDOWN_ANSWER + SENTENCE * 45,
}

REFRAIN = "Row, row, row your boat, gently down the stream.\n"
GENUINE = {
    "an answer": MARKDOWN_ANSWER,
    "sentences of one form": "".join(VARIED),
    "a list of one value": "".join(f"{n}. not stated\n" for n in range(1, 31)),
    "a list of one sentence": "".join(f"{n}. It is not stated in the sources.\n" for n in range(1, 16)),
    "a table with like cells": "".join(f"| kettle {n} | yes | yes | no | no |\n" for n in range(200)),
    "a wide row": "| " + "n/a | " * 300 + "\n",
    "a table of figures": "".join(f"| kettle | {n} |\n" for n in range(200)),
    "rules of a table": "|" + "---|" * 500,
    "zeros in code": "```python\nzeros = [" + "0x00, " * 600 + "]\n```\n",
    "empty elements in code": "```html\n" + "<td></td>\n" * 30 + "```\n",
    "a poem": (REFRAIN * 4 + "".join(VARIED[:3])) * 3 + REFRAIN * 4,
    "a line to fill in": "_" * 3000,
    "a song": "na na na " * 30,
    "laughter": "ha " * 100,
    "a rule": "-" * 3000,
    "an indented list": "".join(f"- kettle {n}\n  - yes\n  - no\n" for n in range(100)),
}


def pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("text", LOOPS.values(), ids=LOOPS)
def test_loop_is_recognised(text: str, size: int) -> None:
    guard = RepetitionGuard()
    assert any(guard.read(piece) for piece in pieces(text, size))
    assert guard.loop.endswith("times in a row, and was ended")


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("text", GENUINE.values(), ids=GENUINE)
def test_text_that_repeats_for_a_reason_is_no_loop(text: str, size: int) -> None:
    guard = RepetitionGuard()
    assert not any(guard.read(piece) for piece in pieces(text, size))


def test_sentence_is_quoted_after_eight_times() -> None:
    guard = RepetitionGuard()
    read = next(count for count in range(1, 46) if guard.read(SENTENCE))
    assert read == 8
    assert guard.loop == (
        "repeated itself, “The overlap of chunks affects the recall of retrieval” 8 times in a row, and was ended"
    )


def test_short_cycle_covers_the_least_characters_first() -> None:
    guard, read = RepetitionGuard(), ""
    for word in islice(cycle(["very "]), 500):
        read += word
        if guard.read(word):
            break
    assert LEAST_CHARACTERS <= len(read) <= LEAST_CHARACTERS + 10


@given(st.lists(st.sampled_from(["kettle ", "pot\n", "[1] ", "| ", "```\n", "1. ", "重", ", "]), max_size=60))
def test_cuts_of_a_text_do_not_matter(parts: list[str]) -> None:
    whole, cut = RepetitionGuard(), RepetitionGuard()
    text = "".join(parts) * 12
    assert whole.read(text) == any(cut.read(character) for character in text)
    assert whole.loop == cut.loop


@pytest.mark.parametrize("form", [lambda n: f"kettle {n % 299} {n % 7} ", lambda n: f"{n % 13}kettle"])
@pytest.mark.thorough
def test_cost_is_linear(form: Callable[[int], str]) -> None:
    def read(text: str) -> None:
        guard = RepetitionGuard()
        for piece in pieces(text, 20):
            guard.read(piece)

    assert growth(lambda size: "".join(map(form, range(size))), read, 2_000, 8_000) < LINEAR
