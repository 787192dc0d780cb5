"""Canaries stand where keys are given; everything that is written, shown or sent elsewhere is searched for them."""

import base64
import io
import logging
import os
import subprocess
import sys
import traceback
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pydantic import SecretStr

from core.config.access import NO_ACCESS, Access
from core.config.knobs import Knobs, PlanKnobs, RankKnobs, ReadKnobs, SearchKnobs
from core.config.settings import Settings
from core.features.library.services.connections import LibraryConnections
from core.run.codec import event_to_json, run_to_json
from core.run.events import Record
from core.run.state import Run, RunStatus
from core.runtime.health import probes
from core.runtime.logs import configure
from core.runtime.registry import RunRegistry
from core.storage.bundle import to_bundle
from tests.faults.world import Site
from tests.runtime.waiting import finished
from tests.services.loopback import Cut, Reply, json_reply
from tests.services.openai_server import EMBEDDER, MODEL, FakeOpenAI, failure, streamed
from tests.services.qdrant import FakeQdrant

ROOT = Path(__file__).parents[1]
QUESTION = "What do kettles do?"
KNOBS = Knobs(
    plan=PlanKnobs(queries=2),
    search=SearchKnobs(backend="searxng"),
    read=ReadKnobs(early_cut_percent=0),
    rank=RankKnobs(rerank=True),
)
OPERATOR, VISITOR, RERANK, PASSWORD, TOKEN, SHELF = (
    f"canary-{place}-7f3e91d2" for place in ("operator", "visitor", "rerank", "password", "token", "shelf")
)
USER = "searcher"
CANARIES = (OPERATOR, VISITOR, RERANK, PASSWORD, TOKEN, SHELF)


def forms(canary: str) -> list[bytes]:
    """A key as it is, backwards, percent-encoded and as basic authentication sends it."""
    plain = canary.encode()
    pair = base64.b64encode(f"{USER}:{canary}".encode())
    return [
        plain,
        plain[::-1],
        plain.replace(b"-", b"%2D"),
        base64.b64encode(plain).rstrip(b"="),
        pair.rstrip(b"="),
    ]


def found(data: bytes | str, *canaries: str) -> list[str]:
    data = data.encode() if isinstance(data, str) else data
    return [canary for canary in canaries or CANARIES if any(form in data for form in forms(canary))]


@dataclass
class Planted:
    """A process's whole world with a canary in every place that takes a key."""

    site: Site
    operator: FakeOpenAI
    visitor: FakeOpenAI
    qdrant: FakeQdrant
    runs: RunRegistry
    settings: Settings
    folder: Path
    logged: io.StringIO
    records: list[Record] = field(default_factory=list)

    def run(self, access: Access = NO_ACCESS, knobs: Knobs = KNOBS) -> Run:
        return finished(self.runs, self.runs.start(QUESTION, knobs, access))

    @property
    def theirs(self) -> Access:
        return Access(base_url=self.visitor.base_url, api_key=SecretStr(VISITOR), chat_model=MODEL)


class Searching(Site):
    """The site, whose results say where the reranker is as well."""


@pytest.fixture
def planted(tmp_path: Path) -> Iterator[Planted]:
    stream, root = io.StringIO(), logging.getLogger()
    with Searching() as site, FakeOpenAI() as operator, FakeOpenAI() as visitor, FakeQdrant(SHELF) as qdrant:
        operator.key, visitor.key = OPERATOR, VISITOR
        address = f"http://{USER}:{PASSWORD}@127.0.0.1:{site.port}"
        settings = Settings(
            data=tmp_path / "data",
            openrouter_api_key=None,
            openai_api_key=SecretStr(OPERATOR),
            base_url=operator.base_url,
            chat_model=MODEL,
            embedding_model=EMBEDDER,
            rerank_url=f"{site.url}/page/9",
            rerank_key=SecretStr(RERANK),
            searxng_url=address,
            qdrant_url=qdrant.url,
            qdrant_api_key=SecretStr(SHELF),
            api_tokens=SecretStr(TOKEN),
            ollama_url="",
            fetch_allowlist=f"127.0.0.1:{site.port}",
            workers=1,
            model_timeout=5,
        )
        configure(settings, level=logging.DEBUG, stream=stream)
        root.setLevel(logging.DEBUG)  # libraries log headers there, if anywhere
        runs = RunRegistry(settings)
        planted = Planted(site, operator, visitor, qdrant, runs, settings, tmp_path, stream)
        runs.observers += (lambda record, _run: planted.records.append(record) if record else None,)
        try:
            yield planted
        finally:
            runs.close()
            root.setLevel(logging.WARNING)
            configure(Settings(), stream=io.StringIO())


