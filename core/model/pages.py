"""Documents, articles, pages and skips: the results of reading."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from core.errors import OpenQueryError
from core.model.library import SOURCE_KEY, document_key
from core.model.passage_urls import passage_at_url

_NAMES_OF_PARTS = {
    "article": ("article", "comments"),
    "collection": ("collection", "items"),
    "forum": ("forum thread", "posts"),
    "listing": ("listing", "items"),
    "product": ("product", "reviews"),
}
"""The name of each page kind with counted parts, and the name of its parts."""
CAPTCHA = "the page asks for a captcha"
"""The detail of a page that only people may see."""
FILLING = "░"
"""The character that replaces text left out of a file, with some blanks between."""
TEXT_LEFT_OUT = "The text was left out of this file."
"""The sentence that is displayed in place of such a text."""
GET_TEXTS = "Ask the sender for a file with the texts, or ask the question again."
"""The hint of errors and notices about such texts."""


class Extractor(StrEnum):
    """The method that separates the article from the rest of a page."""

    ACCURATE = "accurate"
    FAST = "fast"
    VISIBLE = "visible"


class StructureKind(StrEnum):
    """The kind of an article's part that is not prose."""

    TABLE = "table"
    CODE = "code"


class SkipReason(StrEnum):
    """The reason why a page is not among the articles."""

    TIMEOUT = "timed out"
    DEADLINE = "phase deadline"
    CUT = "early cut"
    BLOCKED = "address not allowed"
    ROBOTS = "robots.txt"
    NETWORK = "network error"
    STATUS = "HTTP error"
    REDIRECTS = "redirects"
    TOO_LARGE = "too large"
    UNSUPPORTED = "not a readable type"
    BROKEN = "could not be parsed"
    CRASHED = "parser stopped"
    NEEDS_JAVASCRIPT = "needs JavaScript"
    CONSENT_WALL = "cookie wall"
    LOGIN_WALL = "login wall"
    NOT_FOUND = "soft 404"
    MOVED = "moved"
    EMPTY = "no article text"


