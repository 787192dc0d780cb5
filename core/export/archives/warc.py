"""The pages of a run as WARC 1.1 (ISO 28500:2017), one gzip member a record.

What a run has of a page is its extracted text and not what the server sent. So each page is a `conversion` record, which
is what the standard calls another form of a resource, and a `metadata` record says how it came about.
"""

import base64
import gzip
import hashlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import quote
from uuid import NAMESPACE_URL, UUID, uuid5

from core import __version__
from core.errors import BadInput
from core.model import Page
from core.run.state import Run
from core.text.sanitize import encodable, one_line

_FIELDS = "application/warc-fields"


def has_texts(run: Run) -> bool:
    """Whether there is a page whose text is here."""
    return any(not page.lacks_text for page in run.pages.values())


def warc(run: Run) -> bytes:
    """The pages of the run whose texts are here, in the order of their arrival, compressed. The same run is the same bytes.

    Raises:
        BadInput: when there are none.
    """
    if not has_texts(run):
        raise BadInput("This run has no texts of pages.", hint="Export it as .json or .zip.")
    return b"".join(gzip.compress(record, mtime=0) for record in _records(run))


def address(url: str) -> str:
    """An address in ASCII without white space or quotation marks, as a header or an identifier needs it."""
    return quote(encodable(url), safe="%:/?#[]@!$&'()*+,;=-._~")


def _records(run: Run) -> Iterator[bytes]:
    start = started(run)
    info = _id(run, "warcinfo")
    about = {
        "software": f"OpenQuery {__version__}",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "description": f"Extracted texts of the pages that were read for: {one_line(run.question, 1000)}",
    }
    yield _record("warcinfo", info, start, _FIELDS, _fields(about))
    for key, page in run.pages.items():
        if page.lacks_text:
            continue
        fetch = run.timeline.activities.get(f"fetch {key}")
        at = start + timedelta(seconds=fetch.span.end or 0.0) if fetch else start
        text = _id(run, f"conversion {key}")
        headers = {"WARC-Target-URI": address(page.url), "WARC-Warcinfo-ID": f"<{info.urn}>"}
        yield _record(
            "conversion", text, at, "text/plain;charset=utf-8", encodable(page.text).encode(), headers
        )
        headers["WARC-Refers-To"] = f"<{text.urn}>"
        yield _record("metadata", _id(run, f"metadata {key}"), at, _FIELDS, _fields(_about(page)), headers)


def _about(page: Page) -> dict[str, str]:
    """How the text of a page came about."""
    article = page.article
    return {
        "title": page.title,
        "author": article.author,
        "date": article.date,
        "language": article.language,
        "extractor": article.extractor,
        "note": "the snippet of a search result stands in for the page" if page.snippet_only else "",
        "http-status": "" if page.snippet_only else str(page.status),
        "original-content-type": page.media_type,
        "original-size": str(page.size or ""),
    }


def _fields(values: Mapping[str, str]) -> bytes:
    """Named fields, one a line, without those that are empty."""
    lines = (f"{name}: {one_line(value, 2000)}\r\n" for name, value in values.items() if value)
    return encodable("".join(lines)).encode()


def _record(  # noqa: PLR0917  # the parts of a record in their order
    kind: str,
    record_id: UUID,
    at: datetime,
    media_type: str,
    block: bytes,
    headers: Mapping[str, str] | None = None,
) -> bytes:
    digest = base64.b32encode(hashlib.sha1(block, usedforsecurity=False).digest()).decode()
    head = {
        "WARC-Type": kind,
        "WARC-Record-ID": f"<{record_id.urn}>",
        "WARC-Date": at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        **(headers or {}),
        "WARC-Block-Digest": f"sha1:{digest}",
        "Content-Type": media_type,
        "Content-Length": str(len(block)),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    return f"WARC/1.1\r\n{lines}\r\n".encode() + block + b"\r\n\r\n"


def _id(run: Run, name: str) -> UUID:
    return uuid5(NAMESPACE_URL, f"openquery {run.id} {encodable(name)}")


def started(run: Run) -> datetime:
    """When the run began; the beginning of time where it does not say."""
    return datetime.fromisoformat(run.started) if run.started else datetime.fromtimestamp(0, UTC)