Trouble = Callable[[FakeOpenAI], None]


def _echo(key: str) -> Trouble:
    return lambda server: server.chats.extend([failure(401, f"Incorrect API key provided: {key}.")] * 4)


def _echo_in_the_stream(key: str) -> Trouble:
    event = f'data: {{"error": {{"message": "bad key {key}", "code": 401}}}}\n\n'.encode()
    return lambda server: server.chats.extend([streamed("Kettles", event, finish=None)] * 4)


def _echo_embedding(key: str) -> Trouble:
    return lambda server: server.embeddings.extend([failure(403, f"key {key} may not embed")] * 9)


def _echo_header(key: str) -> Trouble:
    reply = json_reply({"error": {"message": "no"}}, status=400, headers={"X-Request": key})
    return lambda server: server.chats.extend([reply] * 4)


def _reset(_: str) -> Trouble:
    return lambda server: server.chats.extend([Reply((Cut(),), content_type="text/event-stream")] * 9)


TROUBLES = (_echo, _echo_in_the_stream, _echo_embedding, _echo_header, _reset)


def test_no_key_is_written_or_sent_except_to_its_server(planted: Planted) -> None:
    runs = [planted.run(), planted.run(planted.theirs)]
    assert [run.status for run in runs] == [RunStatus.DONE, RunStatus.DONE], [run.error for run in runs]
    for trouble in TROUBLES:
        for server, key, access in (
            (planted.operator, OPERATOR, NO_ACCESS),
            (planted.visitor, VISITOR, planted.theirs),
        ):
            trouble(key)(server)
            runs.append(planted.run(access))
            server.chats.clear()
            server.embeddings.clear()
    wrong = Access(
        base_url=planted.visitor.base_url, api_key=SecretStr(f"{VISITOR}\nsecond line"), chat_model=MODEL
    )
    runs.append(planted.run(wrong))
    assert sum(run.status is RunStatus.FAILED for run in runs) >= 6, "the troubles are real"
    checked = planted.runs.call(probes(planted.runs.engine, planted.runs.store, planted.theirs))
    planted.qdrant.faults.append(Reply((f"bad key {SHELF}".encode(),), status=403))
    checked += planted.runs.call(probes(planted.runs.engine, planted.runs.store, planted.theirs))
    planted.runs.store.flush()

    # What is told and exported.
    for run in runs:
        assert found(run_to_json(run, vectors=True)) == []
        recorded = planted.runs.recorded(run.id)
        assert recorded is not None and recorded.records
        with zipfile.ZipFile(io.BytesIO(to_bundle(recorded))) as bundle:
            assert found(b"".join(map(bundle.read, bundle.namelist()))) == []
        assert found(repr(run)) == []
        assert found(repr(planted.runs.get(run.id))) == []
    assert planted.records
    for record in planted.records:
        assert found(event_to_json(record.event) + repr(record).encode()) == []
    assert found(repr(checked)) == []
    assert found(repr(planted.settings) + str(planted.settings) + repr(planted.theirs)) == []

    # What is logged: by us and by every library, at the most talkative level.
    assert len(planted.logged.getvalue()) > 1000
    assert found(planted.logged.getvalue()) == []

    # What is written.
    files = [path for path in planted.folder.rglob("*") if path.is_file()]
    assert {"runs.sqlite", "cache.sqlite"} <= {path.name for path in files}
    for path in files:
        assert found(path.read_bytes()) == [], path
        assert found(str(path)) == []

    # What is sent: each key to its own server and nowhere else.
    def sent(requests: list[object]) -> bytes:
        return repr(requests).encode()

    searches = [request for request in planted.site.requests if request.path in ("/search", "/config")]
    reranks = [request for request in planted.site.requests if request.path == "/page/9"]
    pages = [request for request in planted.site.requests if request not in (*searches, *reranks)]
    assert searches
    assert reranks
    assert pages
    assert set(found(sent([*searches]))) == {PASSWORD}
    assert set(found(sent([*reranks]))) == {RERANK}
    assert found(sent([*pages])) == []
    assert set(found(sent([*planted.operator.requests]))) == {OPERATOR}
    assert set(found(sent([*planted.visitor.requests]))) == {VISITOR}
    assert set(found(sent([*planted.qdrant.requests]))) == {SHELF}
    servers = (planted.site, planted.operator, planted.visitor, planted.qdrant)
    for request in (request for server in servers for request in server.requests):
        assert found(request.path + repr(request.query)) == [], "no key in an address"


