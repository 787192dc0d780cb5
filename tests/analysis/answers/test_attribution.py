from dataclasses import replace

import pytest

from core.adapters.models.local_embedder import MiniLM
from core.analysis.answers.attribution import Flag, attribution
from core.model import Answer, AnswerKind
from core.run.state import Run
from core.text.facts.named_facts import MOST_SENTENCES, claimed_facts, missing_numbers, named_facts
from tests.analysis.sample import run_of
from tests.services.openai_server import MARKDOWN_ANSWER
from tests.stages.fakes import NoEmbed, WordEmbed

TEXTS = {
    "https://a.example/": "The ferry Alma carries 1,200 people. It was launched on 3 May 2019 in Bergen.",
    "https://b.example/": "Paper lamps burn for 15 hours. Their frames are of thin bamboo.",
}


def run_with_answer(text: str, **knobs: object) -> Run:
    return run_of(TEXTS, question="Which ferry carries people?", answer=text, **knobs)


async def test_each_sentence_meets_the_best_sentence_of_each_source() -> None:
    run = run_with_answer("The ferry Alma carries 1200 people [1]. Lamps of paper burn 15 hours [2].")
    matrix = await attribution(run, WordEmbed())
    assert [sentence.text for sentence in matrix.sentences] == [
        "The ferry Alma carries 1200 people.",
        "Lamps of paper burn 15 hours.",
    ]
    ferry, lamps = matrix.sentences
    assert [cell.source for cell in ferry.cells] == [1, 2]
    (cell,) = ferry.citations
    assert cell is ferry.cells[0]
    assert cell.text == "The ferry Alma carries 1,200 people."
    assert run.sources[0].passage.text[cell.start : cell.end] == "The ferry Alma carries 1,200 people."
    assert (cell.shared_names, cell.shared_numbers, cell.missing_numbers) == (("alma",), ("1200",), ())
    assert ferry.cells[1].missing_numbers == ("1200",)
    assert ferry.flags == lamps.flags == ()
    summary = matrix.summary
    assert (summary.sentences, summary.cited, summary.used) == (2, 2, 2)
    assert (summary.similar, summary.citations) == (2, 2)


async def test_each_citation_is_held_against_the_limit_by_itself() -> None:
    run = run_with_answer("The ferry Alma carries 1200 people [1][2]. Paper lamps burn for 15 hours [2].")
    matrix = await attribution(run, WordEmbed())
    ferry, lamps = matrix.sentences
    assert [(cell.source, cell.dissimilar) for cell in ferry.citations] == [(1, False), (2, True)]
    assert ferry.dissimilar == (2,)
    assert ferry.flags == (Flag.DISSIMILAR,)
    assert ferry.flag_labels == ("no similar sentence in cited source 2",)
    assert lamps.flags == ()
    assert (matrix.summary.similar, matrix.summary.citations) == (2, 3)


async def test_claims_are_read_from_markdown_of_a_chat_model() -> None:
    run = run_with_answer(MARKDOWN_ANSWER)
    matrix = await attribution(run, WordEmbed())
    assert matrix.sentences
    assert len(matrix.sentences) == len(run.check.sentences)
    for sentence in matrix.sentences:
        assert not set("*#|`[]") & set(sentence.text), sentence.text
    assert [sentence.text for sentence in matrix.sentences if Flag.NO_CITATION in sentence.flags] == [
        "The tide waits for nobody.",  # it cites a third source, and there are two
        "In short, ask the port before you build.",
    ]


async def test_sentences_of_sources_are_read_from_their_markdown_too() -> None:
    texts = {
        "https://a.example/": "## Ferries\n\n- **Size.** The ferry Alma carries *1,200* people.\n- Other."
    }
    run = run_of(texts, question="Which ferry carries people?", answer="Alma carries 1200 people [1].")
    ((cell,),) = [sentence.cells for sentence in (await attribution(run, WordEmbed())).sentences]
    assert cell.text == "Size. The ferry Alma carries 1,200 people."
    passage = run.sources[0].passage.text
    assert passage[cell.start : cell.end] == "**Size.** The ferry Alma carries *1,200* people."


async def test_sentences_beyond_the_limit_are_only_counted() -> None:
    rows = "\n".join(f"| row {number} | people [1] |" for number in range(MOST_SENTENCES + 7))
    matrix = await attribution(run_with_answer(f"| a | b |\n|---|---|\n{rows}"), WordEmbed())
    assert (len(matrix.sentences), matrix.left_out) == (MOST_SENTENCES, 7)


