"""The values of a run. All are frozen; web text in them is untrusted and plain, never markup."""

from core.model.answers import Answer, AnswerKind, ChatDelta, Check, Citation, Message, Sentence, Usage
from core.model.arrays import Floats, Rows, array_to_json
from core.model.hits import Author, Found, Hit, Phase, Query, Result, SearchReply
from core.model.library import Collection, Excerpt, Holding, Neighbour
from core.model.pages import (
    Article,
    Document,
    Extractor,
    Page,
    Skip,
    SkipReason,
    Suspicion,
    SuspicionKind,
    Unreadable,
)
from core.model.passages import Evidence, Index, Passage, Place, Source

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
    "Evidence",
    "Excerpt",
    "Extractor",
    "Floats",
    "Found",
    "Hit",
    "Holding",
    "Index",
    "Message",
    "Neighbour",
    "Page",
    "Passage",
    "Phase",
    "Place",
    "Query",
    "Result",
    "Rows",
    "SearchReply",
    "Sentence",
    "Skip",
    "SkipReason",
    "Source",
    "Suspicion",
    "SuspicionKind",
    "Unreadable",
    "Usage",
    "array_to_json",
]
