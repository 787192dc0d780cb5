"""What a person may add to a collection."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from core.run.state import Run


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was handed over: a document, or a zip of documents. The name is shown, never used as a path."""

    name: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder on the server's disk with all below it, or one file there. Only where the operator allows it."""

    path: Path


@dataclass(frozen=True, slots=True)
class Address:
    """A document on the web."""

    url: str


@dataclass(frozen=True, slots=True)
class Sitemap:
    """All addresses on the same host that a sitemap names, its own sitemaps' too."""

    url: str


@dataclass(frozen=True, slots=True)
class RunPages:
    """The pages that a run read, as it read them: nothing is fetched again. `keys` names some of them; empty: all."""

    run: Run
    keys: frozenset[str] = frozenset()


IngestSource = Upload | Folder | Address | Sitemap | RunPages
