"""Extraction in worker processes: same results, and nothing that a page does reaches the caller."""

import asyncio
import io
import os
import signal
import struct
import sys
import time
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from PIL import Image

from core.adapters.web.extraction_pool import ExtractionPool
from core.model import Article, Document, Extractor, SkipReason, StructureKind, Unreadable
from core.reading import extract
from core.reading.article_limits import MAX_PAGES, SHORT_LIMIT, within_limits
from core.reading.normalization import MAX_CHARACTERS
from core.reading.replies import BODY_LIMIT, HEAD_LIMIT, encode_reply, read_reply
from core.run.page_request import Requester, page_request
from core.sandbox import Confinement, forks
from core.sandbox.frames import packed
from tests.hostile.victim import interpreter
from tests.reading.test_pdf import pdf

WORDS = "A paragraph is a group of sentences about one thing, and most readers look at its first sentence. "


def page(inner: str | bytes, media_type: str = "text/html") -> Document:
    body = inner if isinstance(inner, bytes) else inner.encode()
    return Document(
        url="https://example.org/page", status=200, media_type=media_type, charset="utf-8", body=body
    )


PAGE = page(
    f"<html lang=en><title>Paragraphs</title><article><p>{WORDS * 3}</p><p>{WORDS[2:] * 2}</p></article>"
)
STUCK = page(b"<p style='color:white'>x</p>" * 29_000)
"""Keeps the accurate extractor busy for seconds, and the fast one for about one."""
SLOW = page(b"<p>open " * 29_000)
"""Keeps the accurate extractor busy for seconds; the fast one reads it at once."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def workers() -> AsyncIterator[ExtractionPool]:
    async with ExtractionPool(1) as pool:
        await pool(PAGE, Extractor.FAST)
        yield pool


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def environment_of(pid: int) -> bytes:
    """What the process was given, where the system tells root; elsewhere nothing."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


async def all_gone(pids: set[int]) -> None:
    """Return when the processes have ended; a killed one takes a moment."""
    async with asyncio.timeout(10):
        while any(map(alive, pids)):
            await asyncio.sleep(0.01)


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("extractor", Extractor)
async def test_a_worker_reads_what_the_function_reads(workers: ExtractionPool, extractor: Extractor) -> None:
    article = await workers(PAGE, extractor)
    in_this_process = extract(PAGE, extractor)
    assert (article.text, article.title, article.language) == (
        in_this_process.text,
        in_this_process.title,
        in_this_process.language,
    )
    assert article.title == "Paragraphs"
    assert article.seconds > 0
    assert workers.fallback is None


async def test_the_readers_verdict_arrives_with_its_detail(workers: ExtractionPool) -> None:
    with pytest.raises(Unreadable) as caught:
        await workers(page("<div>" * 5_000 + "deep"), Extractor.ACCURATE)
    assert caught.value.reason is SkipReason.BROKEN
    assert "nested" in caught.value.detail


async def test_one_process_serves_many_documents(workers: ExtractionPool) -> None:
    before = workers.pids
    articles = await asyncio.gather(*(workers(PAGE, Extractor.FAST) for _ in range(20)))
    assert len({article.text for article in articles}) == 1
    assert workers.pids == before
    assert len(before) == 1


async def test_dead_worker_is_replaced_and_only_its_page_lost(workers: ExtractionPool) -> None:
    before = workers.pids
    job = asyncio.create_task(workers(STUCK, Extractor.ACCURATE))
    await asyncio.sleep(0)
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(Unreadable) as caught:
        await job
    assert caught.value.reason is SkipReason.CRASHED
    assert (await workers(PAGE, Extractor.FAST)).text
    assert workers.pids.isdisjoint(before)


async def test_document_over_time_is_given_up_and_its_worker_killed() -> None:
    async with ExtractionPool(1, html_seconds=0.3) as pool:
        await pool.start_one()
        busy = pool.pids
        with pytest.raises(Unreadable) as caught:
            await pool(STUCK, Extractor.ACCURATE)
        assert caught.value.reason is SkipReason.CRASHED
        assert "0.3 s" in caught.value.detail
        assert pool.pids.isdisjoint(busy)
        await all_gone(busy)


