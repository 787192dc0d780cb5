"""A reading worker: documents from stdin, articles to stdout.

It writes one frame per document until stdin ends. A request has a JSON header and the document's body.
`core.reading.replies` has the replies. The first reply names the worker's confinement. A header with a `page`
requests a picture of that page of a PDF instead of an article. A header with a `missing` text requests the
reason that the article lacks the text.

With the argument `forks` the process reads nothing itself: it loads the parsers once, and forks a worker for each
socket that it receives.
"""

import json
import signal
import sys
from collections.abc import Callable
from typing import Any

from core.model import Article, Document, Extractor, SkipReason, Unreadable
from core.reading import extract
from core.reading.absence import Absence, absence_from_article
from core.reading.memory import limit_process, limit_request
from core.reading.replies import Reply, Verdict, encode_reply
from core.sandbox import confine
from core.sandbox.forks import fork_for_each_socket
from core.sandbox.frames import read_frame, reply_stream, write_frame

Read = Callable[[Document, Extractor], Article]

_GRACE = 5
"""Seconds after the parent's limit when the worker ends itself. This matters if the parent is gone."""
_REASONS: dict[type[BaseException], str] = {
    MemoryError: "it needs too much memory",
    RecursionError: "it is nested too deep",
}


def main(megabytes: int, read: Read = extract, *, forks: bool = False, with_landlock: bool = True) -> None:
    """Serve until stdin ends, with `read` as the reader. `megabytes` bounds the address space."""
    if forks:
        _warm_up()
        fork_for_each_socket()
    requests, replies = sys.stdin.buffer, reply_stream()
    if not forks:
        _warm_up()  # before the confinement: nothing foreign is read, and libraries probe the system on import
    sys.dont_write_bytecode = True
    confinement = confine(keep=(replies.fileno(),), with_landlock=with_landlock)
    limit_process(megabytes)
    write_frame(replies, *encode_reply(confinement))

    def article(header: dict[str, Any], body: bytes) -> Article:
        return read(_document(header, body), Extractor(header["extractor"]))

    while (frame := read_frame(requests)) is not None:
        header, body = json.loads(frame[0]), frame[1]
        signal.setitimer(signal.ITIMER_REAL, header["limit"] + _GRACE)
        signal.setitimer(signal.ITIMER_PROF, header.get("cpu_limit", 0.0))
        limit_request(header.get("media_type", "application/pdf"), len(body), megabytes)
        work = _picture if "page" in header else _absence if "missing" in header else article
        reply = _answer(work, header, body)
        limit_request("", 0, megabytes)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        write_frame(replies, *encode_reply(reply))


def _answer(work: Callable[[dict[str, Any], bytes], Reply], header: dict[str, Any], body: bytes) -> Reply:
    try:
        return work(header, body)
    except Unreadable as why:
        return Verdict(why.reason, why.detail)
    except (MemoryError, RecursionError) as error:
        return Verdict(SkipReason.CRASHED, _REASONS[type(error)], retire=True)
    except Exception:  # any error of a parser costs only this page
        return Verdict(SkipReason.BROKEN, "an error in the parser")


def _absence(header: dict[str, Any], body: bytes) -> Absence:
    return absence_from_article(_document(header, body), header["missing"], Extractor(header["extractor"]))


def _document(header: dict[str, Any], body: bytes) -> Document:
    fields = {name: header[name] for name in ("url", "media_type", "charset")}
    return Document(**fields, status=200, body=body, kept=tuple(header["kept"]))


def _picture(header: dict[str, Any], body: bytes) -> bytes:
    from core.reading.pdf.images import draw_page

    return draw_page(body, header["page"], header["width"])


def _warm_up() -> None:
    """Read one small page, so that the first request finds the parsers loaded."""
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


if __name__ == "__main__":
    main(int(sys.argv[1]), forks="forks" in sys.argv)
