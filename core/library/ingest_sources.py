"""What a person may add to a collection."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from core.run.state import Run


@dataclass(frozen=True, slots=True)
class Upload:
    """An uploaded file: a document, or a zip of documents. The name is only shown, never used as a path."""

    name: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Folder:
    """A file or a folder with all files below it on the server's disk, where the operator allows it."""

    path: Path


@dataclass(frozen=True, slots=True)
class Address:
    """A document on the web."""

    url: str


@dataclass(frozen=True, slots=True)
class Sitemap:
    """All addresses on its own host in a sitemap and the sitemaps nested in it."""

    url: str


@dataclass(frozen=True, slots=True)
class RunPages:
    """Pages as a run read them, without fetching them again: those with these keys, or all where there are none."""

    run: Run
    keys: frozenset[str] = frozenset()


IngestSource = Upload | Folder | Address | Sitemap | RunPages
