"""The description of a bundle as RO-Crate 1.1 metadata, by which repositories of research data read what is in it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

import orjson

from core import __version__
from core.export.archives.warc import address, started
from core.run.state import Run
from core.text.sanitize import encodable, json_without_surrogates, one_line

CRATE = "ro-crate-metadata.json"
_PROFILE = "https://w3id.org/ro/crate/1.1"
_ROOT, _RIGHTS, _RUN, _SOFTWARE = "./", "#rights", "#run", "#openquery"
_JSON = "application/json"
_MEDIA_TYPES = {
    "json": _JSON,
    "jsonl": "application/jsonl",
    "txt": "text/plain",
    "npy": "application/octet-stream",
}
_TITLES = {
    "manifest.json": "Parts of the bundle with their SHA-256 digests",
    "events.jsonl": "Events of the run with their times",
    "labels.json": "Labels of passages",
    "run.json": "The run as it was imported",
    "pages": "Text of a page",
    "vectors": "Vectors of the passages",
}


def ro_crate(run: Run, parts: Mapping[str, bytes], others: Iterable[str]) -> bytes:
    """The metadata of a zip with these parts, and with `others`, names of files that are written later.

    The zip is the root data set. Its files say which pages their texts are of, and the data set cites the pages.
    """
    pages = {address(page.url): page for page in run.pages.values()}
    urls_by_text: defaultdict[bytes, list[str]] = defaultdict(list)
    for url, page in pages.items():
        urls_by_text[encodable(page.text).encode()].append(url)
    files = [_file(name, content, urls_by_text.get(content, [])) for name, content in parts.items()]
    files += [_file(name, b"", []) for name in others]
    start, question = started(run), one_line(run.question) or "A question"
    begun, ended = (
        (start + timedelta(seconds=seconds)).isoformat(timespec="seconds") for seconds in (0, run.seconds)
    )
    rights = "Texts of pages belong to their authors; the run belongs to whoever asked."
    about = (
        f"How an answer to “{question}” was searched, read, ranked and written in OpenQuery, event by event."
    )
    entities = [
        _entity(CRATE, "CreativeWork", about=_to(_ROOT), conformsTo=_to(_PROFILE)),
        _entity(
            *(_ROOT, "Dataset", question),
            description=about,
            datePublished=begun,
            license=_to(_RIGHTS),
            hasPart=_to(*(file["@id"] for file in files)),
            citation=_to(*pages),
            mentions=_to(_RUN),
        ),
        *files,
        *(_entity(url, "WebPage", one_line(page.title) or url) for url, page in pages.items()),
        _entity(_RIGHTS, "CreativeWork", "No licence", description=rights),
        _entity(
            *(_RUN, "CreateAction", "The run"),
            instrument=_to(_SOFTWARE),
            startTime=begun,
            endTime=ended,
            result=_to(_ROOT),
        ),
        _entity(_SOFTWARE, "SoftwareApplication", "OpenQuery", version=__version__),
    ]
    document = {"@context": f"{_PROFILE}/context", "@graph": json_without_surrogates(entities)}
    return orjson.dumps(document, option=orjson.OPT_INDENT_2)


def _file(name: str, content: bytes, urls: list[str]) -> dict[str, Any]:
    """A file, with its size unless it is written later, and the pages that its text is of."""
    title = _TITLES.get(name) or _TITLES.get(name.partition("/")[0], name)
    media_type = _MEDIA_TYPES[name.rpartition(".")[2]]
    size = {"contentSize": str(len(content))} if content else {}
    based_on = {"isBasedOn": _to(*urls)} if urls else {}
    return _entity(name, "File", title, encodingFormat=media_type, **size, **based_on)


def _entity(name: str, kind: str, title: str = "", **properties: Any) -> dict[str, Any]:
    return {"@id": name, "@type": kind} | ({"name": title} if title else {}) | properties


def _to(*entities: str) -> Any:
    """References to entities: a list where there are several or none, as the standard recommends."""
    references = [{"@id": entity} for entity in entities]
    return references[0] if len(references) == 1 else references
