"""A small web on loopback with seeded latencies: search, pages and models, in a process of its own.

    with World(Seed(1, queries=3, results=5)) as world:
        world.search_url     # SearXNG-shaped: /search?q=...&format=json
        world.models_url     # OpenAI-shaped: /chat/completions (streamed), /embeddings
        world.plan           # what will happen, and the ideal schedules
        world.counts()       # requests so far, by kind

    python -m bench.world --seed 1 --queries 3 --results 5     # the same by hand, until interrupted

Every two pages have a loopback address of their own (127.0.1.1, 127.0.1.2, ...), since clients are polite by
host. Nothing listens beyond loopback. Being another process, the world's CPU is in nobody's account.
"""

import argparse
import asyncio
import base64
import contextlib
import json
import re
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import numpy as np
from numpy.typing import NDArray

from bench.articles import page as article_page
from bench.schedule import Plan, PlannedPage, Seed, tokens

CHAT, EMBEDDER = "bench-chat", "bench-embed"
WIDTH = 1536
_VECTORS = 512
"""Different vectors; a text always has the same one."""

ANSWER = "The bridge was repaired [1] after the river had flooded the lower quarter [2]. " * 4
WANTED = re.compile(r"Write (\d+) search queries")
"""Tells a plan's request from an answer's."""
_CASE = re.compile(r"case (\d+)")


