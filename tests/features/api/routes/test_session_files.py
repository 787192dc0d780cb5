"""Files of a session: found by its own questions, by page, and by nobody else."""

import asyncio
import os
import time
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from core.config.access import NO_ACCESS
from core.errors import BadInput, LibraryFailed
from core.features.api.service import MOST_UPLOADS, Uploads
from core.features.library.services.connections import LibraryConnections
from core.features.library.session_files import MOST_FILES, SessionFiles, SessionFilesPool
from core.model import Article, Document, Extractor
from core.serving.problems import Refusal
from tests.features.api.conftest import PATIENCE, Api, Serve
from tests.reading.office_files import docx, packed
from tests.reading.test_pdf import pdf
from tests.services.openai_server import EMBEDDER, MODEL, FakeOpenAI
from tests.stages.fakes import WordEmbed

pytestmark = pytest.mark.slow

HERE = {"origin": "library", "collections": ["session"]}
MILLS = pdf(
    ["The title page of a book on mills."],
    ["A watermill turns grain into flour by the weight of falling water."],
    ["A windmill needs a miller who turns its cap into the wind every morning."],
)


@pytest.fixture
def header(api: Api) -> dict[str, str]:
    return api.connect()


def settled(api: Api, header: dict[str, str], name: str, body: bytes) -> dict[str, Any]:
    """The file's state once it has come to an end."""
    reply = api.put(f"/session/files/{name}", content=body, headers=header)
    assert reply.status_code == 202, reply.text
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        (state,) = [file for file in api.get("/session/files", headers=header).json() if file["name"] == name]
        if state["state"] in ("done", "failed"):
            ended_state: dict[str, Any] = state
            return ended_state
        time.sleep(0.02)
    pytest.fail("the file was never read")


def test_question_finds_the_page_of_a_session_file(api: Api, header: dict[str, str]) -> None:
    state = settled(api, header, "mills.pdf", MILLS)
    assert (state["state"], state["pages"], state["passages"], state["reason"]) == ("done", 3, 3, "")
    reply = api.post("/qa", json={"question": "Who turns the cap of a windmill?", **HERE}, headers=header)
    best = reply.raise_for_status().json()["sources"][0]
    assert "miller who turns its cap" in best["content_snippet"]
    assert (best["source_metadata"]["page"], best["source_metadata"]["site"]) == (3, "mills.pdf")
    session_data = api.get("/session", headers=header).json()
    assert (session_data["files"], session_data["uploaded_files"]) == ([state], {"mills.pdf": state})
    assert (state["content_type"], state["sent"], state["file_id"]) == ("application/pdf", False, "")


def test_no_other_session_finds_a_file(api: Api, header: dict[str, str]) -> None:
    settled(api, header, "mills.pdf", MILLS)
    for other in ({}, api.connect()):
        reply = api.post("/qa", json={"question": "What does a windmill need?", **HERE}, headers=other)
        assert "miller" not in reply.text
        assert reply.json().get("error") or reply.status_code >= 400
    assert api.get("/session/files", headers=api.connect()).json() == []
    assert "session" not in str(api.runs.call(api.runs.engine.part(LibraryConnections).database.names()))


def test_file_of_equal_name_is_replaced_and_a_deleted_one_gone(api: Api, header: dict[str, str]) -> None:
    settled(api, header, "notes.md", b"# Mills\n\nA windmill needs a miller.")
    settled(api, header, "notes.md", b"# Kettles\n\nA kettle boils water for tea.")
    settled(api, header, "report.docx", docx("A windmill needs wind."))
    body = {"question": "What does a windmill need?", **HERE}
    sources = api.post("/qa", json=body, headers=header).json()["sources"]
    assert {source["source_metadata"]["site"] for source in sources} == {"notes.md", "report.docx"}
    assert "miller" not in str(sources)
    assert api.delete("/session/files/report.docx", headers=header).status_code == 204
    assert api.delete("/session/files/report.docx", headers=header).status_code == 404
    sources = api.post("/qa", json=body, headers=header).json()["sources"]
    assert {source["source_metadata"]["site"] for source in sources} == {"notes.md"}


