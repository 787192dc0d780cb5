from dataclasses import replace

import numpy as np
import pytest

from core.model import Index, ModelUsage, Passage, Phase, Place, Usage
from core.run.events import Event
from core.stages.conversation.coverage import ENOUGH_COVERAGE, Coverage, coverage, embedded_coverage
from core.text.bm25_index import Bm25Index
from tests.growth import LINEAR, growth, repeated
from tests.stages.fakes import FakeEmbed, NoEmbed, WordEmbed

TEXTS = (
    "A house should be insulated before an air-source heat pump is installed.",
    "Insulated walls keep the warmth of the house.",
    "Heat pumps move warmth from the air outside.",
    "Radiators of an old house may be too small.",
)
QUESTION = "Must the house be insulated, and which pump is fitted?"


def index_of(*texts: str) -> Index:
    passages = tuple(
        Passage(text=text, place=Place(page=f"https://a.example/{row}", start=0, end=len(text)))
        for row, text in enumerate(texts)
    )
    return Index(passages=passages, vectors=None, question=None, embedder="")


async def embedded_index(embed: FakeEmbed) -> Index:
    index = index_of(*TEXTS)
    return replace(index, vectors=await embed.vectors(TEXTS), embedder=embed.identity)


def counts(result: Coverage) -> dict[str, int]:
    return {term.term: term.passages for term in result.terms}


# --- by words ---------------------------------------------------------------------------------------------


def test_content_words_have_the_number_of_their_passages() -> None:
    result = coverage(QUESTION, index_of(*TEXTS))
    assert counts(result) == {"house": 3, "insulated": 2, "pump": 2, "fitted": 0}
    assert 0 < result.value < 1


def test_a_word_is_shown_as_it_was_written() -> None:
    assert counts(coverage("What is SearXNG?", index_of("SearXNG is a metasearch engine."))) == {"SearXNG": 1}


def test_word_coverage_is_the_weight_in_the_best_passage() -> None:
    index = index_of("alpha beta", "alpha", "gamma")
    assert coverage("alpha beta", index).value == 1
    assert coverage("beta gamma", index).value == pytest.approx(0.5), (
        "both are in a passage, not in the same one"
    )
    assert coverage("alpha gamma", index).value > 0.5, "the rarer word weighs more"
    assert coverage("delta", index).value == 0


@pytest.mark.parametrize("question", ["Why not?", "???", "Is it?"])
def test_a_question_without_content_is_not_covered_by_words(question: str) -> None:
    assert coverage(question, index_of(*TEXTS)) == Coverage(value=0.0)


def test_an_empty_index_covers_nothing() -> None:
    result = coverage(QUESTION, index_of())
    assert result.value == 0 and not result.enough
    assert set(counts(result).values()) == {0}


def test_scripts_without_spaces_are_covered_by_pairs_of_characters() -> None:
    index = index_of("热泵在零下十五度仍然可以供暖。", "房子的墙壁需要隔热。")
    assert coverage("热泵供暖", index).value > coverage("汽车轮胎", index).value == 0


def test_german_words_match_by_their_stems() -> None:
    index = index_of("Wärmepumpen arbeiten auch bei Frost.", "Das Haus ist gut gedämmt und warm.")
    assert counts(coverage("Arbeitet eine Wärmepumpe im Haus?", index))["Wärmepumpe"] == 1


def test_texts_with_a_word_are_told_from_those_without() -> None:
    by_words = Bm25Index.build(["red boat", "red lamp", ""], "en")
    assert by_words.texts_with(["red"]).tolist() == [True, True, False]
    assert by_words.texts_with(["red", "boat"]).tolist() == [True, False, False]
    assert by_words.texts_with(["sea"]).tolist() == [False, False, False]


# --- with vectors -----------------------------------------------------------------------------------------


async def test_similarity_counts_beside_the_words() -> None:
    index = await embedded_index(WordEmbed())
    events: list[Event] = []
    result = await embedded_coverage(TEXTS[0], index, WordEmbed(), events.append)
    assert result.value == pytest.approx(1) and result.enough and not result.note
    other = await embedded_coverage("Who painted the ceiling?", index, WordEmbed(), events.append)
    assert other.value < ENOUGH_COVERAGE and not other.enough


async def test_the_vector_of_another_question_is_not_used() -> None:
    index = await embedded_index(WordEmbed())
    asked_before = replace(index, question=(await WordEmbed().vectors([TEXTS[1]]))[0])
    result = await embedded_coverage(QUESTION, asked_before, WordEmbed(), lambda event: None)
    assert result == await embedded_coverage(QUESTION, index, WordEmbed(), lambda event: None)


async def test_what_the_embedder_took_is_reported() -> None:
    class Counting(WordEmbed):
        async def __call__(self, texts, on_retry=None):  # type: ignore[no-untyped-def]
            usage = ModelUsage(model=self.identity, tokens=Usage(prompt_tokens=7))
            return (await super().__call__(texts, on_retry))._replace(usage=usage)

    events: list[Event] = []
    await embedded_coverage(QUESTION, await embedded_index(WordEmbed()), Counting(), events.append)
    assert [event.phase for event in events] == [Phase.PLAN]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("embed", "vectors", "reason"),
    [(WordEmbed(), False, "have no vectors"), (NoEmbed(), True, "embedded by words@test")],
)
async def test_words_decide_where_vectors_cannot_and_a_note_follows(
    embed: FakeEmbed, vectors: bool, reason: str
) -> None:
    index = await embedded_index(WordEmbed()) if vectors else index_of(*TEXTS)
    result = await embedded_coverage(QUESTION, index, embed, lambda event: None)
    assert reason in result.note
    assert result == replace(coverage(QUESTION, index_of(*TEXTS)), note=result.note)


async def test_a_failing_embedder_is_a_note() -> None:
    index = replace(await embedded_index(WordEmbed()), embedder=NoEmbed.identity)
    result = await embedded_coverage(QUESTION, index, NoEmbed(), lambda event: None)
    assert "The embedder is away. Wait for it." in result.note
    assert result.value == coverage(QUESTION, index_of(*TEXTS)).value


# --- hostile and large ------------------------------------------------------------------------------------


@pytest.mark.parametrize("piece", ["insulated ", "(((", "a-", "\u200b", "热"])
def test_a_huge_passage_takes_time_in_proportion(piece: str) -> None:
    made = repeated(piece)
    assert (
        growth(lambda size: index_of(made(size)), lambda index: coverage(QUESTION, index), 20_000, 160_000)
        < LINEAR
    )


def test_the_longest_question_is_fast_over_many_passages() -> None:
    index = replace(
        index_of(*(f"passage {row} of a long run" for row in range(10_000))),
        vectors=np.zeros((10_000, 8), dtype=np.float32),
        question=np.zeros(8, dtype=np.float32),
    )
    question = " ".join(f"word{number}" for number in range(125))
    assert len(coverage(question, index).terms) == 125
