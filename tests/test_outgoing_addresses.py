"""Which addresses OpenQuery calls: every face of it under every combination of settings that names a model server."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.config.settings import ROOT
from tests.services.command_line import environment
from tests.services.loopback import Loopback, Reply, Request, json_reply
from tests.services.openai_server import EMBEDDER, MODEL, FakeOpenAI

pytestmark = pytest.mark.slow

TEXT = "A tide mill is driven by the tide. " + "Its dam holds the water of the flood back. " * 12
EMBEDDING = (
    *("check", "ingest", "ask", "eval run", "eval freeze", "eval check", "eval answers"),
    *("Research", "Evaluate", "System page"),
)
NO_CHAT = ("ingest", "eval run", "eval freeze", "eval check", "Evaluate")
OPENAI, OPENROUTER = "api.openai.com", "openrouter.ai"
NOBODY = "nobody"


@dataclass(frozen=True)
class Servers:
    """Loopback servers by their names, and the search engine that the pages ask."""

    models: Mapping[str, FakeOpenAI]
    search: Loopback

    def named(self, address: str) -> str:
        """The name of a server whose address is `127.0.0.1:port`; any other address as it is."""
        ports = {f"127.0.0.1:{one.port}": name for name, one in self.models.items()}
        return {**ports, f"127.0.0.1:{self.search.port}": "search"}.get(address, address)


@pytest.fixture
def servers() -> Iterator[Servers]:
    async def nothing(request: Request) -> Reply:
        found = {"query": "", "results": [], "unresponsive_engines": []}
        return json_reply(found, status=200 if request.query.get("q") else 400)

    with ExitStack() as stack:
        models = {name: stack.enter_context(FakeOpenAI()) for name in ("chat", "embeddings", "reranker")}
        yield Servers(models, stack.enter_context(Loopback(nothing)))


@dataclass(frozen=True)
class Combination:
    """Settings, in which `{chat}` stands for the address of that server, and whom they name."""

    settings: Mapping[str, str]
    chat: str = NOBODY
    embedder: str = NOBODY
    reranker: str = NOBODY
    incomplete: bool = False
    """Whether they name an embedding model and no server for it."""


REMOTE = {"OPENQUERY_EMBEDDING_MODEL": EMBEDDER}
PRIVATE = {"OPENQUERY_BASE_URL": "{chat}", "OPENQUERY_CHAT_MODEL": MODEL}
OPENAI_KEY, OPENROUTER_KEY = {"OPENAI_API_KEY": "sk-a"}, {"OPENROUTER_API_KEY": "sk-or-b"}
ELSEWHERE = {"OPENQUERY_EMBEDDING_BASE_URL": "{embeddings}"}

COMBINATIONS = {
    "nothing": Combination({}),
    "an embedding model alone": Combination(REMOTE, incomplete=True),
    "a server": Combination(PRIVATE, chat="chat"),
    "a server and an embedding model": Combination({**PRIVATE, **REMOTE}, chat="chat", embedder="chat"),
    "a server that is asked for its models": Combination(
        {"OPENQUERY_BASE_URL": "{chat}", **REMOTE}, chat="chat", embedder="chat"
    ),
    "a server and both keys": Combination(
        {**PRIVATE, **REMOTE, **OPENAI_KEY, **OPENROUTER_KEY}, chat="chat", embedder="chat"
    ),
    "two servers": Combination({**PRIVATE, **REMOTE, **ELSEWHERE}, chat="chat", embedder="embeddings"),
    "an embedding server alone": Combination({**REMOTE, **ELSEWHERE}, embedder="embeddings"),
    "an embedding server that no model is of": Combination({**PRIVATE, **ELSEWHERE}, chat="chat"),
    "OpenAI's key and an embedding model": Combination(
        {**REMOTE, **OPENAI_KEY}, chat=OPENAI, embedder=OPENAI
    ),
    "both keys and an embedding model": Combination(
        {**REMOTE, **OPENAI_KEY, **OPENROUTER_KEY}, chat=OPENROUTER, embedder=OPENROUTER
    ),
    "Ollama and an embedding model": Combination(
        {"OLLAMA_HOST": "{ollama}", **REMOTE}, chat="chat", embedder="chat"
    ),
    "a reranker": Combination(
        {**PRIVATE, "OPENQUERY_RERANK_URL": "{reranker}"}, chat="chat", reranker="reranker"
    ),
}


@pytest.mark.spread
@pytest.mark.parametrize("name", COMBINATIONS)
def test_every_face_calls_the_servers_that_the_settings_name_and_no_other(
    name: str, tmp_path: Path, servers: Servers
) -> None:
    combination = COMBINATIONS[name]
    addresses = {name: one.base_url for name, one in servers.models.items()}
    addresses["ollama"] = addresses["chat"].removesuffix("/v1")
    for server in servers.models.values():
        server.models = [MODEL]
    given = {variable: value.format_map(addresses) for variable, value in combination.settings.items()}
    called, said = _every_face(tmp_path, {**given, "SEARXNG_URL": servers.search.url})

    by_face = {face: {servers.named(one) for one in found} for face, found in called.items()}
    models = {combination.chat, combination.embedder, combination.reranker}
    for face, names in by_face.items():
        expected = {combination.embedder} if face in NO_CHAT else {*models, "search"}
        assert names <= expected, face
    if combination.embedder != NOBODY:
        missed = {face for face in EMBEDDING if combination.embedder not in by_face[face]}
        # A provider is not there in a test, and without results of eval run there is nothing to check.
        assert missed == (set() if combination.embedder in servers.models else {"eval check"})
    assert combination.reranker in {NOBODY, *by_face["check"]}
    assert ("No server is set for the embedding model" in said) == combination.incomplete


def _every_face(folder: Path, settings: Mapping[str, str]) -> tuple[dict[str, list[str]], str]:
    """Whom each face has called, and all that was printed, in a process with these settings."""
    (folder / "mills.txt").write_text(TEXT)
    sets = folder / "data_sets"
    sets.mkdir()
    (sets / "mills.txt").write_text(TEXT)
    (sets / "mills.csv").write_text(
        "question,excerpt,source\nWhat drives it?,A tide mill is driven by the tide.,mills.txt\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "tests.services.every_face", str(folder)],
        cwd=ROOT,
        env=environment(folder, **settings),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:] + done.stdout[-2000:]
    *_, last = done.stdout.strip().splitlines()
    return json.loads(last), done.stdout + done.stderr
