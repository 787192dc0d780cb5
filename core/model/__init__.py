"""The values of a run. All are frozen. Web text in them is untrusted and plain, never markup."""

from core.model.answers import Answer, AnswerKind, Citation, CitationCheck, Sentence
from core.model.arrays import Floats, Rows, array_to_json
from core.model.chat import (
    ROLES,
    FunctionCall,
    Message,
    ReplyText,
    Retry,
    Role,
    StreamChunk,
    ToolCall,
    ToolDefinition,
    ToolFunction,
    content_text,
)
from core.model.conversation import NO_CLIENT, AnswerFrom, ClientRequest, ClientTaskKind, Exchange, Turn
from core.model.hits import Author, Hit, HitOrigin, Phase, Query, Result, SearchReply, Skip
from core.model.library import Collection, LibraryDocument, LibraryPassage, Neighbour
from core.model.notices import CAVEAT, QUOTED, Notice, Severity
from core.model.pages import (
    CAPTCHA,
    FILLING,
    GET_TEXTS,
    TEXT_LEFT_OUT,
    Article,
    Document,
    Extractor,
    InjectionKind,
    InjectionSign,
    Page,
    SkipReason,
    StructureKind,
    Unreadable,
    is_left_out,
    readable,
)
from core.model.passages import (
    Grade,
    Index,
    Label,
    Passage,
    Place,
    Ranking,
    Source,
    context_numbers,
    snippet_numbers,
    source_numbers,
)
from core.model.usage import Embeddings, ModelUsage, RerankScores, Usage

__all__ = [
    "CAPTCHA", "CAVEAT", "FILLING", "GET_TEXTS", "NO_CLIENT", "QUOTED", "ROLES", "TEXT_LEFT_OUT", "Answer",
    "AnswerFrom", "AnswerKind", "Article", "Author", "Citation", "CitationCheck", "ClientRequest",
    "ClientTaskKind", "Collection", "Document", "Embeddings", "Exchange", "Extractor", "Floats",
    "FunctionCall", "Grade", "Hit", "HitOrigin", "Index", "InjectionKind", "InjectionSign", "Label",
    "LibraryDocument", "LibraryPassage", "Message", "ModelUsage", "Neighbour", "Notice", "Page", "Passage",
    "Phase", "Place", "Query", "Ranking", "ReplyText", "RerankScores", "Result", "Retry", "Role", "Rows",
    "SearchReply", "Sentence", "Severity", "Skip", "SkipReason", "Source", "StreamChunk", "StructureKind",
    "ToolCall", "ToolDefinition", "ToolFunction", "Turn", "Unreadable", "Usage", "array_to_json",
    "content_text", "context_numbers", "is_left_out", "readable", "snippet_numbers", "source_numbers",
]  # fmt: skip
