"""E-mail messages (EML) and mailboxes (MBOX) become text: sender, recipients, date and words."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from email import message_from_bytes
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime
from itertools import islice

from core.model import Article, Document, SkipReason, Unreadable
from core.reading.file_types import HTML
from core.reading.html.dom_cleaning import remove_hidden_lxml
from core.reading.html.html_parsing import parse_html, truncate_html
from core.reading.html.rewriting import rewrite_markup
from core.reading.normalization import MAX_CHARACTERS, clean_line
from core.reading.page_parts.whole_text import whole_text
from core.reading.text_builder import TextBuilder
from core.reading.unread import unread_notice
from core.text.decoding import decode

_FROM_LINE = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n))From [^\r\n]{1,500}\r?\n(?=[!-9;-~]{1,100}:)")
"""The line before each message of a mailbox."""
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
_MOST_PARTS = 1_000
_ENOUGH = 0.6
"""Share of the letters of a message's HTML from which its plain text is read in place of it."""
_SOFT = re.compile(r"(?<=\S) \r?\n(?=\S)")
"""A line end that the program of the sender added (RFC 3676)."""


def read_mail(body: bytes) -> Article:
    """Read an e-mail message, with the messages in it.

    Its subject, sender and day are title, author and date.

    Raises:
        Unreadable: BROKEN when it has no header.
    """
    return _read([body])


def saved_page(document: Document) -> Document:
    """Return the page of a web archive (MHTML), which is its first part in HTML.

    Raises:
        Unreadable: BROKEN when it has none.
    """
    try:
        parts = list(islice(message_from_bytes(document.body.lstrip()).walk(), _MOST_PARTS))
    except RecursionError as error:
        raise Unreadable(SkipReason.BROKEN, "a saved page with too many parts within parts") from error
    page = next((part for part in parts if part.get_content_type() in HTML), None)
    payload = page.get_payload(decode=True) if page else None
    if page is None or not isinstance(payload, bytes):
        raise Unreadable(SkipReason.BROKEN, "a saved page without HTML")
    location = clean_line(page.get("Content-Location"), 2_000)
    return replace(
        document,
        url=location if location.startswith(("http://", "https://")) else document.url,
        media_type="text/html",
        charset=page.get_content_charset(),
        body=payload,
    )


def read_mailbox(body: bytes) -> Article:
    """Read the messages of a mailbox. Each is a section.

    Raises:
        Unreadable: BROKEN when it has none.
    """
    places = [match.span() for match in _FROM_LINE.finditer(body)] or [(0, 0)]
    ends = [start for start, _ in places[1:]]
    messages = (body[start:end] for (_, start), end in zip(places, [*ends, len(body)], strict=True))
    return _read(_QUOTED_FROM.sub(rb"\1", message) for message in messages)


def _read(bodies: Iterable[bytes]) -> Article:
    out, unread, hidden = TextBuilder(), Counter[str](), list[str]()
    facts: dict[str, str] = {}
    for body in bodies:
        try:
            message = message_from_bytes(body.removeprefix(b"\xef\xbb\xbf").lstrip())
            if not message.keys():
                raise Unreadable(SkipReason.BROKEN, "an e-mail without a header")
            facts = facts or _facts(message)
            for each in (message, *_messages_within(message)):
                _add(each, out, unread, hidden)
        except RecursionError as error:
            raise Unreadable(SkipReason.BROKEN, "an e-mail with too many parts within parts") from error
        if out.full:
            break
    article = out.article(
        "mail", title=facts.get("Subject", ""), author=facts.get("From", ""), date=facts.get("Date", "")
    )
    return replace(
        article, hidden="\n".join(filter(None, hidden)), left_out=unread_notice(unread, article.left_out)
    )


def _add(message: Message, out: TextBuilder, unread: Counter[str], hidden: list[str]) -> None:
    facts = _facts(message)
    out.section(facts["Subject"])
    out.block("\n".join(f"{name}: {value}" for name, value in facts.items() if value))
    for text in _texts(message, unread, hidden):
        out.block(text[:MAX_CHARACTERS])


def _facts(message: Message) -> dict[str, str]:
    people = {name: ", ".join(_people(message, name)) for name in ("From", "To", "Cc")}
    subject = next((_decoded(line) for line in _lines(message, "Subject")), "")
    return {**people, "Date": _day(message), "Subject": clean_line(subject)}


def _lines(message: Message, name: str) -> Iterator[str]:
    """Yield the lines of the header with this name. Bytes that should have been encoded are decoded."""
    for other, value in message.raw_items():
        if other.lower() == name.lower():
            yield decode(str(value).encode("utf-8", "surrogateescape"), None)


def _people(message: Message, name: str) -> Iterator[str]:
    """Yield the people of a header line by name, or else address."""
    for person, address in getaddresses(list(islice(_lines(message, name), 20)))[:50]:
        if shown := clean_line(_decoded(person) or address):
            yield shown


def _day(message: Message) -> str:
    try:
        return parsedate_to_datetime(next(_lines(message, "Date"), "")).date().isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""


def _decoded(text: str) -> str:
    """Return a header line without its encoding (RFC 2047)."""
    try:
        return str(make_header(decode_header(text)))
    except (ValueError, LookupError, MessageError):
        return text


def _messages_within(message: Message) -> Iterator[Message]:
    for part in islice(message.walk(), 1, _MOST_PARTS):
        inner = part.get_payload() if part.get_content_type() == "message/rfc822" else None
        if isinstance(inner, list):
            yield from (one for one in inner[:1] if isinstance(one, Message))


def _texts(part: Message, unread: Counter[str], hidden: list[str]) -> Iterator[str]:
    """Yield the texts of a message's parts. Of alternatives one is read, and attached files are counted."""
    kind = part.get_content_type()
    if kind == "message/rfc822":
        return
    if part.is_multipart():
        inner = [child for child in part.get_payload() if isinstance(child, Message)][:_MOST_PARTS]
        if kind == "multipart/alternative":
            yield _alternative([list(_texts(child, unread, hidden)) for child in inner])
        else:
            for child in inner:
                yield from _texts(child, unread, hidden)
    elif kind in ("text/plain", "text/html") and part.get_content_disposition() != "attachment":
        yield _text(part, kind, hidden)
    else:
        unread["attached file"] += part.get_content_disposition() == "attachment" or bool(part.get_filename())


def _alternative(texts: list[list[str]]) -> str:
    """Return the plain form of a text, which comes first, or the last form if the plain one lacks much of it."""
    joined = ["\n\n".join(filter(None, parts)) for parts in texts]
    longest = max(map(_letters, joined), default=0)
    return next((text for text in joined if _letters(text) >= _ENOUGH * longest), "")


def _letters(text: str) -> int:
    return sum(map(str.isalpha, text))


def _text(part: Message, kind: str, hidden: list[str]) -> str:
    payload = part.get_payload(decode=True)
    text = decode(payload if isinstance(payload, bytes) else b"", part.get_content_charset())
    if kind == "text/plain":
        return _SOFT.sub(" ", text) if str(part.get_param("format")).lower() == "flowed" else text
    try:
        tree = parse_html(rewrite_markup(truncate_html(text)[0]))
    except Unreadable:
        return ""
    hidden.append(remove_hidden_lxml(tree))
    return whole_text(tree)[0]
