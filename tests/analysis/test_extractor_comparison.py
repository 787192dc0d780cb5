from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.analysis.extractor_comparison import (
    COMPARED_SENTENCES,
    ExtractorResult,
    absence_from_article,
    compare_extractors,
    compared,
)
from core.analysis.text_diff import DiffKind
from core.config.knobs import Knobs, SearchKnobs
from core.config.settings import Settings
from core.features.share.without_texts import without_texts
from core.followups import NOT_KEPT, read_as
from core.model import Article, Author, Extractor, Hit, Query, SkipReason, Unreadable
from core.pipeline import research
from core.reading.absence import Absence
from core.run import events as e
from core.run.codec import event_from_json, event_to_json, run_to_json
from core.run.importer import run_from_json
from core.run.recorded_run import RecordedRun
from core.run.state import Run
from core.runtime.engine import Engine
from core.storage.bundle import from_bundle, to_bundle
from core.text.urls import canonical_url
from tests.services.loopback import Loopback, Reply, Request

pytestmark = pytest.mark.slow


DEMO = Knobs(search=SearchKnobs(backend="demo", results=3))
PARAGRAPH = "The ferry Alma left the harbour on Monday with many people on board, and the weather was fine. "
HTML = f"""<html><head><title>A ferry leaves</title></head><body>
<nav><ul><li>Home page of the paper</li><li>All our newsletters</li></ul></nav>
<article><h1>A ferry leaves</h1>{"".join(f"<p>{n}. {PARAGRAPH * 2}</p>" for n in range(6))}</article>
<footer>Imprint and terms of use</footer></body></html>"""


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with Engine(
        Settings(data=tmp_path, ollama_url="", fetch_allowlist="127.0.0.1/32", workers=1)
    ) as engine:
        yield engine


def run_with(url: str) -> Run:
    hit = Hit(key=canonical_url(url), url=url, title="", snippet="", found=(), score=1.0)
    return Run(question="?", queries=(Query(text="?", author=Author.PERSON),), hits=(hit,))


class Site(Loopback):
    def __init__(self, keep: str) -> None:
        super().__init__(self._reply)
        self.keep = keep

    async def _reply(self, request: Request) -> Reply:
        if request.path != "/page":
            return Reply((b"",), status=404)
        return Reply((HTML.encode(),), content_type="text/html", headers={"Cache-Control": self.keep})

    @property
    def pages(self) -> int:
        return sum(request.path == "/page" for request in self.requests)


async def test_kept_page_is_read_by_every_extractor_without_fetching(engine: Engine) -> None:
    with Site("max-age=600") as site:
        ports = await engine.ports(DEMO)
        run = run_with(f"{site.url}/page")
        key = run.hits[0].key
        assert await compare_extractors(run, key, ports) is None, "it was never fetched"
        fetched = await compare_extractors(run, key, ports, fetch=True)
        assert fetched is not None and not fetched.from_cache
        again = await compare_extractors(run, key, ports)
        assert again is not None and again.from_cache
        assert site.pages == 1
    assert again.visible.article is not None
    assert "Home page of the paper" in again.visible.article.text
    assert [result.extractor for result in again.results] == [Extractor.ACCURATE, Extractor.FAST]
    for result in again.results:
        assert result.article is not None
        left_out = {piece.text for piece in result.pieces if piece.kind is DiffKind.REMOVED}
        kept = [piece.text for piece in result.pieces if piece.kind is DiffKind.COMMON]
        assert any("newsletters" in text for text in left_out)
        assert any("ferry Alma" in text for text in kept)
        assert 0.5 < result.kept < 1


async def test_page_that_may_not_be_kept_is_fetched_again(engine: Engine) -> None:
    with Site("no-store") as site:
        ports = await engine.ports(DEMO)
        run = run_with(f"{site.url}/page")
        await compare_extractors(run, run.hits[0].key, ports, fetch=True)
        assert await compare_extractors(run, run.hits[0].key, ports) is None
        assert await compare_extractors(run, "https://unknown.example", ports, fetch=True) is None
    gone = run_with(f"{site.url}/gone")
    with pytest.raises(Unreadable):
        await compare_extractors(gone, gone.hits[0].key, ports, fetch=True)


async def test_pages_of_the_demo_library_are_always_at_hand(engine: Engine) -> None:
    ports = await engine.ports(DEMO)
    run = await research("How does chunk overlap affect retrieval?", DEMO, ports)
    key = next(iter(run.pages))
    comparison = await compare_extractors(run, key, ports)
    assert comparison is not None
    assert comparison.used == run.pages[key].text
    accurate = next(result for result in comparison.results if result.extractor is Extractor.ACCURATE)
    assert accurate.article is not None and accurate.article.text == comparison.used


