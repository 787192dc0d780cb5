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
_ROOT, _RIGHTS, _ACTION, _SOFTWARE = "./", "#rights", "#run", "#openquery"
_MEDIA_TYPES = {
    "json": "application/json",
    "jsonl": "application/jsonl",
    "txt": "text/plain",
    "npy": "application/octet-stream",
}
_TITLES = {
    "manifest.json": "Parts of the bundle with their SHA-256 digests",
    "events.jsonl": "Events of the run with their times",
    "labels.json": "Labels of passages",
    "run.json": "The run as it was imported",
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
    files += [_file(name, None, []) for name in others]
    start = started(run)
    root = {
        "@id": _ROOT,
        "@type": "Dataset",
        "name": one_line(run.question) or "A question",
        "description": f"A run of OpenQuery: how an answer to “{one_line(run.question)}” was searched, read, ranked and "
        "written, event by event.",
        "datePublished": start.isoformat(timespec="seconds"),
        "license": _to(_RIGHTS),
        "hasPart": _to(*(file["@id"] for file in files)),
        "citation": _to(*pages),
        "mentions": _to(_ACTION),
    }
    entities = [
        {"@id": CRATE, "@type": "CreativeWork", "about": _to(_ROOT), "conformsTo": _to(_PROFILE)},
        root,
        *files,
        *(
            {"@id": url, "@type": "WebPage", "name": one_line(page.title) or url}
            for url, page in pages.items()
        ),
        {
            "@id": _RIGHTS,
            "@type": "CreativeWork",
            "name": "No licence",
            "description": "Texts of pages belong to their authors; the run belongs to whoever asked.",
        },
        {
            "@id": _ACTION,
            "@type": "CreateAction",
            "name": "The run",
            "instrument": _to(_SOFTWARE),
            "startTime": start.isoformat(timespec="seconds"),
            "endTime": (start + timedelta(seconds=run.seconds)).isoformat(timespec="seconds"),
            "result": _to(_ROOT),
        },
        {
            "@id": _SOFTWARE,
            "@type": "SoftwareApplication",
            "name": "OpenQuery",
            "version": __version__,
        },
    ]
    document = {"@context": f"{_PROFILE}/context", "@graph": json_without_surrogates(entities)}
    return orjson.dumps(document, option=orjson.OPT_INDENT_2)


def _file(name: str, content: bytes | None, urls: list[str]) -> dict[str, Any]:
    folder, ending = name.partition("/")[0], name.rpartition(".")[2]
    titles = {"pages": "Text of a page", "vectors": "Vectors of the passages"}
    described: dict[str, Any] = {
        "@id": name,
        "@type": "File",
        "name": _TITLES.get(name) or titles.get(folder, name),
        "encodingFormat": _MEDIA_TYPES.get(ending, "application/octet-stream"),
    }
    if content is not None:
        described["contentSize"] = str(len(content))
    if urls:
        described["isBasedOn"] = _to(*urls)
    return described


def _to(*entities: str) -> Any:
    """References to entities: a list where there are several or none, as the standard recommends."""
    references = [{"@id": entity} for entity in entities]
    return references[0] if len(references) == 1 else references
