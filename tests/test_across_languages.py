"""Questions and pages in different languages, with the models that ship."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from core.adapters.models.local_embedder import MiniLM
from core.adapters.models.multilingual_embedder import USE_IDENTITY, MultilingualUSE
from core.config.knobs import Extractor, Knobs, SearchKnobs
from core.errors import EmbedFailed
from core.features.evaluate.data_sets.data_set import CorpusDocument, DataSet, Question
from core.features.evaluate.services.answer_evaluations import answering_ports
from core.features.evaluate.services.sweep_workers import data_embedder
from core.followups import answer_again, retune
from core.model import AnswerKind, Article, Document, Embeddings, Result, SearchReply
from core.pipeline import research
from core.ports import OnRetry, Ports
from core.run.notices import passage_embedder
from core.run.state import Run
from core.runtime.engine import Engine
from core.text.markdown.citations import find_citations
from core.text.markdown.cited_sentences import read_sentences

KNOBS = Knobs()
MOST_QUESTION_LENGTH = 60
ENGLISH = {
    "aurora": "The polar lights arise when particles of the solar wind hit the upper atmosphere. They excite atoms of "
    "oxygen and nitrogen, which glow green and red. The lights are seen mostly near the poles.",
    "bread": "Sourdough bread rises by wild yeast and bacteria. A baker feeds the starter with flour and water every "
    "day. The crust becomes crisp in a very hot oven.",
    "bridge": "The suspension bridge was opened in the year 1937. Its cables were spun from thousands of wires. The "
    "towers carry the load of the deck to the ground.",
}
GERMAN = {
    "nordlicht": "Das Polarlicht entsteht, wenn Teilchen des Sonnenwindes auf die obere Atmosphäre treffen. Sie regen "
    "die Atome von Sauerstoff und Stickstoff an, die dann grün und rot leuchten.",
    "brot": "Das Brot geht durch wilde Hefe und Bakterien auf. Der Bäcker füttert den Teig jeden Tag mit Mehl und "
    "Wasser. Die Kruste wird in einem sehr heißen Ofen knusprig.",
}


class World:
    """Search, web and extraction of pages in hand; each is in the language of its dictionary."""

    identity = "pages"

    def __init__(self, pages: Mapping[str, Mapping[str, str]]) -> None:
        self.pages = {
            f"https://a.example/{name}": (language, text)
            for language, texts in pages.items()
            for name, text in texts.items()
        }

    async def __call__(self, query: str, knobs: SearchKnobs) -> SearchReply:
        results = (Result(url=url, title="", snippet="", rank=rank) for rank, url in enumerate(self.pages, 1))
        return SearchReply(backend="pages", results=tuple(results))


class Web(World):
    async def __call__(self, url: str, knobs: object) -> Document:  # type: ignore[override]
        body = self.pages[url][1].encode()
        return Document(url=url, status=200, media_type="text/plain", charset="utf-8", body=body)

    async def cached_page(self, url: str) -> None:
        return None


class Extract(World):
    async def __call__(self, document: Document, extractor: Extractor) -> Article:  # type: ignore[override]
        language, text = self.pages[document.url]
        return Article(text=text, extractor="whole text", language=language)


class Unasked(MultilingualUSE):
    """A model that must not be loaded."""

    async def __call__(self, texts: Sequence[str], on_retry: OnRetry | None = None) -> Embeddings:
        raise AssertionError("The model was asked.")


class Slow(MiniLM):
    """The English model, which never comes to an end with passages."""

    async def __call__(self, texts: Sequence[str], on_retry: OnRetry | None = None) -> Embeddings:
        if any(len(text) > MOST_QUESTION_LENGTH for text in texts):
            await asyncio.Event().wait()
        return await super().__call__(texts, on_retry)


class Told(MultilingualUSE):
    """The multilingual model, which tells when it was first asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def __call__(self, texts: Sequence[str], on_retry: OnRetry | None = None) -> Embeddings:
        self.asked.set()
        return await super().__call__(texts, on_retry)