async def test_what_deserves_a_look_is_flagged() -> None:
    text = (
        "Nobody said this here. Bakers knead rye dough slowly [1]. "
        "The ferry Alma carries 1300 people [1]. Paper lamps burn for 15 hours [1]."
    )
    matrix = await attribution(run_with_answer(text), WordEmbed())
    bare, rye, wrong, misplaced = matrix.sentences
    assert bare.flags == (Flag.NO_CITATION,)
    assert rye.flags == (Flag.DISSIMILAR,)
    assert wrong.flags == (Flag.NUMBERS,)
    assert wrong.unknown_numbers == ("1300",)
    assert set(misplaced.flags) == {Flag.DISSIMILAR, Flag.NUMBERS, Flag.ELSEWHERE}
    assert matrix.summary.unknown_numbers == 2
    assert matrix.summary.cited == 3


async def test_number_word_that_counts_a_list_needs_no_source() -> None:
    matrix = await attribution(
        run_with_answer("There are seven reasons for the ferry Alma [1]."), WordEmbed()
    )
    assert matrix.sentences[0].unknown_numbers == ()
    matrix = await attribution(run_with_answer("There are 7 reasons for the ferry Alma [1]."), WordEmbed())
    assert matrix.sentences[0].unknown_numbers == ("7",)


async def test_the_embedder_is_asked_once_for_all() -> None:
    embed = WordEmbed()
    embed.batch = 1000
    await attribution(run_with_answer("The ferry Alma carries 1200 people [1]."), embed)
    assert len(embed.calls) == 1


async def test_a_claim_cites_in_words_as_in_brackets() -> None:
    words = "The ferry Alma carries 1200 people [Source 1: A title](https://a.example/1)."
    (sentence,) = (await attribution(run_with_answer(words), WordEmbed())).sentences
    assert sentence.text == "The ferry Alma carries 1200 people."
    assert sentence.sentence.cites == (1,)
    assert Flag.NO_CITATION not in sentence.flags


async def test_words_are_compared_without_vectors_and_the_reason_told() -> None:
    run = run_with_answer("The ferry Alma carries 1200 people [1]. Bakers knead dough [1].")
    matrix = await attribution(run, NoEmbed())
    assert matrix.measure == "words"
    assert "away" in matrix.fault
    assert matrix.sentences[0].flags == ()
    assert Flag.DISSIMILAR in matrix.sentences[1].flags


async def test_nothing_to_compare_is_an_empty_matrix() -> None:
    nothing = replace(
        run_with_answer("Not found in the sources."),
        answer=Answer(kind=AnswerKind.NOT_FOUND, text="Not found."),
    )
    for run in (
        Run(question="?"),
        nothing,
        run_with_answer(""),
        run_of({}, answer="A claim without any source."),
    ):
        matrix = await attribution(run, WordEmbed())
        assert matrix.summary.cited == 0
    assert [sentence.flags for sentence in matrix.sentences] == [(Flag.NO_CITATION,)]


async def test_vectors_of_two_widths_are_compared_by_words_instead() -> None:
    class Fickle(WordEmbed):
        async def vectors(self, texts):  # type: ignore[no-untyped-def]
            vectors = await super().vectors(texts)
            return vectors if len(self.calls) == 1 else vectors[:, :100]

    matrix = await attribution(run_with_answer("The ferry Alma carries people [1]."), Fickle())
    assert matrix.measure == "words"


