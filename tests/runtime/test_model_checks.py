"""Whether a model answers: its server's list is a hint, and a name that is not listed is tried."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from core.config.access import Access
from core.config.knobs import Knobs
from core.config.settings import Settings
from core.errors import ChatFailed
from core.runtime.engine import Engine
from core.runtime.engine_parts import ProbeState
from core.runtime.health import chat_works, probes
from core.runtime.wiring.model_lists import listed_name
from tests.services.openai_server import MODEL, FakeOpenAI

OFFERED = ("llama3.2:latest", "Qwen3-8B", "acme/mill-7b", "gpt-mini", "other/gpt-mini", "mistral:7b")


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("Qwen3-8B", "Qwen3-8B"),
        ("llama3.2", "llama3.2:latest"),
        ("gpt-mini:free", "gpt-mini"),
        ("gpt-mini@preset/short", "gpt-mini"),
        ("qwen3-8b", "Qwen3-8B"),
        ("LLAMA3.2", "llama3.2:latest"),
        ("mill-7b", "acme/mill-7b"),
        ("router/acme/mill-7b", "acme/mill-7b"),
        ("third/gpt-mini", ""),
        ("mistral", ""),
        ("mistral:8b", ""),
        ("no-such-model", ""),
    ],
)
def test_name_is_found_as_its_server_lists_it(name: str, listed: str) -> None:
    assert listed_name(name, OFFERED) == listed


def settings_of(server: FakeOpenAI, folder: Path, model: str = "") -> Settings:
    return Settings(data=folder, base_url=server.base_url, chat_model=model, ollama_url="")


async def checked(server: FakeOpenAI, folder: Path, model: str) -> tuple[str, str]:
    """The name that answers, and what was tried."""
    async with Engine(settings_of(server, folder, model)) as engine:
        found = await engine.model_checks.check()
        assert found is not None
        return found.server.model, found.tried


async def test_listed_model_is_not_tried(fake_openai: FakeOpenAI, tmp_path: Path) -> None:
    fake_openai.models = ["llama3.2:latest", MODEL]
    for name in ("llama3.2", MODEL, f"{MODEL}:free"):
        assert await checked(fake_openai, tmp_path, name) == (name, "")
    assert not fake_openai.chat_requests


@pytest.mark.parametrize("models", [["another"], []])
async def test_unlisted_model_is_tried_by_one_token(
    fake_openai: FakeOpenAI, tmp_path: Path, models: list[str]
) -> None:
    fake_openai.models = models
    name, tried = await checked(fake_openai, tmp_path, "mill-7b")
    assert name == "mill-7b"
    assert "A request of one token to mill-7b was answered" in tried
    assert [request.json["max_tokens"] for request in fake_openai.chat_requests] == [1]


async def test_server_without_a_list_works(fake_openai: FakeOpenAI, tmp_path: Path) -> None:
    fake_openai.lists = False
    name, tried = await checked(fake_openai, tmp_path, "mill-7b")
    assert (name, "does not list its models" in tried) == ("mill-7b", True)


async def test_server_of_one_model_needs_no_name(fake_openai: FakeOpenAI, tmp_path: Path) -> None:
    fake_openai.lists = False
    async with Engine(settings_of(fake_openai, tmp_path)) as engine:
        assert await chat_works(engine)
        assert (await engine.ports(Knobs())).chat is not None


async def test_later_questions_use_the_name_that_answers(fake_openai: FakeOpenAI, tmp_path: Path) -> None:
    fake_openai.models, fake_openai.serves = ["Qwen3-8B"], {"Qwen3-8B"}
    async with Engine(settings_of(fake_openai, tmp_path, "qwen3-8b")) as engine:
        found = await engine.model_checks.check()
        server = await engine.models.servers.chat_server(Access())
    assert found is not None and server is not None
    assert (found.server.model, server.model) == ("Qwen3-8B", "Qwen3-8B")


async def test_silent_model_is_told_with_the_list(fake_openai: FakeOpenAI, tmp_path: Path) -> None:
    fake_openai.serves = {MODEL}
    with pytest.raises(ChatFailed, match="The model no-such-model does not exist") as failed:
        await checked(fake_openai, tmp_path, "no-such-model")
    assert MODEL in failed.value.hint


async def test_health_says_what_was_tried(fake_openai: FakeOpenAI, tmp_path: Path) -> None:
    fake_openai.lists = False
    async with Engine(settings_of(fake_openai, tmp_path, "mill-7b")) as engine:
        for _ in range(2):
            probe = next(probe for probe in await probes(engine) if probe.part == "Chat model")
            assert probe.state is ProbeState.WORKS
            assert "A request of one token to mill-7b was answered" in probe.detail
    assert len(fake_openai.chat_requests) == 1, "each trial costs a token"


def _lists(server: FakeOpenAI) -> int:
    return sum(request.path == "/v1/models" for request in server.requests)


async def test_list_is_kept_by_server_and_key(fake_openai: FakeOpenAI, tmp_path: Path) -> None:
    async with Engine(settings_of(fake_openai, tmp_path)) as engine:
        for _ in range(3):
            await engine.ports(Knobs())
        assert _lists(fake_openai) == 1
        own = Access(base_url=fake_openai.base_url, api_key=SecretStr("sk-own"))
        await engine.models.servers.chat_server(own)
        assert _lists(fake_openai) == 2


async def test_ranking_asks_no_model_server(fake_openai: FakeOpenAI, tmp_path: Path) -> None:
    async with Engine(settings_of(fake_openai, tmp_path)) as engine:
        chat = (await engine.ports(Knobs(), writes=False)).chat
        assert chat is not None
        assert chat.host == fake_openai.url.removeprefix("http://")
    assert not fake_openai.requests