async def test_html_over_its_cpu_time_gets_the_fast_extractor() -> None:
    async with ExtractionPool(1, html_cpu_seconds=0.8) as pool:
        await pool.start_one()
        before = pool.pids
        article = await pool(SLOW, Extractor.ACCURATE)
        assert article.extractor == "resiliparse"
        assert article.fallback == "accurate extractor: not read within 0.8 s"
        assert article.text.startswith("open")
        assert before - pool.pids, "the process was ended"
        assert not (await pool(PAGE, Extractor.ACCURATE)).fallback


async def for_run(pool: ExtractionPool, document: Document, run: Requester) -> Article:
    with page_request(run):
        return await pool(document, Extractor.ACCURATE)


async def test_pages_of_another_run_are_read_beside_slow_ones() -> None:
    bad, good = Requester(), Requester()
    async with ExtractionPool(2, html_cpu_seconds=0.6) as pool:
        await pool.start()
        slow = [asyncio.create_task(for_run(pool, SLOW, bad)) for _ in range(3)]
        await asyncio.sleep(0)
        await asyncio.gather(*(for_run(pool, PAGE, good) for _ in range(10)))
        assert sum(task.done() for task in slow) < 3
        articles = await asyncio.gather(*slow)
    assert all(article.fallback and article.text for article in articles)


async def test_page_gives_its_process_up_to_a_waiting_run() -> None:
    async with ExtractionPool(1, slice_seconds=0.2) as pool:
        await pool.start()
        slow = [asyncio.create_task(for_run(pool, SLOW, Requester())) for _ in range(2)]
        await asyncio.sleep(0)
        assert (await for_run(pool, PAGE, Requester())).title == "Paragraphs"
        articles = await asyncio.gather(*slow)
    assert all(article.text for article in articles)
    assert any("another run waited" in article.fallback for article in articles)


async def test_a_cancelled_caller_leaves_its_worker_usable(workers: ExtractionPool) -> None:
    before = workers.pids
    job = asyncio.create_task(workers(page(f"<p>{WORDS * 2000}</p>"), Extractor.ACCURATE))
    waiting = asyncio.create_task(workers(PAGE, Extractor.FAST))
    await asyncio.sleep(0)
    job.cancel()
    waiting.cancel()
    await asyncio.gather(job, waiting, return_exceptions=True)
    assert (await workers(PAGE, Extractor.FAST)).title == "Paragraphs"
    assert workers.pids == before


async def test_a_worker_has_no_secrets_and_no_foreign_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "canary")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "json.py").write_text("raise SystemExit('imported from a folder that is not ours')")
    monkeypatch.chdir(tmp_path)
    async with ExtractionPool(1) as pool:
        await pool.start_one()
        (pid,) = pool.pids
        assert pool.fallback is None
        assert b"canary" not in environment_of(pid)
        assert (await pool(PAGE, Extractor.FAST)).text


@pytest.mark.skipif(os.name == "nt", reason="the interpreter is a shell script")
async def test_worker_loads_only_libraries_that_reading_needs(tmp_path: Path) -> None:
    async with ExtractionPool(1, python=str(interpreter(tmp_path))) as pool:
        loaded = await pool(page("import sys; found = sorted(sys.modules)"), Extractor.ACCURATE)
    assert "'lxml.etree'" in loaded.text
    assert "'pydantic_core'" not in loaded.text


async def test_memory_beyond_the_limit_ends_the_page_not_the_caller() -> None:
    async with ExtractionPool(1, megabytes=250) as pool:
        greedy = page("[" + "[1],\n" * 3_000_000 + "1]", "application/json")
        with pytest.raises(Unreadable) as caught:
            await pool(greedy, Extractor.FAST)
        assert caught.value.reason is SkipReason.CRASHED
        assert "memory" in caught.value.detail
        assert (await pool(PAGE, Extractor.FAST)).text


