"""A data set: documents, and questions with grades, excerpts and reference answers."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from core.config.egress import PAGES
from core.features.evaluate.data_sets.source import Source
from core.features.evaluate.metrics.excerpt_metrics import Range


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusDocument:
    """A document in the searched corpus."""

    id: str
    text: str
    title: str = ""
    language: str = ""
    """The ISO 639-1 code from the file, or "" to detect the language from the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with its judgements. Without a relevant document the data set does not answer it."""

    id: str
    text: str
    judgements: Mapping[str, int] = field(default_factory=dict)
    """The grade of each judged document. 0 is judged and not relevant."""
    excerpts: tuple[Range, ...] = ()
    """The character ranges in documents that answer the question."""
    answers: tuple[str, ...] = ()
    """Reference answers."""
    line: int = field(default=0, compare=False)
    """The line in the file of questions, from 1, or 0 if unknown."""

    @property
    def answerable(self) -> bool:
        """Whether any document is judged relevant."""
        return any(grade > 0 for grade in self.judgements.values())


@dataclass(frozen=True, slots=True)
class Contents:
    """The number of documents and characters, and their digest."""

    documents: int
    characters: int
    digest: str
    """SHA-256 of the documents in their order, in hexadecimal."""


class Tally:
    """Counts documents while they are read."""

    def __init__(self) -> None:
        self._documents = self._characters = 0
        self._digest = hashlib.sha256()

    def add(self, document: CorpusDocument) -> CorpusDocument:
        """Count a document, and return it."""
        self._documents, self._characters = self._documents + 1, self._characters + len(document.text)
        content = f"{document.id}\0{document.title}\0{document.text}\0"
        self._digest.update(content.encode(errors="surrogatepass"))
        return document

    @property
    def contents(self) -> Contents:
        """The counts and digest so far."""
        return Contents(self._documents, self._characters, self._digest.hexdigest())


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """Questions with judgements, and their documents."""

    name: str
    questions: tuple[Question, ...]
    documents: Callable[[], Iterator[CorpusDocument]]
    """Reads the documents from the beginning, one at a time. Raises `BadInput` for an unusable document."""
    warnings: tuple[str, ...] = ()
    """Oddities that were found and left unchanged."""
    origins: frozenset[str] = frozenset({PAGES})
    """The origins of the documents, as `EgressPolicy` names them."""
    questions_file: Source | None = None
    """The file that the questions' line numbers refer to."""
    counted: Contents | None = None
    """The counts when the data set was checked, or None if it was not checked."""

    def contents(self) -> Contents:
        """Return the counts, counting the documents if needed.

        Raises:
            BadInput: when a document cannot be used.
        """
        if self.counted:
            return self.counted
        tally = Tally()
        for document in self.documents():
            tally.add(document)
        return tally.contents
