"""The values of a run. All are frozen; web text in them is untrusted and plain, never markup."""

from core.model.answers import Answer, AnswerKind, ChatDelta, Check, Citation, Message, Sentence, Usage
from core.model.arrays import Floats, Rows, array_to_json
from core.model.hits import Author, Hit, HitOrigin, Phase, Query, Result, SearchReply
from core.model.library import Collection, LibraryDocument, LibraryPassage, Neighbour
from core.model.pages import (
    Article,
    Document,
    Extractor,
    InjectionKind,
    InjectionSign,
    Page,
    Skip,
    SkipReason,
    Unreadable,
)
from core.model.passages import Index, Passage, Place, Ranking, Source

__all__ = [
    "Answer",
    "AnswerKind",
    "Article",
    "Author",
    "ChatDelta",
    "Check",
    "Citation",
    "Collection",
    "Document",
    "Extractor",
    "Floats",
    "Hit",
    "HitOrigin",
    "Index",
    "InjectionKind",
    "InjectionSign",
    "LibraryDocument",
    "LibraryPassage",
    "Message",
    "Neighbour",
    "Page",
    "Passage",
    "Phase",
    "Place",
    "Query",
    "Ranking",
    "Result",
    "Rows",
    "SearchReply",
    "Sentence",
    "Skip",
    "SkipReason",
    "Source",
    "Unreadable",
    "Usage",
    "array_to_json",
]
