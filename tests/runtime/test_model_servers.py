"""Which model server is chosen: one that somebody named by its address, or by a key of its own."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from core.config.access import Access
from core.config.settings import OPENAI, OPENROUTER, Settings
from core.errors import BadInput, EmbedFailed
from core.runtime.engine import Engine


@pytest.mark.parametrize(("key", "server"), [("sk-proj-a", OPENAI), ("sk-or-v1-b", OPENROUTER)])
async def test_a_key_of_a_known_provider_names_its_server(tmp_path: Path, key: str, server: str) -> None:
    async with Engine(Settings(data=tmp_path)) as engine:
        chosen = await engine.models.servers.chat_server(Access(api_key=SecretStr(key)))
        assert chosen is not None
        assert chosen.base_url == server


@pytest.mark.parametrize("key", ["gsk_groq", "sk-ant-api03-anthropic", "hf_hub"])
async def test_key_of_another_server_is_sent_to_none(tmp_path: Path, key: str) -> None:
    async with Engine(Settings(data=tmp_path)) as engine:
        with pytest.raises(BadInput, match="which server") as refused:
            await engine.models.servers.chat_server(Access(api_key=SecretStr(key)))
        assert key not in str(refused.value)


@pytest.mark.parametrize(
    "settings", [{}, {"base_url": "http://chat.example/v1"}, {"chat_model": "/models/a.gguf"}]
)
@pytest.mark.parametrize(
    "access", [Access(), Access(api_key=SecretStr("sk-proj-a")), Access(chat_model="/b.gguf")]
)
async def test_a_known_chat_server_is_the_one_that_is_chosen_without_asking(
    tmp_path: Path, settings: dict[str, str], access: Access
) -> None:
    async with Engine(Settings(data=tmp_path, ollama_url="", **settings)) as engine:
        servers = engine.models.servers
        chosen = await servers.chat_server(access, ask=False)
        assert servers.is_chat_server_known(access) is (chosen is not None)


CHAT, OTHER = "http://chat.example:8080/v1", "http://chat.example:8081/v1"
KEYS = {"openai_api_key": "sk-openai", "openrouter_api_key": "sk-or-router"}


@pytest.mark.parametrize(
    ("embedding_server", "settings", "key"),
    [
        (CHAT, {"base_url": CHAT}, "sk-openai"),
        (f"{CHAT}/embeddings", {"base_url": CHAT}, "sk-openai"),
        (OTHER, {"base_url": CHAT}, None),
        (OTHER, {"base_url": CHAT, "embedding_api_key": "sk-embed"}, "sk-embed"),
        (CHAT, {"base_url": CHAT, "embedding_api_key": "sk-embed"}, "sk-embed"),
        (OPENAI, {"base_url": CHAT}, None),
        (OPENROUTER, {"base_url": CHAT}, "sk-or-router"),
        (OTHER, {}, None),
        (OPENAI, {}, "sk-openai"),
        (OPENROUTER, {}, "sk-or-router"),
    ],
)
async def test_key_goes_to_an_embedding_server_of_its_host_only(
    tmp_path: Path, embedding_server: str, settings: dict[str, str], key: str | None
) -> None:
    settings = {"embedding_model": "small", "embedding_base_url": embedding_server, **KEYS, **settings}
    async with Engine(Settings(data=tmp_path, **settings)) as engine:
        server = await engine.models.servers.embedding_server()
    assert (server.api_key and server.api_key.get_secret_value()) == key


async def test_embedding_model_without_a_server_is_refused_with_advice(tmp_path: Path) -> None:
    async with Engine(Settings(data=tmp_path, embedding_model="text-embedding-3-small")) as engine:
        with pytest.raises(EmbedFailed, match="No server is set") as refused:
            await engine.models.embedder()
        assert "OPENQUERY_EMBEDDING_BASE_URL" in refused.value.hint
