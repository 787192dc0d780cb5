"""Which addresses OpenQuery calls under every combination of settings that names a model server.

Every face is used under `WHOLE` combinations. Under the others it is those by which a server is chosen: the probes, the
library, and a run of the registry, which commands, pages and API share.
"""

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
from tests.services.every_face import CALLED, FACES
from tests.services.loopback import Loopback, Reply, Request, json_reply
from tests.services.openai_server import EMBEDDER, MODEL, FakeOpenAI

pytestmark = pytest.mark.thorough

TEXT = "A tide mill is driven by the tide. " + "Its dam holds the water of the flood back. " * 12
EMBEDDING = (
    *("check", "ingest", "ask", "eval run", "eval freeze", "eval check", "eval answers"),
    *("Research", "Evaluate", "System page"),
)
NO_CHAT = ("ingest", "eval run", "eval freeze", "eval check", "Evaluate")
BELOW = ("check", "ingest", "Research")
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


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    async def nothing(request: Request) -> Reply:
        found = {"query": "", "results": [], "unresponsive_engines": []}
        return json_reply(found, status=200 if request.query.get("q") else 400)

    with ExitStack() as stack:
        models = {name: stack.enter_context(FakeOpenAI()) for name in ("chat", "embeddings", "reranker")}
        for server in models.values():
            server.models = [MODEL]
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
    "two servers and both keys": Combination(
        {**PRIVATE, **REMOTE, **ELSEWHERE, **OPENAI_KEY, **OPENROUTER_KEY}, chat="chat", embedder="embeddings"
    ),
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


WHOLE = ("nothing", "two servers and both keys")
"""Combinations under which every face is used: no server, and two servers to which no key of a provider belongs."""


@dataclass(frozen=True)
class Used:
    """The addresses that each face called under one combination, and all that was printed."""

    called: Mapping[str, list[str]]
    said: str


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory, servers: Servers) -> dict[str, Used]:
    """Every combination in one process, for each start of Python imports for seconds."""
    addresses = {name: one.base_url for name, one in servers.models.items()}
    addresses["ollama"] = addresses["chat"].removesuffix("/v1")
    asked = []
    for name, combination in COMBINATIONS.items():
        folder = tmp_path_factory.mktemp("faces")
        _fill(folder)
        given = {variable: value.format_map(addresses) for variable, value in combination.settings.items()}
        settings = environment(folder, **given, SEARXNG_URL=servers.search.url)
        asked.append((str(folder), settings, () if name in WHOLE else BELOW))
    done = subprocess.run(
        [sys.executable, "-u", "-m", "tests.services.every_face"],
        cwd=ROOT,
        env=environment(tmp_path_factory.mktemp("no_settings")),
        input=json.dumps(asked),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    found, said = {}, ""
    names = iter(COMBINATIONS)
    for line in done.stdout.splitlines():
        if line.startswith(CALLED):
            found[next(names)] = Used(json.loads(line.removeprefix(CALLED)), said)
            said = ""
        else:
            said += f"{line}\n"
    return found


def _fill(folder: Path) -> None:
    (folder / "mills.txt").write_text(TEXT)
    sets = folder / "data_sets"
    sets.mkdir()
    (sets / "mills.txt").write_text(TEXT)
    (sets / "mills.csv").write_text(
        "question,excerpt,source\nWhat drives it?,A tide mill is driven by the tide.,mills.txt\n"
    )


@pytest.mark.timeout(600)  # the first has the fixture's minute
@pytest.mark.parametrize("name", COMBINATIONS)
def test_every_interface_calls_only_the_servers_of_the_settings(
    name: str, used: Mapping[str, Used], servers: Servers
) -> None:
    combination, said = COMBINATIONS[name], used[name].said
    by_face = {face: {servers.named(one) for one in found} for face, found in used[name].called.items()}
    assert set(by_face) == set(FACES if name in WHOLE else BELOW)
    models = {combination.chat, combination.embedder, combination.reranker}
    for face, names in by_face.items():
        expected = {combination.embedder} if face in NO_CHAT else {*models, "search"}
        assert names <= expected, face
    if combination.embedder != NOBODY:
        missed = {
            face
            for face in EMBEDDING
            if combination.embedder not in by_face.get(face, {combination.embedder})
        }
        assert missed == set()
    assert combination.reranker in {NOBODY, *by_face["check"]}
    assert ("No server is set for the embedding model" in said) == combination.incomplete
