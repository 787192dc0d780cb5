"""Example questions about documents, made of their titles and of nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from core.model import LibraryDocument
from core.text.sanitize import one_line

QUESTIONS = 3
"""How many example questions are offered."""

_TITLE = 80
"""Characters of a title in a question."""


def example_questions(documents: Iterable[LibraryDocument]) -> tuple[str, ...]:
    """A question about each of the first documents that have passages: by their titles, at last by their files' names."""
    titled_first = sorted((one for one in documents if one.passages), key=lambda document: not document.title)
    titles = (one_line(document.title or _file_title(document.source), _TITLE) for document in titled_first)
    return tuple(f"What does “{title}” say?" for title in dict.fromkeys(filter(None, titles)))[:QUESTIONS]


def _file_title(source: str) -> str:
    """The name of a file without folder and extension; an address as it is."""
    return source if "://" in source else PurePath(source).stem
