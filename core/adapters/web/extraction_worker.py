"""One reading worker process, seen from the outside: started, asked, killed."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
from typing import Any

from pydantic import NonNegativeInt, TypeAdapter, ValidationError

from core.adapters.worker_process import IMPORT_ROOT, command, environment
from core.errors import OpenQueryError
from core.model import Article, Document, Extractor, InjectionSign, SkipReason, Unreadable
from core.sandbox import Confinement

_START_SECONDS = 60.0
_TEXTS = (
    "text",
    "extractor",
    "title",
    "author",
    "date",
    "site",
    "language",
    "hidden",
    "left_out",
    "fallback",
)
_SECTIONS = TypeAdapter(list[tuple[NonNegativeInt, str]])
_SUSPICION = TypeAdapter(InjectionSign)
_CONFINEMENT = TypeAdapter(Confinement)
_PNG = b"\x89PNG\r\n\x1a\n"
_SMALL_FRAME = 1_000_000
_LARGEST_REPLY = 64_000_000


class WorkerDied(OpenQueryError):
    """The process ended, or said something that no worker says."""


class ExtractionWorker:
    """A process that extracts one document at a time. Whoever times out or is unsure kills it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        if process.stdin is None or process.stdout is None:
            raise WorkerDied("it has no pipes")
        self._process = process
        self._in, self._out = process.stdin, process.stdout
        self.confinement = Confinement(())
        self.served = 0
        self.spent = False
        """True when the process answered but should not be asked again."""

    @property
    def pid(self) -> int:
        return self._process.pid

    @classmethod
    async def start(cls, python: str, megabytes: int) -> ExtractionWorker:
        """A process of this interpreter that has its parsers loaded and a bounded address space.

        Raises:
            WorkerDied: when it cannot be started.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                *command("reading", str(megabytes), python=python),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                cwd=IMPORT_ROOT,
                env=environment(),
                start_new_session=True,  # Ctrl-C is for the parent, which then ends its workers
            )
        except (OSError, NotImplementedError, ValueError, RuntimeError) as error:
            raise WorkerDied(f"{type(error).__name__}: {error}") from error
        worker = cls(process)
        try:
            async with asyncio.timeout(_START_SECONDS):
                worker.confinement = _confinement(await worker._receive())
        except TimeoutError as error:
            worker.kill()
            raise WorkerDied(f"not ready within {_START_SECONDS:g} s") from error
        except BaseException:
            worker.kill()
            raise
        return worker

    async def extract(
        self, document: Document, extractor: Extractor, limit: float, cpu_limit: float = 0.0
    ) -> Article:
        """The article. `limit` is the caller's own, in seconds: the process ends itself some time after it, and
        at once when it has used `cpu_limit` seconds of CPU; 0 is no such limit.

        Raises:
            Unreadable: the worker's own verdict about the document.
            WorkerDied: when the process is gone.
        """
        header = {
            "url": document.url,
            "media_type": document.media_type,
            "charset": document.charset,
            "extractor": extractor.value,
            "limit": limit,
            "cpu_limit": cpu_limit,
        }
        return _article(await self._asked(header, document.body))

    async def draw(self, body: bytes, page: int, width: int, limit: float) -> bytes:
        """A page of a PDF as a PNG. Raises as `extract` does."""
        return _picture(await self._asked({"page": page, "width": width, "limit": limit}, body))

    async def _asked(self, header: dict[str, Any], body: bytes) -> dict[str, Any]:
        """The reply to a request. Raises Unreadable when it is a verdict."""
        self.served += 1
        await self._send(json.dumps(header).encode(), body)
        reply = await self._receive()
        self.spent = reply.get("spent") is True
        if "reason" not in reply:
            return reply
        reason, detail = reply["reason"], reply.get("detail")
        if reason not in SkipReason.__members__ or not isinstance(detail, str):
            raise WorkerDied("its reply is not a verdict")
        raise Unreadable(SkipReason[reason], detail[:200])

    def kill(self) -> None:
        if self._process.returncode is None:
            self._process.kill()

    async def aclose(self) -> None:
        self.kill()
        await self._process.wait()

    async def _send(self, *frames: bytes) -> None:
        try:
            for frame in frames:
                if self._in.is_closing():  # uvloop raises RuntimeError when such a pipe is written to
                    raise BrokenPipeError("its input is closed")
                length = struct.pack(">I", len(frame))
                # A small frame in one piece wakes the process once; a large one is not copied.
                self._in.writelines((length + frame,) if len(frame) < _SMALL_FRAME else (length, frame))
            await self._in.drain()
        except OSError as error:
            raise WorkerDied("it does not listen any more") from error

    async def _receive(self) -> dict[str, Any]:
        try:
            (length,) = struct.unpack(">I", await self._out.readexactly(4))
            if length > _LARGEST_REPLY:
                raise WorkerDied("its reply is too long")
            reply = json.loads(await self._out.readexactly(length))
        except asyncio.IncompleteReadError as error:
            raise WorkerDied("it ended") from error
        except (ValueError, OSError) as error:
            raise WorkerDied("its reply is not JSON") from error
        if not isinstance(reply, dict):
            raise WorkerDied("its reply is not an object")
        return reply


def _confinement(ready: dict[str, Any]) -> Confinement:
    try:
        return _CONFINEMENT.validate_python({name: ready.get(name) for name in ("in_force", "missing")})
    except ValidationError as error:
        raise WorkerDied("it does not start as workers do") from error


def _article(reply: dict[str, Any]) -> Article:
    """The reply's article. Every field is checked: hostile input may have written it.

    Raises:
        WorkerDied: when it is none.
    """
    texts = {name: reply.get(name) for name in _TEXTS}
    starts, seconds = reply.get("page_starts"), reply.get("seconds")
    if not (
        all(isinstance(value, str) for value in texts.values())
        and isinstance(starts, list)
        and all(isinstance(start, int) and 0 <= start <= len(str(texts["text"])) for start in starts)
        and isinstance(seconds, int | float)
    ):
        raise WorkerDied("its reply is not an article")
    marks = reply.get("suspicions")
    return Article(
        **texts,  # type: ignore[arg-type]
        page_starts=tuple(starts),
        sections=_sections(reply.get("sections"), len(str(texts["text"]))),
        suspicions=tuple(map(_suspicion, marks if isinstance(marks, list) else [])),
        seconds=float(seconds),
    )


def _picture(reply: dict[str, Any]) -> bytes:
    value = reply.get("png")
    try:
        picture = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except ValueError as error:
        raise WorkerDied("its reply is not a picture") from error
    if not picture.startswith(_PNG):
        raise WorkerDied("its reply is not a picture")
    return picture


def _sections(value: Any, length: int) -> tuple[tuple[int, str], ...]:
    try:
        sections = _SECTIONS.validate_python(value)
    except ValidationError as error:
        raise WorkerDied("its reply is not an article") from error
    starts = [start for start, _ in sections]
    if starts != sorted(starts) or any(start > length for start in starts):
        raise WorkerDied("its reply is not an article")
    return tuple(sections)


def _suspicion(mark: Any) -> InjectionSign:
    try:
        return _SUSPICION.validate_python(mark)
    except ValidationError as error:
        raise WorkerDied("its reply is not an article") from error