class Unreadable(OpenQueryError):
    """A page that cannot be fetched or read, with the reason.

    The `Web` and `Extract` ports raise it, and the page is skipped.
    """

    part = "read"
    exit_code = 4

    def __init__(self, reason: SkipReason, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else str(reason))
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A fetched body after transfer decoding.

    `media_type` is lower case without parameters. `charset` comes from the header, unverified.
    """

    url: str
    """The address after redirects."""
    status: int
    media_type: str
    charset: str | None
    body: bytes
    max_age: float = 0.0
    """Seconds for which the server allows reuse of this body."""
    from_cache: bool = False
    kept: tuple[str, ...] = ()
    """Texts whose blocks a person wants in the article, independent of the extractor. For HTML only."""


class InjectionKind(StrEnum):
    """A possible attack of a page on the model that reads it."""

    OVERRIDE = "tells a model to ignore its instructions"
    ROLE = "imitates the marks of a chat"
    ADDRESSED = "speaks to AI models"
    PERSONA = "gives a model another role"
    SECRETS = "asks a model for its instructions or secrets"
    CONCEAL = "tells a model to hide something from its user"
    EXFILTRATION = "asks a model to send data out"
    TOOL = "imitates or asks for a tool call"
    REPLY = "tells a model what to answer"
    ENCODED = "holds orders in code"
    INVISIBLE = "holds words in invisible characters"
    CONTRADICTION = "declares another product or price than it shows"


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionSign:
    """Words of a page that look like orders to a model. They are at `text[start:end]`, or in its article's `hidden`.

    Offsets in hidden text count all of it, though `hidden` keeps only the beginning. A sign is a hint for a person,
    never a filter. `strong` is False if the words are quoted or talked about, or honest pages write them too. Signs in
    hidden text are always strong.
    """

    kind: InjectionKind
    start: int
    end: int
    quote: str
    hidden: bool = False
    strong: bool = True


def is_left_out(text: str) -> bool:
    """Whether a text was left out of a file. `text` then has only filling characters."""
    return FILLING in text and not text.strip(f"{FILLING} ")


def readable(text: str) -> str:
    """Return a text for display. A text that was left out of the file is replaced by a sentence."""
    return TEXT_LEFT_OUT if is_left_out(text) else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """The text that a reader of a document sees. It is NFC, with paragraphs separated by a blank line.

    `page_starts` are the offsets in `text` at which the pages of a paged document begin. Other documents have none.
    """

    text: str
    extractor: str
    title: str = ""
    author: str = ""
    date: str = ""
    site: str = ""
    language: str = ""
    declared_language: str = ""
    """The language that the page declares if its text is in another, or ""."""
    page_starts: tuple[int, ...] = ()
    first_page: int = 1
    """The number of the page that `page_starts` begins with."""
    sections: tuple[tuple[int, str], ...] = ()
    """Offsets in `text` of chapters or other headed parts, each with its heading, in order."""
    structures: tuple[tuple[int, int, StructureKind], ...] = ()
    """Start and end offsets in `text` of tables and code, in order and without overlaps."""
    kept: tuple[tuple[int, int], ...] = ()
    """Start and end offsets in `text` of blocks that the extractor removed and a person kept."""
    left_out: str = ""
    """Describes the part of a long document that was not read, or ""."""
    fallback: str = ""
    """The reason why another extractor replaced the chosen extractor, or ""."""
    kind: str = ""
    """The kind of its page: article, collection, documentation, forum, listing, product or service.

    Empty if unknown.
    """
    kind_reason: str = ""
    """The signs that identified the page's kind, and the scores that selected its text, for a person."""
    parts: int = 0
    """The number of `sections` that are posts, comments or items of the page."""
    hidden: str = ""
    """The beginning of the text that the page hid from readers. It is not part of `text`."""
    injection_signs: tuple[InjectionSign, ...] = ()
    """Text that looks like orders to a model."""
    seconds: float = 0.0
    """CPU seconds of the extraction."""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The metadata that a collection stores with a passage, as JSON values. Empty for a page of the web."""
    text_left_out: bool = False
    """Whether the text was left out of a file. `text` then has as many filling characters."""

    @property
    def kind_and_parts(self) -> str:
        """The kind with the number of parts, such as "forum thread, 14 posts", or ""."""
        name, parts = _NAMES_OF_PARTS.get(self.kind, ("", ""))
        return f"{name}, {self.parts:,} {parts}" if name and self.parts > 1 else self.kind

    @property
    def structures_in_order(self) -> bool:
        """Whether structures and kept blocks are ordered, non-empty and disjoint.

        They must be inside of the text too.
        """
        structures = [(start, end) for start, end, _ in self.structures]
        for spans in (structures, self.kept):
            ends = (0, *(offset for span in spans for offset in span), len(self.text))
            if sorted(ends) != list(ends) or any(start == end for start, end in spans):
                return False
        return True

    @property
    def kept_texts(self) -> tuple[str, ...]:
        """The texts of the blocks that a person kept."""
        return tuple(self.text[start:end] for start, end in self.kept)

    def page_at(self, offset: int) -> int | None:
        """Return the number of the page that has `text[offset]`, or None without pages."""
        passed = bisect_right(self.page_starts, offset)
        return self.first_page + passed - 1 if passed else None

    def section_at(self, offset: int) -> str:
        """Return the heading of the section that has `text[offset]`, or ""."""
        passed = bisect_right(self.sections, offset, key=lambda section: section[0])
        return self.sections[passed - 1][1] if passed else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A hit that was read. `key` is the hit's key. Passages slice `article.text`."""

    key: str
    url: str
    title: str
    article: Article
    status: int = 200
    media_type: str = ""
    size: int = 0
    """Bytes of the decoded body."""
    seconds: float = 0.0
    """Seconds from the start of the fetch to the last byte."""
    snippet_only: bool = False
    """Whether a search engine's snippet replaces the page, because nothing could be fetched."""
    from_cache: bool = False

    @property
    def text(self) -> str:
        """The text of the article, in which places are offsets."""
        return self.article.text

    @property
    def lacks_text(self) -> bool:
        """Whether the text was left out of an imported file."""
        return self.article.text_left_out

    @property
    def document(self) -> str:
        """The key of its document. For a collection's passage, it identifies the document that has the passage."""
        reference = passage_at_url(self.key)
        digest = self.article.metadata.get("document")
        document = document_key(digest if isinstance(digest, str) else "", self.article.site)
        return f"{reference[0]}\n{document}" if reference and document != SOURCE_KEY else self.key

    @property
    def injection_signs(self) -> tuple[InjectionSign, ...]:
        """Text that looks like orders to a model. The signs are hints and remove nothing."""
        return self.article.injection_signs

    @property
    def has_strong_sign(self) -> bool:
        """Whether a person should check it before trusting the answer."""
        return any(mark.strong for mark in self.injection_signs)
