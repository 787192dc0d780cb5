"""The extractive answer, with the real local embedder where a figure depends on it."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.adapters.models.local_embedder import MiniLM
from core.adapters.models.multilingual_embedder import MultilingualUSE
from core.adapters.search.demo_search import SITE, DemoSearch
from core.adapters.web.demo_pages import DemoWeb
from core.config.knobs import AnswerKnobs, ChunkKnobs, Length, RankKnobs, ReadKnobs, SearchKnobs, Strategy
from core.config.settings import HANDBOOK
from core.model import Answer, AnswerKind, Index, Page, Source
from core.ports import Embed
from core.reading import extract
from core.run.events import Event, Note, TokensWritten
from core.stages.answer import answer
from core.stages.answering.answer_prompt import NOT_FOUND
from core.stages.answering.extractive_answer import QUOTE_LIMIT, SENTENCES, quotable
from core.stages.check import check
from core.stages.chunk import passages_of
from core.stages.rank import rank, sources
from tests.stages.fakes import FakeEmbed, NoEmbed, WordEmbed, source

QUESTIONS = json.loads((Path(__file__).parents[2] / "data" / "handbook_questions.json").read_text())
QUESTION = "How much does passage overlap raise retrieval recall?"
ON_TOPIC = (
    source(1, "Passage overlap raises retrieval recall by several points. Bicycles need oil in spring."),
    source(2, "Overlap of passages costs storage. A passage overlap of fifty characters raises recall most."),
    source(3, "Indeed, passage overlap raises retrieval recall by several points."),
)
OFF_TOPIC = (
    source(1, "Bicycles need oil in spring. The chain should be cleaned beforehand."),
    source(2, "Tomatoes are planted after the last frost, in full sun."),
)


async def extracted(
    question: str, numbered: Sequence[Source], embed: Embed | None = None, length: Length = Length.NORMAL
) -> tuple[Answer, list[Event]]:
    told: list[Event] = []
    knobs = AnswerKnobs(length=length)
    result = await answer(question, tuple(numbered), knobs, None, embed or WordEmbed(), told.append)
    assert "".join(event.text for event in told if isinstance(event, TokensWritten)) == result.text
    return result, told


def quotations(text: str) -> list[str]:
    return [piece.partition("”")[0] for piece in text.split("“")[1:]]


@pytest.mark.parametrize(
    "question",
    [
        "Wie wirkt sich Chunk-Überlappung auf das Retrieval aus?",
        "Wie wirkt sich die Überlappung von Chunks auf das Retrieval aus?",
        "¿Cómo afecta el solapamiento de fragmentos a la recuperación?",
    ],
)
async def test_a_section_is_quoted_whose_heading_is_the_question(question: str) -> None:
    embed = MultilingualUSE()
    text = extract(await DemoWeb(HANDBOOK)(f"{SITE}/chunk-overlap", ReadKnobs())).text
    begin = text.index("How overlap affects retrieval")
    result, told = await extracted(question, [source(1, text[begin : begin + 700])], embed)
    embed.close()
    assert result.text.startswith("“Chunk overlap lifts recall for facts that straddle a chunk boundary")
    assert any("another language" in event.message for event in told if isinstance(event, Note))


# --- what is quoted ---------------------------------------------------------------------------------------


async def test_sentences_are_quoted_word_for_word_with_their_numbers() -> None:
    result, _ = await extracted(QUESTION, ON_TOPIC)
    assert result.kind is AnswerKind.EXTRACTIVE
    for quotation in quotations(result.text):
        assert any(quotation in item.passage.text for item in ON_TOPIC)
    assert "Bicycles" not in result.text
    found = check(result.text, range(1, len(ON_TOPIC) + 1))
    assert not found.unknown
    assert all(sentence.cites for sentence in found.sentences)


async def test_lines_that_lead_to_other_pages_are_not_quoted() -> None:
    lines = ("See also: passage overlap, retrieval recall.", "Siehe auch: passage overlap, retrieval recall.")
    said = "Passage overlap raises retrieval recall by several points."
    result, _ = await extracted(QUESTION, [source(1, "\n\n".join((said, *lines)))])
    assert quotations(result.text) == [said]


async def test_sentence_adding_no_word_of_the_question_is_not_quoted() -> None:
    said = "Passage overlap raises retrieval recall by several points, whatever the size."
    weaker = "Retrieval by passage has recall of its own kind, of which many books and papers tell stories."
    result, _ = await extracted(QUESTION, [source(1, f"{said}\n\n{weaker}")])
    assert quotations(result.text) == [said]


async def test_sentence_with_the_asked_number_is_quoted_beside_the_best() -> None:
    said = "Passage overlap raises retrieval recall, whatever the size."
    number = (
        "Retrieval with passage overlap has 12 points of recall over one without, of which many books tell."
    )
    result, _ = await extracted(QUESTION, [source(1, f"{said}\n\n{number}")])
    assert quotations(result.text) == [said, number]


async def test_text_of_two_sources_is_quoted_once_with_both() -> None:
    result, _ = await extracted(QUESTION, ON_TOPIC)
    assert result.text.count("raises retrieval recall by several points") == 1
    assert "[1][3]" in result.text


async def test_each_sentence_is_reported_when_it_is_quoted() -> None:
    text = "Passage overlap raises recall. Retrieval recall rises with passage overlap, much in theory."
    result, told = await extracted(QUESTION, [source(1, text)])
    pieces = [event.text for event in told if isinstance(event, TokensWritten)]
    assert len(pieces) == len(quotations(result.text)) > 1
    assert all(piece.rstrip().endswith("]") for piece in pieces)


async def test_a_source_keeps_its_reading_order_and_its_paragraph() -> None:
    text = "Passage overlap raises recall. Retrieval recall rises with passage overlap, much in theory."
    result, _ = await extracted(QUESTION, [source(1, text)])
    assert result.text == (
        "“Passage overlap raises recall.” [1] “Retrieval recall rises with passage overlap, much in theory.” [1]"
    )


async def test_sentence_cut_by_its_passage_is_quoted_last() -> None:
    cut = "of passages, which raises retrieval recall of passage overlap."
    whole = "Passage overlap raises retrieval recall by several points."
    result, _ = await extracted(QUESTION, [source(1, f"{cut} {whole}")])
    assert quotations(result.text) == [whole]
    assert quotations((await extracted(QUESTION, [source(1, cut)]))[0].text) == [cut]


@pytest.mark.parametrize("length", Length)
async def test_the_length_bounds_the_number_of_sentences(length: Length) -> None:
    many = [
        source(n, f"Passage overlap number{n} raises retrieval recall of thing{n} in case{n}.")
        for n in range(1, 12)
    ]
    result, _ = await extracted(QUESTION, many, length=length)
    assert len(quotations(result.text)) == SENTENCES[length]


async def test_headings_questions_and_table_rows_are_not_quoted() -> None:
    noise = (
        "## Passage overlap raises retrieval recall\n\nDoes passage overlap raise retrieval recall?\n\n"
        "| passage overlap | retrieval recall |\n\nPassage overlap and retrieval recall\n\n"
    )
    result, _ = await extracted(QUESTION, [source(1, f"{noise}Passage overlap raises the retrieval recall.")])
    assert quotations(result.text) == ["Passage overlap raises the retrieval recall."]


async def test_all_texts_are_embedded_in_calls_of_sensible_size() -> None:
    embed = WordEmbed()
    await extracted(QUESTION, ON_TOPIC, embed)
    assert max(embed.calls) <= embed.batch


async def test_word_is_weighed_by_leaving_it_out_as_a_whole() -> None:
    class Reading(WordEmbed):
        async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
            read.update(texts)
            return await super().vectors(texts)

    read: set[str] = set()
    await extracted("What is a mill? A mill is…", ON_TOPIC, Reading())
    assert {"What is mill? A mill is…", "What is a mill? mill is…", "What a mill? A mill is…"} <= read
    assert not any("Wh t" in text for text in read)


# --- abstention -------------------------------------------------------------------------------------------


async def test_sources_about_something_else_hold_no_answer() -> None:
    result, _ = await extracted(QUESTION, OFF_TOPIC)
    assert result == Answer(kind=AnswerKind.NOT_FOUND, text=NOT_FOUND)


async def test_sources_without_a_sentence_hold_no_answer() -> None:
    result, _ = await extracted(QUESTION, [source(1, "Home | About | Contact")])
    assert result.kind is AnswerKind.NOT_FOUND


async def test_without_vectors_words_decide_and_a_note_says_so() -> None:
    result, told = await extracted(QUESTION, ON_TOPIC, NoEmbed())
    assert result.kind is AnswerKind.EXTRACTIVE
    assert any(isinstance(event, Note) and "by matching words" in event.message for event in told)
    result, _ = await extracted(QUESTION, OFF_TOPIC, NoEmbed())
    assert result.kind is AnswerKind.NOT_FOUND


@pytest.mark.parametrize(
    ("question", "text", "kind"),
    [
        (
            "Wie lange dauert eine Kesselprüfung auf Dampfschiffen?",
            "Auf Dampfschiffen wird der Kessel einmal im Jahr geprüft, was eine Woche braucht.",
            AnswerKind.EXTRACTIVE,
        ),
        (
            "When does a boilerhouse inspector come on steamships every year?",
            "On steamships a boiler is looked at every year, and men come to clean it.",
            AnswerKind.NOT_FOUND,
        ),
    ],
)
async def test_fewer_words_suffice_where_words_are_joined(question: str, text: str, kind: AnswerKind) -> None:
    result, _ = await extracted(question, [source(1, text)], NoEmbed())
    assert result.kind is kind


class Shifted(FakeEmbed):
    """The same embedder with an offset that every vector shares, so that all cosines lie above 0.7."""

    identity = "shifted@test"

    def __init__(self, embed: Embed) -> None:
        self._embed = embed

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = (await self._embed(texts)).vectors
        shifted = np.hstack([vectors, np.full((len(vectors), 1), 1.6, dtype=np.float32)])
        return shifted / np.linalg.norm(shifted, axis=1, keepdims=True)


async def test_embedder_with_only_high_cosines_abstains_too() -> None:
    assert (await extracted(QUESTION, OFF_TOPIC, Shifted(WordEmbed())))[0].kind is AnswerKind.NOT_FOUND
    assert (await extracted(QUESTION, ON_TOPIC, Shifted(WordEmbed())))[0].kind is AnswerKind.EXTRACTIVE


class Deaf(FakeEmbed):
    """An embedder that knows neither the language nor one sentence in it from another."""

    identity = "deaf@test"

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = [
            [1.0, 0.1] if any("\u0900" <= c <= "\u097f" for c in text) else [0.0, 1.0] for text in texts
        ]
        return np.array(vectors, dtype=np.float32) / np.linalg.norm(vectors, axis=1, keepdims=True)


async def test_embedder_without_the_language_leaves_the_choice_to_words() -> None:
    weather = "आज मौसम साफ है और धूप निकली है। कल पहाड़ों में बारिश हो सकती है। शाम को हवा ठंडी हो जाती है। नदी का पानी बढ़ रहा है।"
    food = "रोटी गरम तवे पर बनती है। दाल में नमक कम पड़ गया है। चावल को पहले धो लेना चाहिए। मसाले धीमी आँच पर भूनें।"
    capital = "नेपाल की राजधानी काठमांडू है।"
    question = "नेपाल की राजधानी क्या है"
    result, _ = await extracted(question, [source(1, weather), source(2, food)], Deaf())
    assert result.kind is AnswerKind.NOT_FOUND
    result, _ = await extracted(question, [source(1, f"{weather} {capital}"), source(2, food)], Deaf())
    assert capital in result.text


class English(WordEmbed):
    """An embedder that reads English alone, and finds each text about the weather like each question."""

    identity = "english@test"
    languages = frozenset({"en"})

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = await super().vectors(texts)
        vectors[[index for index, text in enumerate(texts) if "tiempo" in text or "weather" in text]] = (
            vectors[0]
        )
        return vectors


@pytest.mark.parametrize(
    ("question", "text", "kind"),
    [
        (
            "¿Cuándo se construyó la presa cerca de Toledo?",
            "Hoy hace buen tiempo en las montañas, con mucho sol y calor.",
            AnswerKind.NOT_FOUND,
        ),
        (
            "When was the dam near Toledo built?",
            "The weather in the mountains stays sunny and warm today.",
            AnswerKind.EXTRACTIVE,
        ),
    ],
)
async def test_cosines_count_only_in_languages_that_the_embedder_names(
    question: str, text: str, kind: AnswerKind
) -> None:
    result, _ = await extracted(question, [source(1, text)], English())
    assert result.kind is kind


async def test_rare_word_counts_more_where_words_alone_decide() -> None:
    towns = (
        "Soria",
        "Lugo",
        "Ávila",
        "Teruel",
        "Cuenca",
        "Huesca",
        "Zamora",
        "León",
        "Burgos",
        "Jaén",
        "Cádiz",
    )
    others = [
        source(n, f"Una torre muy alta tiene también {town} en la plaza.") for n, town in enumerate(towns, 2)
    ]
    rare = "En Albarracín el edificio mide cuarenta metros hasta la punta."
    question = "¿Qué torre tiene Albarracín?"
    result, _ = await extracted(question, [source(1, rare), *others], English(), Length.SHORT)
    assert quotations(result.text)[0] == rare


# --- nothing in a quotation acts --------------------------------------------------------------------------


@given(st.text(alphabet="[]()【】^0123456789 `<>a/~\\!:“”\n.,-#|", max_size=60) | st.text(max_size=60))
def test_no_quotation_hides_or_adds_a_citation(text: str) -> None:
    whole = f"“{quotable(text)}” [1] “{quotable('Plain > words `here`.')}” [2]"
    assert [mark.number for mark in check(whole, range(1, 3)).citations] == [1, 2]
    assert len(quotable(text)) <= QUOTE_LIMIT + 1


def test_a_footnote_mark_of_the_page_is_no_citation() -> None:
    assert quotable("Overlap helps,[12] in theory [3].") == "Overlap helps, in theory."
    assert quotable("Read items[0] first.") == "Read items(0) first."


@pytest.mark.parametrize("mark", ["- ", "* ", "12. ", "3) ", "## "])
def test_list_mark_is_left_out_at_the_beginning_alone(mark: str) -> None:
    text = "Liu and Zhang (2023) found 0.625. It - the kappa - is low | here."
    assert quotable(f"{mark}{text}") == text


def test_a_long_sentence_is_cut_at_a_clause() -> None:
    text = quotable("The first clause says much, " + "and the rest goes on and on " * 20)
    assert len(text) <= QUOTE_LIMIT
    assert text.endswith("…")


# --- the handbook, labelled -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def minilm() -> Iterator[MiniLM]:
    model = MiniLM()
    yield model
    model.close()


class Handbook:
    """The demo library's search, pages and passages, ranked by words to spare the embedder."""

    def __init__(self) -> None:
        self._search, self._web = DemoSearch(HANDBOOK), DemoWeb(HANDBOOK)
        self._pages: dict[str, Page] = {}

    async def sources(self, question: str) -> tuple[Source, ...]:
        pages = {}
        for hit in (await self._search(question, SearchKnobs(results=3))).results:
            if hit.url not in self._pages:
                article = extract(await self._web(hit.url, ReadKnobs()))
                self._pages[hit.url] = Page(key=hit.url, url=hit.url, title=hit.title, article=article)
            pages[hit.url] = self._pages[hit.url]
        passages = tuple(passage for page in pages.values() for passage in passages_of(page, ChunkKnobs()))
        if not passages:
            return ()
        index = Index(passages=passages, vectors=None, question=None, embedder="")
        ranking = rank(question, index, RankKnobs(strategy=Strategy.BM25, top_k=5))
        return sources(ranking, index, pages, RankKnobs())