async def test_closing_ends_every_process() -> None:
    pool = ExtractionPool(1)
    await pool.start()
    started = pool.pids
    assert len(started) == 2
    job = asyncio.create_task(pool(STUCK, Extractor.ACCURATE))
    await asyncio.sleep(0)
    await pool.aclose()
    await all_gone(started)
    with pytest.raises((Unreadable, asyncio.CancelledError)):
        await job


async def test_thread_reads_where_processes_cannot_start_and_says_so() -> None:
    async with ExtractionPool(1, python="/nowhere/python") as pool:
        await pool.start()
        assert pool.fallback is not None
        assert "thread" in pool.fallback
        message = pool.fallback
        assert (await pool(PAGE, Extractor.ACCURATE)).title == "Paragraphs"
        with pytest.raises(Unreadable) as caught:
            await pool(page("<div>" * 5_000), Extractor.FAST)
        assert caught.value.reason is SkipReason.BROKEN
        assert pool.fallback == message


async def test_where_processes_can_start_again_they_read_again(tmp_path: Path) -> None:
    python = tmp_path / "python"
    async with ExtractionPool(1, python=str(python), retry_seconds=0) as pool:
        assert (await pool(PAGE, Extractor.FAST)).title == "Paragraphs"
        assert pool.fallback is not None
        assert not pool.pids
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        python.chmod(0o700)
        assert (await pool(PAGE, Extractor.FAST)).title == "Paragraphs"
        assert pool.fallback is None
        assert len(pool.pids) == 1


async def test_worker_that_does_not_start_costs_only_one_page(
    tmp_path: Path,
) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o700)
    async with ExtractionPool(1, python=str(python)) as pool:
        await pool(PAGE, Extractor.FAST)
        for pid in pool.pids:
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(Unreadable, match="took its reader down"):
            await pool(PAGE, Extractor.FAST)
        python.chmod(0o600)
        with pytest.raises(Unreadable) as caught:
            await pool(PAGE, Extractor.FAST)
        assert caught.value.reason is SkipReason.CRASHED
        assert "no process could be started" in caught.value.detail
        assert pool.fallback is None
        python.chmod(0o700)
        assert (await pool(PAGE, Extractor.FAST)).title == "Paragraphs"


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.skipif(not forks.available(), reason="processes are not forked on this system")
async def test_forking_process_is_replaced_when_it_has_ended() -> None:
    async with ExtractionPool(1) as pool:
        await pool.start_one()
        (worker,) = pool.pids
        server = parent_of(worker)
        assert server != os.getpid()
        os.kill(server, signal.SIGKILL)
        await all_gone({server})
        assert (await pool(PAGE, Extractor.FAST)).title == "Paragraphs"
        os.kill(worker, signal.SIGKILL)
        with pytest.raises(Unreadable, match="took its reader down"):
            await pool(PAGE, Extractor.FAST)
        assert (await pool(PAGE, Extractor.FAST)).title == "Paragraphs"
        (worker,) = pool.pids
        server = parent_of(worker)
    await all_gone({server, worker})


@pytest.mark.skipif(not forks.available(), reason="processes are not forked on this system")
async def test_forked_processes_are_confined_as_started_ones() -> None:
    async with ExtractionPool(1) as forked, ExtractionPool(1, python=sys.executable) as started:
        await asyncio.gather(forked.start_one(), started.start_one())
        assert forked.confinement == started.confinement
        assert {parent_of(pid) for pid in started.pids} == {os.getpid()}


async def test_pages_that_come_while_processes_start_wait_for_them() -> None:
    async with ExtractionPool(1) as pool:
        pages = (pool(PAGE, Extractor.FAST) for _ in range(3))
        await asyncio.gather(pool.start(), *pages, pool.start())
        assert len(pool.pids) == 2


async def test_one_process_is_started_once_and_never_beside_others() -> None:
    async with ExtractionPool(3) as pool:
        await asyncio.gather(pool.start_one(), pool(PAGE, Extractor.FAST), pool.start_one())
        assert len(pool.pids) == 1
        assert pool.confinement.in_force or pool.confinement.missing
        await pool.start_one()
        assert len(pool.pids) == 1


