import pytest

from core.analysis.answers.attribution import Attribution, attribution
from core.analysis.answers.llm_judge import Entailment, judge_attribution, parsed_verdicts
from core.errors import ChatFailed
from tests.analysis.sample import run_of
from tests.stages.fakes import ScriptedChat, WordEmbed


async def matrix_of(answer: str) -> Attribution:
    return await attribution(run_of(answer=answer), WordEmbed())


async def test_model_judges_cited_claims_by_their_own_sources() -> None:
    matrix = await matrix_of("A boat is red [1]. Nobody knows. Lamps cost 15 crowns [3].")
    chat = ScriptedChat("1: entailed\n", "2: contradicted")
    verdicts = await judge_attribution(matrix, chat)
    assert verdicts == {0: Entailment.ENTAILED, 2: Entailment.CONTRADICTED}
    asked = chat.asked[0][-1].content
    assert "A red boat lies on the river" in asked
    assert matrix.sources[1].passage.text not in asked, "source 2 is cited by no claim"
    assert "Nobody knows" not in asked


async def test_no_cited_claim_asks_nobody() -> None:
    chat = ScriptedChat("1: entailed")
    assert await judge_attribution(await matrix_of("Nobody knows."), chat) == {}
    assert chat.asked == []


async def test_many_claims_are_asked_in_several_requests() -> None:
    matrix = await matrix_of(" ".join(f"Boat number {n} is red [1]." for n in range(15)))
    chat = ScriptedChat("\n".join(f"{n}. entailed" for n in range(1, 13)))
    verdicts = await judge_attribution(matrix, chat)
    assert len(chat.asked) == 2
    assert [*verdicts.values()] == [Entailment.ENTAILED] * 15


async def test_a_model_that_fails_says_so() -> None:
    with pytest.raises(ChatFailed):
        await judge_attribution(await matrix_of("A boat [1]."), ScriptedChat(ChatFailed("No.")))


@pytest.mark.parametrize(
    ("reply", "verdicts"),
    [
        ("1: entailed\n2: not addressed", [Entailment.ENTAILED, Entailment.NOT_ADDRESSED]),
        (
            "**Claim 1** – The text supports it.\n(2) Contradicts [1].",
            [Entailment.ENTAILED, Entailment.CONTRADICTED],
        ),
        ("1. NOT ENTAILED\n2. not_addressed", [Entailment.NOT_ADDRESSED, Entailment.NOT_ADDRESSED]),
        ("1: entailed\n1: contradicted", [Entailment.UNCLEAR, Entailment.UNCLEAR]),
        ("I cannot say.", [Entailment.UNCLEAR, Entailment.UNCLEAR]),
        ("", [Entailment.UNCLEAR, Entailment.UNCLEAR]),
        ("7: entailed\n2: Entailed!", [Entailment.UNCLEAR, Entailment.ENTAILED]),
    ],
)
def test_replies_are_read_leniently_and_never_guessed(reply: str, verdicts: list[Entailment]) -> None:
    assert list(parsed_verdicts(reply, 2)) == verdicts


def test_a_single_claim_needs_no_number() -> None:
    assert parsed_verdicts("Entailed.", 1) == (Entailment.ENTAILED,)