def test_no_key_stands_in_the_keys_of_shared_caches(planted: Planted) -> None:
    server = planted.runs.call(planted.runs.engine.models.servers.chat_server(planted.theirs))
    ports = planted.runs.call(planted.runs.engine.ports(KNOBS, planted.theirs))
    assert server is not None
    assert ports.chat is not None
    assert ports.rerank is not None
    used = (
        ports.search,
        ports.embed,
        ports.chat,
        ports.rerank,
        planted.runs.engine.part(LibraryConnections).database,
    )
    for identity in (port.identity for port in used):
        assert found(identity) == []
    assert found(repr(server)) == []


def test_no_key_is_in_an_error_or_its_traceback(planted: Planted) -> None:
    """A traceback shows the words of every exception behind an error; none may quote the key."""
    ports = planted.runs.call(planted.runs.engine.ports(KNOBS, planted.theirs))
    assert ports.chat is not None
    chat = ports.chat
    _echo(VISITOR)(planted.visitor)

    async def ask() -> str:
        try:
            async for _ in chat((), max_tokens=5, temperature=0):
                pass
        except Exception as error:
            return f"{error!r} {''.join(traceback.format_exception(error))}"
        return ""

    said = planted.runs.call(ask())
    assert "refused the key" in said
    assert found(said) == []


def test_no_key_of_the_library_is_in_an_error(planted: Planted) -> None:
    async def ask() -> str:
        try:
            await planted.runs.engine.part(LibraryConnections).database.about("book_content")
        except Exception as error:
            return f"{error!r} {error} {''.join(traceback.format_exception(error))}"
        return ""

    words = {"status": {"error": f"Invalid API key {SHELF}"}}
    for fault in (
        json_reply(words, status=401),
        json_reply(words, status=500),
        json_reply(words),
        Reply((f"<html>{SHELF}</html>".encode(),), content_type="text/html"),
        Reply((Cut(),)),
    ):
        planted.qdrant.outage = fault
        said = planted.runs.call(ask())
        assert "LibraryFailed" in said
        assert found(said) == []


@pytest.mark.slow
def test_the_command_line_prints_no_key(tmp_path: Path) -> None:
    with Site() as site, FakeOpenAI() as server:
        printed = [_command(["check"], site, server, tmp_path)]
        for options in (["--json", "--verbose"], ["--verbose"], []):
            server.chats.append(streamed("kettles\nboiling water"))
            server.chats.append(failure(401, f"Incorrect API key provided: {OPERATOR}."))
            run = _command([QUESTION, "--search", "searxng", *options], site, server, tmp_path)
            assert run.returncode == 6
            assert b"refused the key" in run.stdout + run.stderr
            printed.append(run)
    assert [found(done.stdout + done.stderr) for done in printed] == [[]] * 4
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or found(path.read_bytes()) == [], path


def test_unusable_settings_are_named_without_their_values(tmp_path: Path) -> None:
    with Site() as site, FakeOpenAI() as server:
        done = _command(["check"], site, server, tmp_path, OPENQUERY_WORKERS=OPERATOR)
    assert done.returncode == 2
    assert b"OPENQUERY_WORKERS" in done.stderr
    assert found(done.stdout + done.stderr) == []


def _command(
    arguments: list[str], site: Site, server: FakeOpenAI, folder: Path, **more: str
) -> subprocess.CompletedProcess[bytes]:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PYTHONPATH": str(ROOT),
        "OPENQUERY_DATA": str(folder / "data"),
        "OPENAI_API_KEY": OPERATOR,
        "OPENQUERY_BASE_URL": server.base_url,
        "OPENQUERY_CHAT_MODEL": MODEL,
        "OPENQUERY_RERANK_KEY": RERANK,
        "OPENQUERY_API_TOKENS": TOKEN,
        "QDRANT_URL": "http://127.0.0.1:9",
        "QDRANT_API_KEY": SHELF,
        "SEARXNG_URL": f"http://{USER}:{PASSWORD}@127.0.0.1:{site.port}",
        "OPENQUERY_ALLOW": f"127.0.0.1:{site.port}",
        "OPENQUERY_WORKERS": "1",
        "OLLAMA_HOST": "",
        **more,
    }
    return subprocess.run(
        [sys.executable, "-m", "core", *arguments],
        env=environment,
        cwd=folder,
        capture_output=True,
        timeout=100,
        check=False,
    )