async def test_ready_process_is_kept_and_an_ended_one_replaced() -> None:
    bad, good = Requester(), Requester()
    async with ExtractionPool(1, html_cpu_seconds=0.6) as pool:
        await pool.start()
        ready = pool.pids
        slow = asyncio.create_task(for_run(pool, SLOW, bad))
        await asyncio.sleep(0)
        assert (await for_run(pool, PAGE, good)).title == "Paragraphs"
        assert pool.pids == ready, "no process was started for it"
        await slow
        await pool.start()
        assert len(pool.pids) == len(ready)
        assert len(pool.pids - ready) == 1


READY = encode_reply(Confinement(()))
ARTICLE = Article(
    text="Kettles boil.",
    extractor="",
    sections=((0, "a"), (5, "b")),
    page_starts=(0, 4),
    structures=((0, 3, StructureKind.TABLE), (3, 9, StructureKind.CODE)),
    kept=((1, 4), (8, 9)),
)
ARTICLE_HEAD, ARTICLE_BODY = encode_reply(ARTICLE)


def numbers(*row: int) -> bytes:
    return struct.pack(f">{len(row)}I", *row)


def with_number(place: int, number: int) -> bytes:
    """The head of the article with another number at this place, counted from the end if negative."""
    row = list(struct.unpack(f">{len(ARTICLE_HEAD) // 4}I", ARTICLE_HEAD))
    row[place] = number
    return numbers(*row)


def worker_that_says(folder: Path, *frames: tuple[bytes, bytes]) -> Path:
    """An interpreter that starts as a worker does and answers its first request with these frames."""
    folder.joinpath("frames").write_bytes(b"".join(piece for frame in frames for piece in packed(*frame)))
    folder.joinpath("ready").write_bytes(b"".join(packed(*READY)))
    script = folder / "worker.py"
    script.write_text(
        "import sys, pathlib\n"
        "out, here = sys.stdout.buffer, pathlib.Path(__file__).parent\n"
        "out.write((here / 'ready').read_bytes()); out.flush()\n"
        "sys.stdin.buffer.read(1)\n"
        "out.write((here / 'frames').read_bytes()); out.flush()\n"
        "sys.stdin.buffer.read()\n"
    )
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{script}"\n')
    python.chmod(0o700)
    return python


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def taken_over(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[ExtractionPool, Path]]:
    """A pool whose processes say what `worker_that_says` last wrote into this folder."""
    folder = tmp_path_factory.mktemp("taken_over")
    async with ExtractionPool(1, python=str(worker_that_says(folder))) as pool:
        yield pool, folder


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (b"", b""),
        (b"abc", b""),
        (b"[]" * 500, b"[]," * 1_000_000),
        (numbers(9, 0), b""),
        (numbers(2, 2**32 - 1), b""),
        (numbers(1, 1, 2, 99, 0), b"no"),
        (numbers(1, 1, 1, 0, 0), b"no"),
        (numbers(3, 0), b"<svg onload=alert(1)>"),
        (numbers(3, 0), b"\x89PNG\r\n\x1a\n"),
        READY,
        (ARTICLE_HEAD, ARTICLE_BODY.replace(b"Ket", b"\xed\xa0\x80")),
        (ARTICLE_HEAD, ARTICLE_BODY + b"a"),
        (ARTICLE_HEAD[:-4], ARTICLE_BODY),
        (with_number(-1, 14), ARTICLE_BODY),
        (with_number(-2, 3), ARTICLE_BODY),
        (with_number(-5, 2), ARTICLE_BODY),
        (with_number(-6, 14), ARTICLE_BODY),
        (with_number(-7, 2), ARTICLE_BODY),
        (with_number(-11, 14), ARTICLE_BODY),
        (with_number(-12, 6), ARTICLE_BODY),
        (with_number(-13, 14), ARTICLE_BODY),
        (with_number(-17, 3), ARTICLE_BODY),
        (with_number(-20, 2**32 - 1), ARTICLE_BODY),
        encode_reply(Article(text="a" * (MAX_CHARACTERS + 1), extractor="")),
        encode_reply(Article(text="a", extractor="", title="a" * (SHORT_LIMIT + 1))),
        encode_reply(Article(text="a", extractor="", page_starts=(0,) * (MAX_PAGES + 1))),
        (bytes(HEAD_LIMIT + 4), b""),
        (b"", bytes(BODY_LIMIT + 1)),
    ],
    ids=lambda part: f"{len(part)} bytes",
)
async def test_compromised_worker_can_only_send_valid_replies(
    taken_over: tuple[ExtractionPool, Path], head: bytes, body: bytes
) -> None:
    pool, folder = taken_over
    worker_that_says(folder, (head, body))
    with pytest.raises(Unreadable) as caught:
        await pool(PAGE, Extractor.FAST)
    assert caught.value.reason is SkipReason.CRASHED
    assert not pool.pids