class LateWeb(Web):
    """The web, whose page about the bridge comes when the multilingual model was asked."""

    def __init__(self, pages: Mapping[str, Mapping[str, str]], asked: asyncio.Event) -> None:
        super().__init__(pages)
        self.asked = asked

    async def __call__(self, url: str, knobs: object) -> Document:  # type: ignore[override]
        if url.endswith("bridge"):
            await self.asked.wait()
        return await super().__call__(url, knobs)


class Missing(MultilingualUSE):
    """A model whose package is gone."""

    async def __call__(self, texts: Sequence[str], on_retry: OnRetry | None = None) -> Embeddings:
        raise EmbedFailed("The model is not installed.")


MINILM, USE = MiniLM(), MultilingualUSE()


def ports(across: MultilingualUSE = USE, **pages: Mapping[str, str]) -> Ports:
    return Ports(
        search=World(pages),
        web=Web(pages),
        extract=Extract(pages),
        embed=MINILM,
        multilingual=across,
        chat=None,
    )


def embed_notices(run: Run) -> str:
    return " ".join(notice.message for notice in run.notices)


@pytest.mark.parametrize(
    ("question", "language"),
    [("Wie entsteht das Polarlicht?", "German"), ("太阳风的粒子如何产生极光？", "Chinese")],
)
async def test_a_question_is_answered_from_pages_in_another_language(question: str, language: str) -> None:
    run = await research(question, KNOBS, ports(en=ENGLISH))
    assert run.index is not None and run.index.embedder == USE_IDENTITY
    assert run.sources[0].url == "https://a.example/aurora"
    assert run.answer is not None and run.answer.kind is AnswerKind.EXTRACTIVE
    assert "solar wind hit the upper atmosphere.” (English) [1]" in run.text
    assert run.check.cited[0] == 1
    citations = tuple(find_citations(run.text, range(1, len(run.sources) + 1)))
    assert all(sentence.cites for sentence in read_sentences(run.text, citations))
    assert (
        f"The question is in {language}, and pages are in English: {passage_embedder(run)}"
        in embed_notices(run)
    )


async def test_cognates_of_another_language_do_not_hide_it() -> None:
    lights = ENGLISH["aurora"].replace("The polar lights", "Such hybrid lights, as the polar ones,", 1)
    english = ENGLISH | {"aurora": f"It was long unknown. {lights}"}
    run = await research("Was ist hybride Suche?", KNOBS, ports(en=english))
    assert run.index is not None and run.index.embedder == USE_IDENTITY


async def test_missing_text_is_not_answered_in_another_language() -> None:
    run = await research("Wer ist die Präsidentin von Island?", KNOBS, ports(en=ENGLISH))
    assert run.answer is not None and run.answer.kind is AnswerKind.NOT_FOUND


@pytest.mark.parametrize(
    ("question", "pages"),
    [
        ("How do polar lights arise?", {"en": ENGLISH}),
        ("Wie entsteht das Polarlicht?", {"de": GERMAN}),
        ("Los polar lights near poles", {"en": ENGLISH}),  # looks like Spanish
        ("How do polar lights arise?", {"hi": ENGLISH}),  # a language that the model does not know
        ("How do polar lights arise?", {"": ENGLISH}),
    ],
)
async def test_within_one_language_nothing_changes(question: str, pages: dict[str, dict[str, str]]) -> None:
    run = await research(question, KNOBS, ports(Unasked(), **pages))
    assert run.error is None and run.index is not None and run.index.embedder == MINILM.identity
    assert "The question is in" not in embed_notices(run)


async def test_passages_of_a_mixed_run_share_one_vector_space() -> None:
    run = await research("How do polar lights arise?", KNOBS, ports(en=ENGLISH, de=GERMAN))
    assert run.index is not None and run.index.vectors is not None
    assert run.index.embedder == USE_IDENTITY and run.index.vectors.shape == (5, 512)
    assert {source.url.rpartition("/")[2] for source in run.sources[:2]} == {"aurora", "nordlicht"}


async def test_the_multilingual_model_begins_before_the_last_page() -> None:
    pages, across = {"en": ENGLISH, "de": GERMAN}, Told()
    world = replace(ports(across, **pages), embed=Slow(), web=LateWeb(pages, across.asked))
    run = await research("How do polar lights arise?", KNOBS, world)
    assert run.error is None and run.index is not None and run.index.embedder == USE_IDENTITY
    assert len(run.index.passages) == 5 and not run.index.not_embedded