class World:
    """Starts the process, and ends it. `pages` is a folder of HTML files to serve instead of made ones."""

    def __init__(self, seed: Seed, pages: Path | None = None) -> None:
        self.plan = Plan.of(seed)
        self._pages = pages
        self._url = ""

    def __enter__(self) -> Self:
        options = [f"--{name}={value}" for name, value in asdict(self.plan.seed).items()]
        pages = [f"--pages={self._pages}"] if self._pages else []
        command = [sys.executable, "-m", "bench.world", *options, *pages]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
        assert self._process.stdout
        self._url = self._process.stdout.readline().strip()
        if not self._url:
            raise RuntimeError("the world did not start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()  # closing its input ends it

    @property
    def search_url(self) -> str:
        return self._url

    @property
    def models_url(self) -> str:
        return f"{self._url}/v1"

    def counts(self) -> Counter[str]:
        """Requests so far: search, page, robots, chat, embeddings."""
        with urlopen(f"{self._url}/counts") as reply:
            return Counter(json.load(reply))


class _Server:
    def __init__(self, plan: Plan, folder: Path | None) -> None:
        self.plan = plan
        self.counts: Counter[str] = Counter()
        self._queries = {query.text: query for run in plan.runs for query in run}
        files = sorted(folder.rglob("*.htm*")) if folder else []
        self._bodies = [
            files[page.number % len(files)].read_bytes()
            if files
            else article_page(f"{plan.seed.number} {page.number}")
            for page in plan.pages
        ]
        self._origins: list[str] = []
        self._servers: list[asyncio.Server] = []

    async def start(self) -> str:
        """Listen; the main address is returned."""
        for host in range(1 + max(page.host for page in self.plan.pages)):
            address = f"127.0.{1 + host // 250}.{1 + host % 250}"
            self._origins.append(await self._listen(address))
        return await self._listen("127.0.0.1")

    async def aclose(self) -> None:
        for server in self._servers:
            server.close()

    async def _listen(self, address: str) -> str:
        server = await asyncio.start_server(self._serve, address, 0, backlog=512)
        self._servers.append(server)
        return f"http://{address}:{server.sockets[0].getsockname()[1]}"

    # --- HTTP ---------------------------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, EOFError, asyncio.CancelledError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                began = time.perf_counter()
                lines = head.decode("latin-1").split("\r\n")
                length = next(
                    (int(line[15:]) for line in lines if line.lower().startswith("content-length:")), 0
                )
                body = await reader.readexactly(length)
                async for piece in self._replied(lines[0].split(" ")[1], body, began, reader):
                    writer.write(piece)
                    await writer.drain()
        writer.close()

    async def _replied(
        self, target: str, body: bytes, began: float, reader: asyncio.StreamReader
    ) -> AsyncIterator[bytes]:
        path = urlsplit(target).path
        match path.split("/")[1:]:
            case ["search"]:
                self.counts["search"] += 1
                text = parse_qs(urlsplit(target).query)["q"][0]
                planned = self._queries.get(text)
                await _until(began + (planned.search if planned else 0.0))
                pages = planned.pages if planned else self.plan.runs[0][0].pages
                yield _json({"query": text, "results": [self._row(page) for page in pages]})
            case ["page", number]:
                self.counts["page"] += 1
                page = self.plan.pages[int(number)]
                if page.latency == float("inf"):
                    await reader.read()  # until the client gives up
                    return
                await _until(began + page.latency)
                content = (
                    self._bodies[page.number] if page.status == 200 else b"<html><body>gone</body></html>"
                )
                yield _reply(content, "text/html; charset=utf-8", page.status)
            case ["robots.txt"]:
                self.counts["robots"] += 1
                yield _reply(b"", "text/plain", 404)
            case ["v1", "embeddings"]:
                self.counts["embeddings"] += 1
                request = json.loads(body)
                reply = self._embedded(request)
                texts = 1 if isinstance(request["input"], str) else len(request["input"])
                await _until(began + self.plan.embedding(texts))
                yield reply
            case ["v1", "chat", "completions"]:
                self.counts["chat"] += 1
                async for piece in self._chat(json.loads(body), began):
                    yield piece
            case ["v1", "models"]:
                yield _json({"object": "list", "data": [{"id": CHAT, "object": "model"}]})
            case ["counts"]:
                yield _json(self.counts)
            case _:
                yield _reply(b"", "text/plain", 404)

    # --- what is served -----------------------------------------------------------------------------------

    def _row(self, page: PlannedPage) -> dict[str, Any]:
        return {
            "url": f"{self._origins[page.host]}/page/{page.number}",
            "title": f"Report number {page.number}",
            "content": "A report about bridges and rivers.",
            "engine": "bench",
            "engines": ["bench"],
        }

    async def _chat(self, request: dict[str, Any], began: float) -> AsyncIterator[bytes]:
        """A plan with the wanted queries of the asked case, or the answer; token by token."""
        said = " ".join(message["content"] for message in request["messages"])
        text, seconds = ANSWER, self.plan.token * self.plan.seed.pace
        if wanted := WANTED.search(said):
            case = _CASE.search(said)
            queries = self.plan.runs[int(case[1]) if case else 0][: int(wanted[1])]
            text, seconds = "".join(f"{query.text}\n" for query in queries), self.plan.token
        yield (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
            b"Cache-Control: no-store\r\n\r\n"
        )
        pieces = tokens(text)
        for n, token in enumerate(pieces):
            await _until(began + self.plan.first_token + seconds * n)
            yield _event({"content": token})
        yield _event({}, "stop")
        yield _chunked(b"data: [DONE]\n\n") + b"0\r\n\r\n"

    @cached_property
    def _vectors(self) -> NDArray[np.float32]:
        drawn = np.random.default_rng(7).standard_normal((_VECTORS, WIDTH)).astype(np.float32)
        drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
        return drawn

    @cached_property
    def _as_base64(self) -> list[bytes]:
        return [b'"%s"' % base64.b64encode(row.tobytes()) for row in self._vectors]

    @cached_property
    def _as_floats(self) -> list[bytes]:
        return [json.dumps([round(float(x), 9) for x in row]).encode() for row in self._vectors]

    def warm(self) -> None:
        """Make what the first request would otherwise wait for."""
        assert self._as_base64
        assert self._as_floats

    def _embedded(self, request: dict[str, Any]) -> bytes:
        texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
        ready = self._as_base64 if request.get("encoding_format") == "base64" else self._as_floats
        rows = b",".join(
            b'{"object":"embedding","index":%d,"embedding":%s}'
            % (n, ready[zlib.crc32(text.encode()) % _VECTORS])
            for n, text in enumerate(texts)
        )
        usage = b'{"prompt_tokens":1,"total_tokens":1}'
        body = b'{"object":"list","data":[%s],"model":"%s","usage":%s}' % (rows, EMBEDDER.encode(), usage)
        return _reply(body, "application/json")


async def _until(moment: float) -> None:
    left = moment - time.perf_counter()
    if left > 0:
        await asyncio.sleep(left)


def _reply(body: bytes, media_type: str, status: int = 200) -> bytes:
    return (
        f"HTTP/1.1 {status} {'OK' if status == 200 else 'Not Found'}\r\nContent-Type: {media_type}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def _json(value: Any) -> bytes:
    return _reply(json.dumps(value).encode(), "application/json")


def _event(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": CHAT, "choices": [choice]}
    return _chunked(b"data: %s\n\n" % json.dumps(chunk).encode())


def _chunked(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


async def _main(seed: Seed, folder: Path | None) -> None:
    server = _Server(Plan.of(seed), folder)
    server.warm()
    print(await server.start(), flush=True)
    # Whoever started this world ends it by closing its input, also by dying.
    await asyncio.to_thread(sys.stdin.read)
    await server.aclose()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--number", "--seed", type=int, default=1)
    parser.add_argument("--queries", type=int, default=3)
    parser.add_argument("--results", type=int, default=5)
    parser.add_argument("--real", type=lambda text: text == "True", default=True)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--repeats", type=float, default=0.1)
    parser.add_argument("--pace", type=float, default=1.0)
    parser.add_argument("--pages", type=Path)
    given = vars(parser.parse_args())
    where = given.pop("pages")
    asyncio.run(_main(Seed(**given), where))
