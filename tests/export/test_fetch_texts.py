"""Texts that were left out are fetched again, from pages that are as they were, have changed, or are gone."""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.config.knobs import ChunkKnobs, Knobs, PlanKnobs, RankKnobs, ReadKnobs, SearchKnobs, Strategy
from core.config.settings import Settings
from core.errors import BadInput
from core.export.formats import export
from core.methods.phases import numbered_sources
from core.model import PassageState
from core.run.recorded_run import RecordedRun
from core.run.state import Run
from core.runtime.registry import RunRegistry
from tests.faults.world import Site
from tests.seeding import until_ended
from tests.services.command_line import openquery
from tests.services.loopback import Reply, Request, html_reply, json_reply

pytestmark = pytest.mark.slow

KNOBS = Knobs(
    plan=PlanKnobs(queries=1),
    search=SearchKnobs(backend="searxng"),
    read=ReadKnobs(early_cut_percent=0),
    chunk=ChunkKnobs(size=200, overlap=0),
)
SUBJECTS = ("kettles", "teapots", "samovars", "urns")
ADDED = "This paragraph about something else was put before the others of the page some time later. "


def article(number: int, *paragraphs: str) -> Reply:
    body = "".join(f"<p>{text}</p>" for text in paragraphs)
    return html_reply(
        f"<html><head><title>Page {number}</title></head><body><article>{body}</article></body></html>"
    )


def paragraphs(number: int) -> tuple[str, ...]:
    subject = SUBJECTS[number - 1]
    return tuple(
        f"The {ordinal} thing that {subject} do is to boil the water of {ordinal} cups, which {subject} of every make "
        f"and every century have always done with {ordinal} handles and without any haste."
        for ordinal in ("first", "second", "third", "fourth")
    )


class Pages(Site):
    """Four pages about different things."""

    async def _reply(self, request: Request) -> Reply:
        if request.path == "/robots.txt":
            return html_reply(status=404)
        return await super()._reply(request)

    def results(self) -> Reply:
        rows = [
            {"url": f"{self.url}/page/{n}", "title": f"Page {n}", "content": f"A snippet {n}."}
            for n in (1, 2, 3, 4)
        ]
        return json_reply({"results": rows})


@pytest.fixture
def site() -> Iterator[Pages]:
    with Pages() as site:
        site.pages = {number: article(number, *paragraphs(number)) for number in (1, 2, 3, 4)}
        yield site


@pytest.fixture
def runs(tmp_path: Path, site: Pages) -> Iterator[RunRegistry]:
    runs = RunRegistry(
        Settings(
            data=tmp_path / "data",
            ollama_url="",
            searxng_url=site.url,
            fetch_allowlist=f"127.0.0.1:{site.port}",
            workers=1,
        )
    )
    yield runs
    runs.close()


def asked(runs: RunRegistry) -> RecordedRun:
    run_id = runs.start("What do kettles do?", KNOBS)
    until_ended(runs, [run_id])
    recorded = runs.recorded(run_id)
    assert recorded is not None and len(recorded.run.pages) == 4
    return recorded


def states(run: Run, number: int) -> list[PassageState]:
    digests = next(page.article.digests for page in run.pages.values() if page.url.endswith(f"/{number}"))
    assert digests is not None and digests.passages
    return [passage.state for passage in digests.passages]


def test_the_same_pages_make_the_run_whole_so_that_it_ranks_and_answers(runs: RunRegistry) -> None:
    recorded = asked(runs)
    file = export(recorded, ".offsets.zip")
    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        parts = b"".join(map(archive.read, archive.namelist()))
    assert not any(words in parts for words in (b"boil the water", b"without any haste", b"A snippet"))
    run_id = runs.import_run(file)
    run = runs.left_out_texts.fetch(run_id)
    assert run.index is not None and recorded.run.index is not None
    assert run.index.passages == recorded.run.index.passages
    assert [page.text for page in run.pages.values()] == [page.text for page in recorded.run.pages.values()]
    stored = runs.store.load(run_id)
    assert stored is not None and stored.index is not None and stored.index.passages == run.index.passages
    assert "unchanged" in " ".join(map(str, run.notices))
    assert "not here" not in " ".join(map(str, run.notices))
    job = runs.retuning.start("session", run_id, Knobs(chunk=KNOBS.chunk, rank=RankKnobs(top_k=2)))
    assert job is not None
    job.wait(60)
    assert job.run.error is None and job.run.index is not None and job.run.index.vectors is not None
    assert "░" not in "".join(source.text for source in numbered_sources(run))
    with pytest.raises(BadInput, match="No texts were left out"):
        runs.left_out_texts.fetch(run_id)


