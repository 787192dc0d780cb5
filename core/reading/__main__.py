"""A reading worker: documents in on stdin, articles out on stdout, one frame each, until stdin ends.

A frame is a 4-byte big-endian length and that many bytes. A request is a JSON header in one frame and the
body in the next; a reply is one frame of JSON. The first reply tells what confines the worker. A header with a
`page` asks for a picture of that page of a PDF instead of an article; it comes as a PNG in base64. JSON and not
pickle: a document that takes the parser over must not take over the process that listens.
"""

from __future__ import annotations

import base64
import functools
import json
import os
import signal
import struct
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, BinaryIO

from core.model import Article, Document, Extractor, SkipReason, Unreadable
from core.reading import extract
from core.reading.memory import limit_process, limit_request
from core.sandbox import confine

Read = Callable[[Document, Extractor], Article]

_GRACE = 5
"""Seconds after the parent's own limit at which the worker ends itself, should the parent be gone."""


def main(megabytes: int, read: Read = extract) -> None:
    """Serve until stdin ends, with `read` as the reader. `megabytes` bounds the address space."""
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    _silence_output()
    _warm_up()  # before the confinement, as nothing foreign is read, and libraries probe the system on import
    confinement = confine(keep=(replies.fileno(),))
    limit_process(megabytes)
    _send(replies, {"ready": True, **asdict(confinement)})
    article = functools.partial(_article, read)
    while (frame := _receive(requests)) is not None:
        header = json.loads(frame)
        body = _receive(requests)
        if body is None:
            return
        signal.setitimer(signal.ITIMER_REAL, header["limit"] + _GRACE)
        signal.setitimer(signal.ITIMER_PROF, header.get("cpu_limit", 0.0))
        limit_request(header.get("media_type", "application/pdf"), len(body), megabytes)
        reply = _answer(_picture if "page" in header else article, header, body)
        limit_request("", 0, megabytes)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        _send(replies, reply)


def _answer(
    work: Callable[[dict[str, Any], bytes], dict[str, Any]], header: dict[str, Any], body: bytes
) -> dict[str, Any]:
    try:
        return work(header, body)
    except Unreadable as why:
        return {"reason": why.reason.name, "detail": why.detail}
    except (MemoryError, RecursionError) as error:
        return {"reason": SkipReason.CRASHED.name, "detail": _REASONS[type(error)], "spent": True}
    except Exception as error:  # whatever a parser throws, this page is the only one that pays for it
        return {"reason": SkipReason.BROKEN.name, "detail": f"{type(error).__name__} in the parser"}


def _article(read: Read, header: dict[str, Any], body: bytes) -> dict[str, Any]:
    document = Document(
        url=header["url"], status=200, media_type=header["media_type"], charset=header["charset"], body=body
    )
    article = read(document, Extractor(header["extractor"]))
    fields = {name: getattr(article, name) for name in article.__dataclass_fields__}
    return {**fields, "suspicions": [asdict(mark) for mark in article.suspicions]}


def _picture(header: dict[str, Any], body: bytes) -> dict[str, Any]:
    from core.reading.pdf_images import draw_page

    return {"png": base64.b64encode(draw_page(body, header["page"], header["width"])).decode()}


_REASONS: dict[type[BaseException], str] = {
    MemoryError: "it needs too much memory",
    RecursionError: "it is nested too deep",
}


def _silence_output() -> None:
    """Whatever a library prints must not end up between the frames."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    sys.dont_write_bytecode = True


def _warm_up() -> None:
    """Read one small page, so that the parsers are loaded before the first request."""
    words = "Reading begins with a page that says nothing in particular. " * 8
    html = f"<html lang='en'><head><title>Warm-up</title></head><body><article><p>{words}</p></article></body></html>"
    for extractor in Extractor:
        page = Document(
            url="https://example.org/",
            status=200,
            media_type="text/html",
            charset="utf-8",
            body=html.encode(),
        )
        extract(page, extractor)


def _receive(stream: BinaryIO) -> bytes | None:
    size = stream.read(4)
    if len(size) < 4:
        return None
    (length,) = struct.unpack(">I", size)
    frame = stream.read(length)
    return frame if len(frame) == length else None


def _send(stream: BinaryIO, reply: dict[str, Any]) -> None:
    frame = json.dumps(reply, ensure_ascii=False).encode("utf-8", errors="replace")
    stream.write(struct.pack(">I", len(frame)) + frame)
    stream.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