async def test_one_page_is_extracted_differently_and_ranked_again(engine: Engine) -> None:
    ports = await engine.ports(DEMO)
    run = await research("How does chunk overlap affect retrieval?", DEMO, ports)
    first, *others = run.pages
    events: list[e.Event] = []
    tuned = await read_as(run, first, Extractor.VISIBLE, ports, lambda record, _: events.append(record.event))
    assert len(tuned.pages[first].text) > len(run.pages[first].text)
    assert all(tuned.pages[key] == run.pages[key] for key in others)
    assert [event.key for event in events if isinstance(event, e.FetchStarted)] == [first]
    assert tuned.index is not None and tuned.ranking is not None
    assert len(tuned.ranking.order) == len(tuned.index.passages)
    for passage in tuned.index.passages:
        place = passage.place
        assert tuned.pages[place.page].text[place.start : place.end] == passage.text
    lost = replace(run, hits=tuple(replace(hit, url=f"{hit.url}-gone") for hit in run.hits))
    same = await read_as(lost, first, Extractor.FAST, ports)
    assert same.pages == run.pages
    assert same.ranking is run.ranking
    assert same.notes[-1].hint
    assert same.skips == run.skips, "the page in hand is not skipped"


@pytest.mark.parametrize(("visible", "text"), [("", ""), ("Seen.", ""), ("", "Read."), ("—", "…")])
def test_nothing_to_compare_keeps_nothing(visible: str, text: str) -> None:
    article = Article(text=text, extractor="test") if text else None
    error = str(Unreadable(SkipReason.EMPTY))
    comparison = compared(visible, ExtractorResult(extractor=Extractor.FAST, article=article, error=error))
    assert comparison.kept == 0
    assert comparison.error == error


def test_long_pages_are_compared_up_to_a_stated_limit() -> None:
    said = [f"Sentence {n % 3000} of a long page." for n in range(20_000)]
    article = Article(text="\n".join(said[::2]), extractor="t")
    comparison = compared("\n".join(said), ExtractorResult(extractor=Extractor.FAST, article=article))
    assert comparison.truncated
    assert (
        len([piece for piece in comparison.pieces if piece.kind is not DiffKind.ADDED]) == COMPARED_SENTENCES
    )


async def test_text_that_no_extractor_kept_has_a_reason(
    engine: Engine,
) -> None:
    with Site("max-age=60") as site:
        run, key = run_with(f"{site.url}/page"), canonical_url(f"{site.url}/page")
        ports = await engine.ports(DEMO)

        async def reason(text: str) -> Absence | None:
            return await absence_from_article(
                run, key, text, Extractor.ACCURATE, ports=ports, find_absence=engine.workers.absence
            )

        assert await reason("Imprint and terms of use") is None  # nothing is fetched for it
        await compare_extractors(run, key, ports, fetch=True)
        assert await reason("Imprint and terms of use") is Absence.AROUND
        assert await reason("The ferry Alma left the harbour on Monday") is Absence.PRESENT
        assert await reason("The ferry sank") is Absence.ELSEWHERE


async def test_kept_text_stays_in_the_run_until_removed(engine: Engine) -> None:
    text = "Imprint and terms of use"
    with Site("max-age=60") as site:
        ports = await engine.ports(DEMO)
        key = canonical_url(f"{site.url}/page")
        found = replace(run_with(f"{site.url}/page"), id="kept-by-hand-0001")
        plain = await read_as(found, key, Extractor.ACCURATE, ports)
        records: list[e.Record] = []
        run = await read_as(
            plain,
            key,
            Extractor.ACCURATE,
            ports,
            lambda record, _: records.append(record),
            kept=["IMPRINT and"],
        )
        assert run.pages[key].article.kept_texts == (text,)
        assert run.text == plain.text and run.pages[key].text == f"{plain.pages[key].text}\n\n{text}"
        assert run.index is not None and any(text in passage.text for passage in run.index.passages)
        notice = "1 block kept by hand on “A ferry leaves”."
        assert notice in [notice.message for notice in run.notices]
        again = RecordedRun.folded(
            [replace(record, event=event_from_json(event_to_json(record.event))) for record in records], plain
        ).run
        imported = run_from_json(run_to_json(run))
        left = from_bundle(to_bundle(without_texts(RecordedRun(run=run, base=run)))).run
        for copy in (again, imported, left):
            assert copy.pages[key].article.kept == run.pages[key].article.kept
            assert notice in [notice.message for notice in copy.notices]
        assert (
            await absence_from_article(
                run, key, text, Extractor.ACCURATE, ports=ports, find_absence=engine.workers.absence
            )
            is Absence.PRESENT
        )
        comparison = await compare_extractors(run, key, ports)
        assert comparison is not None and comparison.kept_by_hand == (text,)
        assert comparison.in_use is Extractor.ACCURATE
        fast = await read_as(run, key, Extractor.FAST, ports)
        assert fast.pages[key].article.kept_texts == (text,), "another extractor keeps it too"
        refused = await read_as(run, key, Extractor.ACCURATE, ports, kept=[text, "Nothing of the page"])
        assert refused.notes[-1].message == NOT_KEPT
        assert refused.pages[key].text == run.pages[key].text
        undone = await read_as(run, key, Extractor.ACCURATE, ports, kept=[])
        assert undone.pages[key].text == plain.pages[key].text
        assert notice not in [notice.message for notice in undone.notices]
        assert site.pages == 1