def test_each_passage_is_told_unchanged_moved_changed_or_gone(runs: RunRegistry, site: Pages) -> None:
    run_id = runs.import_run(export(asked(runs), ".offsets.zip"))
    site.pages[2] = article(2, ADDED * 2, *paragraphs(2))
    site.pages[3] = article(3, *(text.replace("water", "milk") for text in paragraphs(3)))
    site.pages[4] = Reply(status=302, headers={"location": "http://127.0.0.9/private"}, parts=())
    run = runs.left_out_texts.fetch(run_id)
    assert set(states(run, 1)) == {PassageState.UNCHANGED}
    assert set(states(run, 2)) == {PassageState.MOVED}
    assert set(states(run, 3)) == {PassageState.CHANGED}
    assert set(states(run, 4)) == {PassageState.GONE}
    assert run.index is not None
    here = {passage.place.page[-1] for passage in run.index.passages if "░" not in passage.text}
    assert here == {"1", "2"}
    (problem,) = {page.article.digests.problem for page in run.pages.values() if page.article.digests} - {""}
    assert "address not allowed" in problem and "127.0.0.9" not in {request.path for request in site.requests}
    assert "texts of 3 of 4 pages are not here" in " ".join(map(str, run.notices))
    rank = RankKnobs(strategy=Strategy.BM25)
    job = runs.retuning.start("session", run_id, Knobs(chunk=KNOBS.chunk, rank=rank))
    assert job is not None
    job.wait(60)
    assert job.run.index is not None and {p.place.page[-1] for p in job.run.index.passages} == {"1"}
    site.pages[4] = article(4, *paragraphs(4))
    assert set(states(runs.left_out_texts.fetch(run_id), 4)) == {PassageState.UNCHANGED}


def test_a_terminal_tells_what_became_of_them(runs: RunRegistry, site: Pages, tmp_path: Path) -> None:
    file = tmp_path / "run.offsets.zip"
    file.write_bytes(export(asked(runs), ".offsets.zip"))
    site.pages[4] = html_reply(status=404)
    allowed = {"OPENQUERY_ALLOW": f"127.0.0.1:{site.port}"}
    opened = openquery(tmp_path / "other", "open", str(file), "--fetch-texts", **allowed)
    assert opened.code == 4, opened.err
    assert f"gone: {site.url}/page/4" in opened.err and "404" in opened.err
    assert "Pages were fetched again." in opened.err
    plain = openquery(tmp_path / "other", "open", str(file), **allowed)
    assert (plain.code, plain.err.count("gone")) == (0, 0)
    blocked = openquery(tmp_path / "third", "open", str(file), "--fetch-texts")
    assert blocked.code == 4 and "address not allowed" in blocked.err


def test_a_run_is_ranked_again_where_its_search_is_not_connected(runs: RunRegistry, tmp_path: Path) -> None:
    file = export(asked(runs), ".zip")
    elsewhere = RunRegistry(Settings(data=tmp_path / "elsewhere", ollama_url="", workers=1))
    run_id = elsewhere.import_run(file)
    job = elsewhere.retuning.start("session", run_id, Knobs(chunk=KNOBS.chunk, rank=RankKnobs(top_k=2)))
    assert job is not None
    job.wait(60)
    error, ranking = job.run.error, job.run.ranking
    elsewhere.close()
    assert error is None and ranking is not None and len(ranking.context) == 2
