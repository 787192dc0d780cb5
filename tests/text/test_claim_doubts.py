"""Names that a cited source lacks, and sentences that say the opposite of it."""

import pytest

from core.model import Sentence
from core.text.facts.claim_doubts import claim_doubts

SOURCE = (
    "The harbour of Marlow\n\n"
    "The harbour of Marlow was built by Ada Brennan before the great flood. Its lamp is not lit in summer. "
    "More ships arrive from the northern islands than from the coast. The International Lighthouse Authority inspects "
    "the tower every year. Fishermen can use the western quay without a permit."
)


def doubts(
    claim: str, source: str = SOURCE, cites: tuple[int, ...] = (1,)
) -> list[tuple[tuple[str, ...], bool]]:
    said = Sentence(start=0, end=len(claim), cites=cites, text=claim)
    return [(doubt.names, bool(doubt.opposite)) for doubt in claim_doubts((said,), ((1, source),))]


@pytest.mark.parametrize(
    ("claim", "name"),
    [
        ("The harbour of Marlow was built by Ada Fletcher before the great flood.", "Fletcher"),
        ("Each year the tower is inspected by officials from Kelmscott.", "Kelmscott"),
        ("Ships come from the islands, as the ILA and NATO report each year.", "NATO"),
    ],
)
def test_name_that_the_cited_source_lacks_is_doubted(claim: str, name: str) -> None:
    assert doubts(claim) == [((name,), False)]


@pytest.mark.parametrize(
    "claim",
    [
        "Ada Brennan built the harbour in Marlow, before the flood came.",
        "The tower is inspected every year by the ILA.",
        "Marlow-built lamps are not lit in summer.",
        "However, Brennan's lamp is dark in summer.",
        "In summer the lamp is never lit.",
        "From the northern islands more ships arrive than from the coast.",
        "Fishermen need no permit for the western quay.",
    ],
)
def test_claim_in_other_words_is_not_doubted(claim: str) -> None:
    assert doubts(claim) == []


@pytest.mark.parametrize(
    "claim",
    [
        "The harbour of Marlow was built by Ada Brennan after the great flood.",
        "Its lamp is lit in summer.",
        "Fewer ships arrive from the northern islands than from the coast.",
        "The International Lighthouse Authority does not inspect the tower every year.",
        "Fishermen cannot use the western quay without a permit.",
    ],
)
def test_claim_that_says_the_opposite_is_doubted(claim: str) -> None:
    assert doubts(claim) == [((), True)]


def test_nouns_of_a_german_claim_are_no_names() -> None:
    source = "Der Hafen von Marlow wurde von Ada Brennan vor der Flut gebaut."
    assert doubts("Vor der Überschwemmung hat Ada Brennan die Anlage gebaut.", source) == []


def test_claim_in_another_language_or_uncited_is_not_compared() -> None:
    assert doubts("Der Hafen wurde von Ada Fletcher nach der Flut gebaut, sagt man.") == []
    assert doubts("The harbour was built by Ada Fletcher after the flood.", cites=()) == []