def test_a_damaged_file_says_why_it_cannot_be_read(api: Api, header: dict[str, str]) -> None:
    state = settled(api, header, "broken.pdf", b"%PDF-1.7 and nothing more")
    assert state["state"] == "failed"
    assert "damaged" in state["reason"]
    reply = api.post("/qa", json={"question": "What is in it?", **HERE}, headers=header)
    assert "No file of this session has been read" in reply.text


PROGRAM = b"MZ\x90\x00\x03" + bytes(200)


@pytest.mark.parametrize(
    ("name", "body", "reason"),
    [
        ("empty.txt", b"", "empty"),
        ("program.exe", PROGRAM, "a program"),
        ("report.pdf", PROGRAM, "a program"),
        ("notes.txt", b"MZ\x01\x02\x03", "a program"),
        ("notes.md", b"\x7fELF\x02\x01\x01", "a program"),
        ("picture.html", b"\x89PNG\r\n\x1a\n", "a PNG image"),
        ("table.csv", bytes(range(1, 256)), "binary data"),
        ("report.docx", packed({"readme.txt": "Words."}), "zip"),
        ("many.zip", b"PK\x05\x06" + bytes(18), "zip"),
    ],
)
def test_bytes_that_are_no_document_are_refused_under_any_name(
    api: Api, header: dict[str, str], name: str, body: bytes, reason: str
) -> None:
    headers = {**header, "Content-Type": "application/pdf"}
    reply = api.put(f"/session/files/{name}", content=body, headers=headers)
    assert reply.status_code == 422
    assert reason in reply.json()["detail"]
    assert reply.json()["hint"]
    assert api.get("/session/files", headers=header).json() == []


def test_refused_file_does_not_replace_one_of_its_name(api: Api, header: dict[str, str]) -> None:
    before = settled(api, header, "notes.md", b"# Mills\n\nA windmill needs a miller.")
    assert api.put("/session/files/notes.md", content=PROGRAM, headers=header).status_code == 422
    assert api.get("/session/files", headers=header).json() == [before]


def test_without_a_session_no_file_can_be_stored(api: Api) -> None:
    for reply in (
        api.put("/session/files/a.txt", content=b"words"),
        api.get("/session/files"),
        api.delete("/session/files/a.txt"),
        api.put("/session/files/a.txt", content=b"words", headers={"X-OpenQuery-Session": "never"}),
    ):
        assert reply.status_code == 403
        assert "/connect" in reply.json()["hint"]


def test_file_may_exceed_a_question_but_not_the_limit(serve: Serve) -> None:
    api = serve(file_megabytes=2.0)
    header = api.connect()
    words = b"Words and more words. " * 70_000
    assert api.put("/session/files/a.txt", content=words, headers=header).status_code == 202
    reply = api.put("/session/files/b.txt", content=words * 2, headers=header)
    assert reply.status_code == 413
    assert "2,000,000" in reply.json()["detail"]
    assert api.post("/qa", content=words).status_code == 413


def test_a_session_has_room_for_so_many_files(api: Api, header: dict[str, str]) -> None:
    for number in range(MOST_FILES):
        assert api.put(f"/session/files/{number}.txt", content=b"A few words.", headers=header).is_success
    reply = api.put("/session/files/more.txt", content=b"A few words.", headers=header)
    assert reply.status_code == 422
    assert str(MOST_FILES) in reply.json()["detail"]
    assert api.put("/session/files/3.txt", content=b"Other words.", headers=header).is_success