async def test_few_late_foreign_pages_leave_the_chosen_model() -> None:
    run = await research("How do polar lights arise?", KNOBS, ports(de=GERMAN, en=facts("en", ENGLISH, 40)))
    assert run.index is not None and run.index.embedder == MINILM.identity
    assert run.index.vectors is not None and run.index.vectors.shape[1] == 384


def facts(language: str, texts: Mapping[str, str], times: int) -> dict[str, str]:
    """One long page of paragraphs that differ."""
    paragraphs = (f"{text} That is fact number {n}." for n in range(times) for text in texts.values())
    return {f"facts_{language}": "\n\n".join(paragraphs)}


async def test_model_that_began_keeps_its_work_when_few_pages_are_missing_to_a_tenth() -> None:
    pages = ports(de=GERMAN, en=facts("en", ENGLISH, 20))
    run = await research("How do polar lights arise?", KNOBS, pages)
    assert run.index is not None and run.index.embedder == USE_IDENTITY
    foreign = sum(run.pages[passage.place.page].article.language == "de" for passage in run.index.passages)
    assert 0.05 <= foreign / len(run.index.passages) < 0.1


async def test_foreign_pages_count_beside_many_in_the_questions_language() -> None:
    pages = {"en": facts("en", ENGLISH, 100), "de": {**facts("de", GERMAN, 20), **GERMAN}}
    run = await research("How do polar lights and their particles arise?", KNOBS, ports(**pages))
    assert run.index is not None and run.index.embedder == USE_IDENTITY


async def test_foreign_passages_are_embedded_before_others_which_may_wait() -> None:
    pages = {"en": facts("en", ENGLISH, 150), "de": {**facts("de", GERMAN, 30), **GERMAN}}
    run = await research("How do polar lights and their particles arise?", KNOBS, ports(**pages))
    assert run.index is not None and run.index.embedder == USE_IDENTITY
    languages = [run.pages[passage.place.page].article.language for passage in run.index.passages]
    waiting = {languages[row] for row in run.index.waiting.tolist()}
    assert waiting == {"en"}, "BM25 knows nothing about the others"
    everything = await research(
        "How do polar lights and their particles arise?",
        replace(KNOBS, embed=replace(KNOBS.embed, everything_first=True)),
        ports(**pages),
    )
    assert everything.index is not None and not len(everything.index.waiting)
    assert [source.url for source in run.sources] == [source.url for source in everything.sources]


async def test_run_keeps_its_vector_space_when_tuned_and_answered_again() -> None:
    world = ports(en=ENGLISH)
    run = await research("Wie entsteht das Polarlicht?", KNOBS, world)
    tuned = await retune(run, replace(KNOBS, rank=replace(KNOBS.rank, top_k=1)), world)
    assert tuned.index is run.index
    again = await answer_again(run, world, retuned=tuned)
    assert again.answer is not None and again.answer.kind is AnswerKind.EXTRACTIVE


async def test_words_rank_without_the_model_and_a_note_says_so() -> None:
    run = await research("Wie entsteht das Polarlicht?", KNOBS, ports(Missing(), en=ENGLISH))
    assert run.ranking is not None and run.ranking.strategy == "bm25"
    assert "The model is not installed. Passages are ranked by BM25 only." in embed_notices(run)


async def test_data_set_across_languages_is_read_like_runs(engine: Engine) -> None:
    documents = tuple(CorpusDocument(id=name, title="", text=text) for name, text in ENGLISH.items())
    readers = []
    for text in ("Wie entsteht das Polarlicht?", "How do the polar lights arise?"):
        question = Question(id="lights", text=text, judgements={"aurora": 1})
        data = DataSet(name="lights", questions=(question,), documents=lambda: iter(documents))
        readers.append((await data_embedder(engine, data)).identity)
        assert (await answering_ports(engine, KNOBS, data)).embed.identity == readers[-1]
    assert readers == [USE_IDENTITY, MiniLM().identity]
