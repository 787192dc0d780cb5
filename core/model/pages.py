"""What was read, or why it was not: documents, articles, pages, skips."""

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
"""What a kind of page is called beside the number of its parts, and what these are."""


class Extractor(StrEnum):
    """How the article of a page is told from the rest of it."""

    ACCURATE = "accurate"
    FAST = "fast"
    VISIBLE = "visible"


class StructureKind(StrEnum):
    """What a part of an article is that is no prose."""

    TABLE = "table"
    CODE = "code"


class SkipReason(StrEnum):
    """Why a page is not among the articles."""

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
    EMPTY = "no article text"


CAPTCHA = "the page asks for a captcha"
"""The detail of a page that is only shown to people."""


class Unreadable(OpenQueryError):
    """A page that cannot be fetched or read, and why. Raised by the `Web` and `Extract` ports; the page is skipped."""

    part = "read"
    exit_code = 4

    def __init__(self, reason: SkipReason, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else str(reason))
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A fetched body, decoded from its transfer coding and nothing else.

    `media_type` is lower case without parameters; `charset` is the header's own, unverified.
    """

    url: str
    """The address after redirects."""
    status: int
    media_type: str
    charset: str | None
    body: bytes
    max_age: float = 0.0
    """Seconds for which the server lets this body be used again."""
    from_cache: bool = False
    kept: tuple[str, ...] = ()
    """Texts whose blocks a person wants in its article, whatever an extractor takes; of HTML only."""


class InjectionKind(StrEnum):
    """What a page may be trying on the model that reads it."""

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
    """Words of a page that look like orders to a model, at `text[start:end]`, or in its article's `hidden`.

    Offsets in what was hidden count all of it, though `hidden` keeps only the beginning. A hint for a
    person, never a filter. `strong` is False where the words are quoted or talked about, or honest pages
    write them too; what was hidden is always strong.
    """

    kind: InjectionKind
    start: int
    end: int
    quote: str
    hidden: bool = False
    strong: bool = True


FILLING = "░"
"""The character that replaces those of a text that was left out of a file, with some blanks between."""
TEXT_LEFT_OUT = "The text was left out of this file."
"""The sentence that a face shows in place of such a text."""
GET_TEXTS = "Ask the sender for a file with the texts, or ask the question again."
"""The hint of errors and notices about such texts."""


def is_left_out(text: str) -> bool:
    """Whether a text was left out of a file, so that `text` is nothing but filling characters."""
    return FILLING in text and not text.strip(f"{FILLING} ")


def readable(text: str) -> str:
    """Return a text for display, or the sentence that it was left out of the file."""
    return TEXT_LEFT_OUT if is_left_out(text) else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """What a reader would see. Text is NFC, with paragraphs separated by a blank line.

    `page_starts` are the offsets in `text` at which the pages of a paged document begin; empty elsewhere.
    """

    text: str
    extractor: str
    title: str = ""
    author: str = ""
    date: str = ""
    site: str = ""
    language: str = ""
    declared_language: str = ""
    """The language that the page declares, where its text is in another; empty: nothing contradicts."""
    page_starts: tuple[int, ...] = ()
    first_page: int = 1
    """The number of the page that `page_starts` begins with."""
    sections: tuple[tuple[int, str], ...] = ()
    """The offsets in `text` at which chapters or other headed parts begin, each with its heading, in order."""
    structures: tuple[tuple[int, int, StructureKind], ...] = ()
    """The tables and the code in `text`, as offsets of the beginning and the end, in order and apart."""
    kept: tuple[tuple[int, int], ...] = ()
    """The blocks in `text` that a person has kept in it, as such offsets; its extractor had left them out."""
    left_out: str = ""
    """What of the document was not read because it is too long, in words; empty: nothing."""
    fallback: str = ""
    """Why another extractor than the chosen one made it, in words; empty: the chosen one did."""
    kind: str = ""
    """What kind of page it is on: article, collection, documentation, forum, listing, product or service; empty: unknown."""
    kind_reason: str = ""
    """The signs on the page by which its kind was told, and the scores by which its text was chosen, in words."""
    parts: int = 0
    """How many `sections` are posts, comments or items of the page."""
    hidden: str = ""
    """The beginning of what the page held out of its readers' sight. It is no part of `text`."""
    injection_signs: tuple[InjectionSign, ...] = ()
    """What in it looks like orders to a model."""
    seconds: float = 0.0
    """CPU seconds of the extraction."""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What a collection stores with a passage, as it was written: JSON values. Empty for a page of the web."""
    text_left_out: bool = False
    """Whether the text was left out of a file. `text` then has as many filling characters."""

    @property
    def kind_and_parts(self) -> str:
        """Its kind with the number of its parts: "forum thread, 14 posts"; empty where the kind is unknown."""
        name, parts = _NAMES_OF_PARTS.get(self.kind, ("", ""))
        return f"{name}, {self.parts:,} {parts}" if name and self.parts > 1 else self.kind

    @property
    def structures_in_order(self) -> bool:
        """Whether no structure is empty, overlaps another or is outside of the text; nor any block that was kept."""
        structures = [(start, end) for start, end, _ in self.structures]
        for spans in (structures, self.kept):
            ends = (0, *(offset for span in spans for offset in span), len(self.text))
            if sorted(ends) != list(ends) or any(start == end for start, end in spans):
                return False
        return True

    @property
    def kept_texts(self) -> tuple[str, ...]:
        """The texts of the blocks that a person has kept in it."""
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
    """A hit that was read. `key` is its hit's; passages slice `article.text`."""

    key: str
    url: str
    title: str
    article: Article
    status: int = 200
    media_type: str = ""
    size: int = 0
    """Bytes of the decoded body."""
    seconds: float = 0.0
    """From the start of the fetch to the last byte."""
    snippet_only: bool = False
    """True when nothing could be fetched and the search engine's snippet stands in for the page."""
    from_cache: bool = False

    @property
    def text(self) -> str:
        """The text of the article, in which places are offsets."""
        return self.article.text

    @property
    def lacks_text(self) -> bool:
        """Whether the text was left out of the file that the page came in."""
        return self.article.text_left_out

    @property
    def document(self) -> str:
        """What names its document: its own key, or for a passage of a collection that of the document it is from."""
        reference = passage_at_url(self.key)
        digest = self.article.metadata.get("document")
        document = document_key(digest if isinstance(digest, str) else "", self.article.site)
        return f"{reference[0]}\n{document}" if reference and document != SOURCE_KEY else self.key

    @property
    def injection_signs(self) -> tuple[InjectionSign, ...]:
        """What in it looks like orders to a model: a hint, by which nothing is left out."""
        return self.article.injection_signs

    @property
    def has_strong_sign(self) -> bool:
        """Whether a person should look at it before believing an answer that rests on it."""
        return any(mark.strong for mark in self.injection_signs)