async def test_compromised_worker_reads_no_second_page(
    taken_over: tuple[ExtractionPool, Path],
) -> None:
    pool, folder = taken_over
    worker_that_says(folder, (b"", b""))
    with pytest.raises(Unreadable):
        await pool(PAGE, Extractor.FAST)
    folder.joinpath("python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    assert (await pool(PAGE, Extractor.FAST)).title == "Paragraphs"
    assert pool.fallback is None


async def test_longest_reply_holds_up_the_loop_only_briefly(
    tmp_path: Path,
) -> None:
    text = "🫖" * MAX_CHARACTERS
    reply = encode_reply(Article(text=text, extractor="", page_starts=tuple(range(MAX_PAGES))))
    longest, ended = 0.0, asyncio.Event()

    async def watch() -> None:
        nonlocal longest
        while not ended.is_set():
            began = time.monotonic()
            await asyncio.sleep(0)
            longest = max(longest, time.monotonic() - began)

    async with ExtractionPool(1, python=str(worker_that_says(tmp_path, reply))) as pool:
        await pool.start()
        watching = asyncio.create_task(watch())
        tracemalloc.start()
        try:
            article = await pool(PAGE, Extractor.FAST)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
            ended.set()
        await watching
    assert article.text == text
    assert peak < 8 * len(reply[1])
    assert longest < 1


async def test_foreign_text_is_made_valid_where_it_enters() -> None:
    article = within_limits(
        Article(
            text="a\ud800b",
            extractor="\udfff",
            title="\ud83e\uded6",
            hidden="\udc00",
            sections=((1, "\ud800"), (9, "beyond")),
        )
    )
    assert (article.text, article.title, article.hidden) == ("a\ufffdb", "🫖", "\ufffd")
    assert article.sections == ((1, "\ufffd"),)
    assert read_reply(*encode_reply(article)) == article


async def test_existing_pdf_page_is_drawn_and_a_missing_one_not(workers: ExtractionPool) -> None:
    body = pdf(["First page."], ["Second page."])
    picture = Image.open(io.BytesIO(await workers.draw(body, 2, 500)))
    assert (picture.width, picture.height) == (500, 648)
    dark = [
        row
        for row in range(picture.height)
        if min(picture.crop((0, row, 500, row + 1)).convert("L").tobytes()) < 99
    ]
    assert dark, "the words are drawn"
    assert max(dark) < 648 * 0.1, "at the top, where they stand"
    for number in (0, 3):
        with pytest.raises(Unreadable, match="2 pages"):
            await workers.draw(body, number, 500)
    with pytest.raises(Unreadable, match="damaged"):
        await workers.draw(b"%PDF-1.4 nothing", 1, 500)
    assert (await workers(PAGE, Extractor.FAST)).title == "Paragraphs"


async def test_a_page_of_any_shape_is_drawn_within_bounds(workers: ExtractionPool) -> None:
    long = pdf(["x"]).replace(b"[0 0 612 792]", b"[0 0 1 99999]")
    picture = Image.open(io.BytesIO(await workers.draw(long, 1, 100_000)))
    assert picture.width <= 2_000
    assert picture.height <= 6_001
