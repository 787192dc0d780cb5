"""A model file as a setting: a real small model, chat and embeddings, each in a process of its own."""

import os
from pathlib import Path

import numpy as np
import pytest

from core.adapters.models.model_file import ModelFile, ModelUse
from core.config.access import Access
from core.config.settings import Settings
from core.errors import ChatFailed
from core.model import Message
from core.runtime.engine import Engine
from core.runtime.engine_parts import ProbeState
from core.runtime.health import probes
from tests.services.small_model import prepare

pytestmark = [pytest.mark.model, pytest.mark.timeout(600)]
HELLO = [Message(role="user", content="Say hello.")]


async def test_model_file_chats_and_embeds_until_the_engine_ends(tmp_path: Path) -> None:
    path = str(prepare())
    settings = Settings(data=tmp_path, ollama_url="", chat_model=path, embedding_model=path)
    async with Engine(settings) as engine:
        server = await engine.models.servers.chat_server(Access())
        assert server and server.file
        assert await server.file.state() is None, "nothing is loaded before it is used"
        before = {probe.part: probe for probe in await probes(engine)}
        assert "loaded at first use" in before["Chat model"].detail
        chat = engine.models.chat_client(server)
        assert chat and chat.identity == f"{Path(path).name}@localhost"
        reply = [chunk async for chunk in chat(HELLO, max_tokens=8, temperature=0.0)]
        assert "".join(chunk.text_delta for chunk in reply)
        state = await server.file.state()
        assert state and state.tokens_a_second > 0
        after = {probe.part: probe for probe in await probes(engine)}
        assert after["Chat model"].state is ProbeState.WORKS
        assert "tokens/s" in after["Chat model"].detail
        assert "Passages stay on this machine." in after["Egress"].detail
        embedder = await engine.models.embedder(Access())
        vectors = (await embedder(["the moon pulls the water", "a cat sleeps"])).vectors
        assert vectors.shape == (2, 576)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
        processes = [file._process for file in engine.models.servers._files.values()]
    for process in processes:
        assert process
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)


async def test_killed_process_restarts_at_the_next_request() -> None:
    file = ModelFile(str(prepare()), ModelUse.EMBEDDING)
    try:
        key = {"authorization": f"Bearer {file.api_key.get_secret_value()}"}
        ask = {"input": "the moon", "model": file.model}
        assert (
            await file.client.post(f"{file.base_url}/embeddings", json=ask, headers=key)
        ).status_code == 200
        assert (await file.client.post(f"{file.base_url}/embeddings", json=ask)).status_code == 401
        assert file._process
        file._process.kill()
        await file._process.wait()
        assert (
            await file.client.post(f"{file.base_url}/embeddings", json=ask, headers=key)
        ).status_code == 200
    finally:
        await file.aclose()


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "cannot be read: No such file"), (b"<html>", "is no GGUF file"), (b"GGUF\0\0", "does not load")],
)
async def test_setting_that_is_no_model_is_named_without_the_key(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    async with Engine(Settings(data=tmp_path, ollama_url="", chat_model=str(path))) as engine:
        server = await engine.models.servers.chat_server(Access())
        chat = engine.models.chat_client(server)
        assert server and server.api_key and chat
        with pytest.raises(ChatFailed, match=message) as failure:
            async for _ in chat(HELLO, max_tokens=8, temperature=0.0):
                pass
        assert server.api_key.get_secret_value() not in f"{failure.value}{failure.value.hint}"
        assert failure.value.hint == "Check OPENQUERY_CHAT_MODEL." or "GGUF" in failure.value.hint


async def test_a_visitor_names_no_file_of_the_server(tmp_path: Path) -> None:
    async with Engine(Settings(data=tmp_path, ollama_url="")) as engine:
        assert await engine.models.servers.chat_server(Access(chat_model=str(prepare()))) is None