class Remembering(FakeEmbed):
    """An embedder that embeds no text twice."""

    def __init__(self, embed: Embed) -> None:
        self.identity = embed.identity
        self._embed = embed
        self._known: dict[str, NDArray[np.float32]] = {}

    async def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, (await self._embed(new)).vectors, strict=True))
        return np.stack([self._known[text] for text in texts])


@pytest.mark.slow
async def test_handbook_answers_what_it_knows_and_abstains_otherwise(minilm: MiniLM) -> None:
    handbook, embed = Handbook(), Remembering(minilm)
    answered: dict[bool, list[str]] = {True: [], False: []}
    known = [item for item in QUESTIONS if item["answerable"]][::3]
    unknown = [item for item in QUESTIONS if not item["answerable"]]
    for item in (*known, *unknown):
        numbered = await handbook.sources(item["question"])
        result, _ = await extracted(item["question"], numbered, embed)
        if result.kind is AnswerKind.EXTRACTIVE:
            answered[item["answerable"]].append(item["question"])
    assert len(answered[True]) >= 0.75 * len(known)
    assert len(answered[False]) <= 0.3 * len(unknown), answered[False]


@pytest.mark.parametrize(
    "question",
    [
        "How long do you boil an egg so the yolk stays runny?",
        "Who won the men's football World Cup in 1966?",
        "What is the capital of Mongolia?",
        "Which vaccines does a puppy need in its first year?",
    ],
)
async def test_question_unrelated_to_the_library_is_never_answered(question: str, minilm: MiniLM) -> None:
    result, _ = await extracted(question, await Handbook().sources(question), minilm)
    assert result.kind is AnswerKind.NOT_FOUND


async def test_the_row_of_a_table_that_answers_is_quoted_alone(minilm: MiniLM) -> None:
    cities = (("France", "Paris"), ("Germany", "Berlin"), ("Spain", "Madrid"), ("Italy", "Rome"))
    rows = [f"Country: {name}; Capital: {city}; Growth: 0.02" for name, city in cities]
    text = "\n".join(rows)
    result, _ = await extracted("What is the capital of Spain?", [source(1, text)], minilm)
    assert quotations(result.text) == ["Country: Spain; Capital: Madrid; Growth: 0.02"]


async def test_readme_question_is_answered_from_its_article(minilm: MiniLM) -> None:
    question = "How does chunk overlap affect retrieval?"
    result, _ = await extracted(question, await Handbook().sources(question), minilm)
    assert result.kind is AnswerKind.EXTRACTIVE
    assert "Chunk overlap lifts recall for facts that straddle a chunk boundary" in result.text