def test_the_files_of_a_session_are_deleted_with_it(serve: Serve) -> None:
    api = serve()
    header = api.connect()
    settled(api, header, "mills.pdf", MILLS)
    assert api.runs.engine.part(LibraryConnections).session_files.memory > 0
    api.delete("/session", headers=header).raise_for_status()
    ends = time.monotonic() + PATIENCE
    while api.runs.engine.part(LibraryConnections).session_files.memory:
        assert time.monotonic() < ends, "it was never forgotten"
        time.sleep(0.01)


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def test_all_sessions_together_have_room_for_so_many_bytes(tmp_path: Path) -> None:
    async def extract(document: Document, _extractor: Extractor) -> Article:
        return Article(text=document.body.decode(), extractor="test")

    async def embedder(_access: object, _collection: str) -> WordEmbed:
        return WordEmbed()

    every = SessionFilesPool(extract=extract, embedder=embedder, largest=10_000, memory_limit=10_000)

    async def add(files: SessionFiles, name: str, body: bytes) -> None:
        await files.add(name, await Uploads().receive(chunks(body), tmp_path), NO_ACCESS)

    first, second = await every.open(), await every.open()
    await add(first, "a.txt", b"word " * 1_000)
    with pytest.raises(BadInput, match="limit of memory"):
        await add(second, "b.txt", b"word " * 1_500)
    await first.remove("a.txt")
    await add(second, "b.txt", b"word " * 1_500)
    second.clear()
    while second.files:
        await asyncio.sleep(0)
    assert every.memory == 0


async def test_incoming_files_are_unnamed_on_disk_and_limited_in_number(
    tmp_path: Path,
) -> None:
    """Twenty of 45 MB at once would otherwise take a gigabyte of memory."""
    receiving = Uploads()
    all_received, more = asyncio.Event(), asyncio.Event()
    arrived = 0

    async def slow() -> AsyncIterator[bytes]:
        nonlocal arrived
        for _ in range(45):
            yield bytes(1_000_000)
        arrived += 1
        if arrived == MOST_UPLOADS:
            all_received.set()
        await more.wait()
        yield b"the end"

    tracemalloc.start()
    uploads = [asyncio.create_task(receiving.receive(slow(), tmp_path)) for _ in range(MOST_UPLOADS)]
    await all_received.wait()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000_000, "of 720,000,000 bytes that arrived"
    with pytest.raises(Refusal) as refused:
        await receiving.receive(chunks(b"one more"), tmp_path)
    assert (refused.value.status, refused.value.headers) == (503, {"Retry-After": "5"})
    assert os.listdir(tmp_path) == [], "nothing with a name, which a killed process would leave behind"  # noqa: PTH208
    more.set()
    files = await asyncio.gather(*uploads)
    assert {file.tell() for file in files} == {45_000_007}
    files[0].seek(45_000_000)
    assert files[0].read() == b"the end"
    for file in files:
        file.close()
    (await receiving.receive(chunks(b"one more"), tmp_path)).close()


async def test_an_upload_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    async def breaking() -> AsyncIterator[bytes]:
        yield b"half of it"
        raise ConnectionError("the client is gone")

    receiving = Uploads()
    for _ in range(MOST_UPLOADS + 1):
        with pytest.raises((ConnectionError, LibraryFailed)):
            await receiving.receive(breaking(), tmp_path)


def test_session_files_can_be_kept_from_hosted_models(serve: Serve, fake_openai: FakeOpenAI) -> None:
    api = serve(
        base_url=fake_openai.base_url,
        chat_model=MODEL,
        embedding_model=EMBEDDER,
        own_hosts="",
        private_collections="session",
    )
    header = api.connect()
    assert settled(api, header, "mills.pdf", MILLS)["state"] == "done"
    body = {"question": "Who turns the cap of a windmill?", "knobs": {"search": HERE}}
    run = api.post("/research", json=body, headers=header).json()
    assert run["sources"]
    assert any("private" in note for note in run["notes"])
    assert not any(b"miller" in request.body for request in fake_openai.requests)
