"""Serve a model file (GGUF) with its own loopback process, for chat, embedding or reranking."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import sys
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
from pydantic import SecretStr

from core.adapters.certificates import trusted_certificates
from core.errors import ChatFailed, EmbedFailed, OpenQueryError, RerankFailed
from core.sandbox.worker_command import IMPORT_ROOT, command, environment
from core.text.sanitize import plural

SUFFIX = ".gguf"
"""The suffix of a model file's name."""
HOST = "localhost"
"""The host of a model file, in identities and in errors."""
START_SECONDS = 300.0
"""The maximum seconds for loading a file."""
_MAGIC = b"GGUF"
_DIGEST_BYTES = 1 << 20
_WRITTEN = re.compile(r"^llamacpp:tokens_predicted(_seconds)?_total (\S+)", re.MULTILINE)
_INSTALL = 'Install the extra: pip install "openquery-dashboard[local]".'


class ModelUse(StrEnum):
    """The purpose of loading a file."""

    CHAT = "chat"
    EMBEDDING = "embedding"
    RERANKING = "reranking"


_FAILURE: dict[ModelUse, type[OpenQueryError]] = {
    ModelUse.CHAT: ChatFailed,
    ModelUse.EMBEDDING: EmbedFailed,
    ModelUse.RERANKING: RerankFailed,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFileState:
    """The resources of a file's process: `memory` in bytes and the speed in tokens a second.

    The memory is None if the system does not report it. The speed is an average, and 0 before the first reply.
    """

    memory: int | None
    tokens_a_second: float


def is_model_file(model: str) -> bool:
    """Check whether a model's name is a file path. Servers list names with this suffix too."""
    return model.endswith(SUFFIX) and (model.startswith((".", "~")) or Path(model).is_absolute())


class ModelFile:
    """The process of one file, which starts with the first request and is restarted when it has ended.

    `route` is a hook of HTTP clients that sends a request for `base_url` to the process. All calls belong to one event
    loop.
    """

    base_url = f"http://{HOST}/v1"

    def __init__(self, path: str, use: ModelUse, *, python: str = sys.executable) -> None:
        """Use the interpreter `python`, which has the package xllamacpp."""
        self.path, self.use = Path(path).expanduser(), use
        self.api_key = SecretStr(secrets.token_urlsafe())
        """The key that the process requires, because loopback has other users."""
        self.client = httpx.AsyncClient(
            trust_env=False, verify=trusted_certificates(httpx), event_hooks={"request": [self.route]}
        )
        self._python = python
        self._address = httpx.URL()
        self._process: asyncio.subprocess.Process | None = None
        self._starting = asyncio.Lock()

    @cached_property
    def model(self) -> str:
        """The file's name. An embedder's has a digest, since vectors of two files must not be mixed."""
        return f"{self.path.name}#{self._digest()}" if self.use is ModelUse.EMBEDDING else self.path.name

    def check(self) -> None:
        """Check the file and the package.

        Raises the error of its use, such as `ChatFailed`, if either is missing or invalid.
        """
        try:
            with self.path.open("rb") as file:
                magic = file.read(len(_MAGIC))
        except OSError as error:
            raise self._failure(f"The model file {self.path} cannot be read: {error.strerror}.") from error
        if magic != _MAGIC:
            raise self._failure(
                f"{self.path} is no GGUF file.", "Convert the model, or download one in GGUF."
            )
        if self._python == sys.executable and find_spec("xllamacpp") is None:
            raise self._failure("Model files need the package xllamacpp.", _INSTALL)

    async def route(self, request: Any) -> None:
        """Send a request of httpx or a similar client to the process. The process is started if needed.

        Raises:
            OpenQueryError: the error of its use, when the process does not start.
        """
        async with self._starting:
            if self._process is None or self._process.returncode is not None:
                await self._start()
        request.url = request.url.copy_with(host=self._address.host, port=self._address.port)

    async def describe(self) -> str:
        """Describe for a person where the model runs. A running process's memory and speed are included.

        Raises:
            OpenQueryError: when `check` raises it.
        """
        self.check()
        state = await self.state()
        if state is None:
            return f"{self.path.stat().st_size / 1e6:,.0f} MB on this machine, loaded at first use"
        memory = f", {state.memory / 1e6:,.0f} MB of memory" if state.memory else ""
        speed = (
            f", {state.tokens_a_second:.1f} {plural(state.tokens_a_second, 'token')}/s"
            if state.tokens_a_second
            else ""
        )
        return f"in a process of its own{memory}{speed}"

    async def state(self) -> ModelFileState | None:
        """Return the process's resources, or None without a process."""
        process = self._process
        if process is None or process.returncode is not None:
            return None
        headers = {"authorization": f"Bearer {self.api_key.get_secret_value()}"}
        reply = await self.client.get(f"http://{HOST}/metrics", headers=headers)
        totals = {unit: float(value) for unit, value in _WRITTEN.findall(reply.text)}
        seconds = totals.get("_seconds", 0.0)
        return ModelFileState(
            memory=_memory(process.pid), tokens_a_second=totals.get("", 0.0) / seconds if seconds else 0.0
        )

    async def aclose(self) -> None:
        """End the process."""
        await self.client.aclose()
        if self._process and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def _start(self) -> None:
        self.check()
        self._process = process = await asyncio.create_subprocess_exec(
            *command("adapters.models.model_file_worker", str(self.path), self.use, python=self._python),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=IMPORT_ROOT,
            env=environment(),
            start_new_session=True,
        )
        reply = {}
        try:
            if process.stdin and process.stdout:
                process.stdin.write(f"{self.api_key.get_secret_value()}\n".encode())
                async with asyncio.timeout(START_SECONDS):
                    reply = json.loads(await process.stdout.readline() or b"{}")
        except TimeoutError:
            reply = {"error": f"it took more than {START_SECONDS:g} s"}
        finally:
            if "address" not in reply and process.returncode is None:
                process.kill()
        if "address" not in reply:
            await process.wait()
            reason = "xllamacpp cannot be imported" if "missing" in reply else reply.get("error", "it ended")
            raise self._failure(
                f"The model file {self.path.name} does not load: {reason}",
                _INSTALL if "missing" in reply else "",
            )
        self._address = httpx.URL(reply["address"])

    def _failure(self, message: str, hint: str = "") -> OpenQueryError:
        variable = {"chat": "CHAT", "embedding": "EMBEDDING", "reranking": "RERANK"}[self.use]
        return _FAILURE[self.use](message, hint=hint or f"Check OPENQUERY_{variable}_MODEL.")

    def _digest(self) -> str:
        """Hash the file's size, beginning and end to eight digits. Reading a gigabyte for its name would be slow."""
        digest = blake2b(digest_size=4)
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, 2)
                digest.update(f"{size} ".encode())
                for start in (0, max(0, size - _DIGEST_BYTES)):
                    file.seek(start)
                    digest.update(file.read(_DIGEST_BYTES))
        except OSError:
            return ""  # the user of the file reports it
        return digest.hexdigest()


def _memory(pid: int) -> int | None:
    """Return a process's resident memory in bytes. None without /proc."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) << 10
    except (OSError, ValueError, IndexError):
        pass
    return None