async def test_a_real_embedder_tells_a_paraphrase_from_another_subject() -> None:
    run = run_with_answer("The ship Alma has room for 1,200 passengers [1]. Rye bread needs sourdough [1].")
    embed = MiniLM(threads=1)
    matrix = await attribution(run, embed)
    embed.close()
    assert matrix.sentences[0].flags == ()
    assert matrix.sentences[1].flags == (Flag.DISSIMILAR,)


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("1,500.50 crowns, or 1.5 million in all", {"1500.5", "1500000"}),
        ("3,5 Prozent von 1.234 Stück am 3. Mai 2024", {"3.5 %", "1234", "2024-05-03"}),
        ("on May 3, 2024 and in May 2024, but it may rain 2 days", {"2 days", "2024-05-03", "2024-05"}),
        ("three of twelve, and one more", {"3", "12"}),
        ("2024-02-01, v3.11, 0.500", {"0.5", "2024-02-01"}),
        ("10 000 people in 1912", {"10000", "1912"}),
        ("February 32, month 2024-13", {"32", "2024", "13"}),
        ("1.234,5 and 1,234.5 and 12,34,567 and 1’234", {"1234.5", "1234567", "1234"}),
        ("$3bn, $3m, US$ 3 billion, €3 Mrd, 5k", {"$3000000000", "$3000000", "€3000000000", "5000"}),
        ("the 2nd of twenty-five, a hundred and thirty, half a million", {"2", "25", "130", "500000"}),
        ("in nineteen eighty-four, the twenty-first century", {"1984", "21"}),
        ("Die fünfundzwanzig Männer und dreihundert Frauen", {"25", "300"}),
        ("Les vingt-cinq hommes et 3 milliards de dollars", {"25", "3000000000"}),
        (
            "全长25公里，共三百人，人口3.5万，占百分之五，２０２４年5月3日",
            {"25 km", "300", "35000", "5 %", "2024-05-03"},
        ),
        ("二〇二四年、一亿二千万元、十五个；万一、千万、统一", {"2024", "120000000 yuan", "15"}),
        ("-5 °C, minus five, 零下5摄氏度, 3-5, 1990-2000", {"-5 °C", "-5", "3", "5", "1990", "2000"}),
        ("٣٫٥ and 5-year and 7 percentage points and 4 per cent", {"3.5", "5 years", "7 points", "4 %"}),
    ],
)
def test_numbers_and_dates_are_read_in_their_many_spellings(text: str, stated: set[str]) -> None:
    assert named_facts(text).stated == stated


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("It cost $3 billion.", "a price of US$3bn"),
        ("It has 25 rooms.", "the twenty-five rooms"),
        ("She came 2nd.", "the second of them"),
        ("Er misst 1.234,5 km.", "1,234.5 kilometres long"),
        ("共有300人。", "村里有三百人"),
        ("全长25公里。", "全长25千米"),
        ("Profits fell by 5 %.", "a 5% decline in profits"),
        ("Profits fell 5 million.", "a result of -5 million"),
        (
            "Sales reached 20 million, up from 15.",
            "Sales rose to 20 million, from 15 million to 20; before, 15.",
        ),
        ("It has thirty rooms.", "30 rooms"),
        ("It takes 5 hours and 40 people.", "5 h, and 40 visitors"),
        ("The two of them, a second later.", "nothing counted"),
    ],
)
def test_one_number_in_two_spellings_is_not_missing(claim: str, source: str) -> None:
    assert not missing_numbers(claimed_facts(claim), named_facts(source))


@pytest.mark.parametrize(
    ("claim", "source", "missing"),
    [
        ("Profits fell by 5 %.", "profits rose 5 percent", "5 %"),
        ("利润下降了5%。", "利润增长5%", "5 %"),
        ("It was -5 °C.", "It was 5 °C", "-5 °C"),
        ("It was 5 degrees.", "It was -5 degrees", "5"),
        ("It cost $5.", "a price of €5", "$5"),
        ("It is 5 km long.", "5 miles", "5 km"),
        ("全长5公里。", "全长5英里", "5 km"),
        ("It took 5 years.", "It took five months", "5 years"),
        ("人口有35万。", "人口有36万", "350000"),
        ("共有三百人。", "共有400人", "300"),
        ("It has thirty rooms.", "13 rooms", "30"),
    ],
)
def test_another_sign_unit_direction_or_value_is_another_number(
    claim: str, source: str, missing: str
) -> None:
    assert missing_numbers(claimed_facts(claim), named_facts(source)) == {missing}


def test_a_more_exact_date_has_the_less_exact_one() -> None:
    source = named_facts("Launched on 3 May 2019.")
    for claim in ("in 2019", "in May 2019", "on 3 May 2019", "on May 3"):
        assert not missing_numbers(named_facts(claim), source), claim
    assert missing_numbers(named_facts("in June 2019"), source) == {"2019-06"}


def test_names_are_words_with_capitals_inside_a_sentence() -> None:
    text = "The painter Dr. Ada Stone’s boat left. Nobody saw NASA. Then May 2024 came."
    assert named_facts(text).names == {"dr", "ada", "stone", "nasa"}
