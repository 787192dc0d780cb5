"""Page metadata: title, author, date, site and language, from JSON-LD, meta elements and markup.

Patterns read it from the markup without a tree: it serves both extractors, and takes a twentieth of the time
of trafilatura's own metadata for an equal number of right answers.
"""

import html as entities
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from core.reading.normalization import clean_line, paragraphs
from core.text.facts.written_days import written_day
from core.text.sanitize import letters

_TITLE = ("og:title", "twitter:title", "dc.title", "dcterms.title", "citation_title")
_AUTHOR = (
    "author", "article:author", "dc.creator", "dcterms.creator", "citation_author", "parsely-author", "byl",
)  # fmt: skip
_DATE = (
    "article:published_time", "datepublished", "date", "dc.date", "dc.date.issued", "dcterms.date",
    "citation_publication_date", "pubdate", "publishdate", "publish-date", "og:published_time",
    "og:article:published_time", "parsely-pub-date", "sailthru.date",
)  # fmt: skip
_LABELLED = (("twitter:label1", "twitter:data1"), ("twitter:label2", "twitter:data2"))
"""Label and value of a preview card. WordPress writes the author there."""
_SITE = ("og:site_name", "application-name", "citation_journal_title")
_LANGUAGE = ("content-language", "og:locale", "dc.language", "language")

_META = re.compile(r"<meta\b([^>]{1,2000})>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([a-zA-Z:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_HTML = re.compile(r"<html\b([^>]{0,2000})>", re.IGNORECASE)
_TITLE_TAG = re.compile(r"<title\b[^>]*>(.{0,1000}?)</title", re.IGNORECASE | re.DOTALL)
_HEADING = re.compile(r"<h1\b[^>]*>(.{0,2000}?)</h1", re.IGNORECASE | re.DOTALL)
# Without IGNORECASE: a fixed beginning lets the pattern engine skip from one candidate to the next.
_BYLINE = re.compile(
    r"""(?:author|byline|fn)(?:[-_]+name)?(?:\s[^"'<>]{0,100})?["'][^<>]{0,300}>"""
    r"""((?:\s|<[^>]{0,300}>){0,9}(?:(?:[Bb]y|[Vv]on|[Pp]ar|[Pp]or|[Dd]i)\s*(?:<[^>]{0,300}>\s*){1,3})?[^<]{2,60})<"""
)
_TIME = re.compile(r"""<time\b[^>]{0,300}?\bdatetime\s*=\s*["']?([^"'>\s]{8,40})""")
_PUBLISHED = re.compile(
    r"""<(?:abbr|div|meta|p|span|time)\s(?=[^<>]{0,300}\b(?:datePublished|dt-published|entry-date|pubdate|published)\b)"""
    r"""[^<>]{0,300}?\b(?:content|datetime|title)\s*=\s*["']([^"'<>]{8,40})"""
)
"""An element with the day of publication, by schema.org, microformats, HTML 5 or WordPress."""
_LINKED_DATA = re.compile(r"<script\b[^<>]{0,200}?application/ld\+json[^<>]{0,200}>", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")
_REFERENCE = re.compile(r"&(?:amp|lt|gt|quot|apos|nbsp|#[0-9]{1,6}|#[xX][0-9a-fA-F]{1,5});")
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_CLOSING_TAG = re.compile(r"</[a-zA-Z]|<br", re.IGNORECASE)
_BLOCK_TAG = re.compile(r"<(?:br|/p|/div|/h[1-6]|/li)\b[^>]*>", re.IGNORECASE)
_DAY_IN_URL = re.compile(r"/((?:19|20)\d\d)[/-](0?[1-9]|1[0-2])[/-](0?[1-9]|[12]\d|3[01])(?!\d)")
_DAY = re.compile(r"((?:19|20)\d\d)[-/.]?(0[1-9]|1[0-2])[-/.]?(0[1-9]|[12]\d|3[01])(?!\d)")
_WRITTEN = re.compile(
    r"written|author|auteur|autor|verfasst|écrit|escrit|scritto|geschreven|napisan|автор|作者|执笔|筆",
    re.IGNORECASE,
)
_BY = re.compile(
    r"^(?:(?:written|posted|published|veröffentlicht|verfasst|publié|écrit|publicado|escrito|pubblicato|scritto"
    r"|geschreven) |text\W+)?(?:by|von|par|por|di|door|av|autore?|author)\b\W*",
    re.IGNORECASE,
)
_HOST = re.compile(r"https?://(?:www\.)?([^/:?#]+)")
_BELOW_ROOT = re.compile(r"https?://[^/]+/+[^/?#]")
"""An address that is no front page, whose title is the site's name with a motto."""
_ARTICLES = re.compile(
    r"(?:article|posting|report|webpage|book|recipe|review|howto|faqpage|newsmedia)$", re.IGNORECASE
)
_PRODUCTS = re.compile(r"(?:^|/)Product(?:Group)?$")
_DATED = {"headline", "author", "datePublished"}
_LONGEST_DAY = 60
"""Characters of a declared day."""
_MAX_DATA = 200_000
"""Characters of a script with JSON-LD that are read."""
_MAX_NODES = 300
_MAX_BYLINES = 100
_MAX_SCRIPTS = 8


@dataclass(frozen=True, slots=True)
class Metadata:
    """The declared metadata of a page. Missing values are ""."""

    title: str = ""
    author: str = ""
    """Who is declared as the author."""
    byline: str = ""
    """A possible author: the name in a byline, or else the declared site."""
    date: str = ""
    """ISO 8601 day."""
    site: str = ""
    product: str = ""
    """The name of the product in its structured data."""
    prices: tuple[str, ...] = ()
    """The prices of that product."""
    body: str = ""
    """The text of its article in the structured data."""
    language: str = ""
    """The language's two- or three-letter code, lower case."""


def metadata(html: str, url: str = "") -> Metadata:
    """Return the metadata of a page.

    Linked data, meta elements, the `html` element, headings and bylines are trusted in this order. For the
    date, meta elements come before linked data, which more often has the date of a change. The last source of
    a date is the address.
    """
    meta: dict[str, str] = {}
    for match in _META.finditer(html[:300_000]):
        attributes = _attributes(match[1])
        name = attributes.get("property") or attributes.get("name") or attributes.get("itemprop")
        name = name or attributes.get("http-equiv") or ""
        meta.setdefault(name.strip().lower(), attributes.get("content", ""))
    objects = list(_linked_data(html))
    linked = _article(next((node for node in objects if _is(_ARTICLES, node) and node.keys() & _DATED), {}))
    product = next((node for node in objects if _is(_PRODUCTS, node)), {})

    def first(names: tuple[str, ...]) -> str:
        return next((value for name in names if (value := clean_line(meta.get(name)))), "")

    site = first(_SITE) or linked.site
    labelled = (meta.get(value, "") for label, value in _LABELLED if _WRITTEN.search(meta.get(label, "")))
    names = [name for candidate in (linked.author, first(_AUTHOR), *labelled) if (name := person(candidate))]
    author = next((name for name in names if not _is_site(name, site, url)), "")
    root = _HTML.search(html)
    root_attributes = _attributes(root[1]) if root else {}
    tag = root_attributes.get("lang") or root_attributes.get("xml:lang") or ""
    return Metadata(
        title=_title(html, linked.title, first(_TITLE), site, url),
        author=author,
        byline="" if author else _byline(html) or next(iter(names), ""),
        date=next(filter(None, (_day(meta.get(name, ""), tag) for name in _DATE)), "")
        or _day(linked.date, tag)
        or _day_inside(html, tag)
        or _day_in_url(url),
        site=site,
        product=clean_line(entities.unescape(_name(product.get("name")))),
        prices=tuple(_prices(product.get("offers"))),
        body=next(filter(None, (_body(node) for node in objects if _is(_ARTICLES, node))), ""),
        language=language_code(tag) or language_code(first(_LANGUAGE)),
    )


def language_code(tag: str) -> str:
    """Return the language code of a tag, such as `en` for `en-GB`. It is "" for an invalid tag."""
    match = re.match(r"\s*([A-Za-z]{2,3})(?:[-_;, ]|$)", tag or "")
    return match[1].lower() if match else ""


def _attributes(markup: str) -> dict[str, str]:
    attributes = {name.lower(): a or b or c for name, a, b, c in _ATTRIBUTE.findall(markup)}
    return {name: entities.unescape(value) for name, value in attributes.items()}


def _words(markup: str) -> str:
    return clean_line(entities.unescape(_TAG.sub(" ", markup)))


def _title(html: str, linked: str, meta: str, site: str, url: str) -> str:
    """Return the page's title without the site's name.

    The heading is preferred if the title begins with it.
    """
    heading = next((words for match in _HEADING.finditer(html) if (words := _words(match[1]))), "")
    tag = _TITLE_TAG.search(html)
    shown = _words(tag[1]) if tag else ""
    title = linked or meta or shown
    if _REFERENCE.search(title) and not _REFERENCE.search(shown):  # it was escaped twice
        title = clean_line(entities.unescape(title))
    if heading and (not title or title.lower().startswith(heading.lower())):
        return heading
    for divider in (" | ", " - ", " – ", " — ", " :: ", " • ", " · "):
        before, separator, after = title.rpartition(divider)
        if separator and before.strip() and _is_site_name(after, site, url):
            return before.strip()
        before, _, after = title.partition(divider)
        if after.strip() and _BELOW_ROOT.match(url) and _is_site_name(before, site, url):
            return after.strip()
    return title or heading


def _is_site_name(name: str, site: str, url: str) -> bool:
    """Whether a name is the declared site's, or the host's without its top-level domain."""
    host = match[1] if (match := _HOST.match(url)) else ""
    words = letters(name)
    return bool(words) and words in (letters(site), letters(host), letters(host.rpartition(".")[0]))


def person(name: str) -> str:
    """Return a person's name without "by", or "" for no name."""
    name = _BY.sub("", clean_line(name, 200)).strip(" ,;|")
    return "" if "://" in name or "@" in name or name.isdigit() else name


def _is_site(name: str, site: str, url: str) -> bool:
    """Whether a name is the site's.

    It can be a part of the site's name, the host, or the host without the top-level domain.
    """
    host = match[1] if (match := _HOST.match(url)) else ""
    words = letters(name)
    return words in letters(site) or words in (letters(host), letters(host.rpartition(".")[0]))


def _byline(html: str) -> str:
    for match in islice(_BYLINE.finditer(html[:600_000]), _MAX_BYLINES):
        if html.rfind("<script", 0, match.start()) > html.rfind("</script", 0, match.start()):
            continue
        name = person(_words(match[1]))
        if 3 <= len(name) <= 60 and not re.search(r"\d{2}|[:!?]", name):
            return name
    return ""


def _day(text: str, language: str = "") -> str:
    if match := _DAY.search(text):
        return "-".join(match.groups())
    day = written_day(clean_line(text, _LONGEST_DAY), language)
    return day.isoformat() if day else ""


def _day_inside(html: str, language: str) -> str:
    """Return the day of an element for the day of publication, or of the time closest to the heading."""
    if (found := _PUBLISHED.search(html)) and (day := _day(found[1], language)):
        return day
    heading = _HEADING.search(html)
    start, end = heading.span() if heading else (0, 0)
    above, below = [*_TIME.finditer(html, 0, start)][-1:], [*islice(_TIME.finditer(html, end), 1)]
    if above and below and start - above[0].end() > below[0].start() - end:
        above = []
    return next((day for found in above + below if (day := _day(found[1], language))), "")


def _day_in_url(url: str) -> str:
    match = _DAY_IN_URL.search(url)
    return "{}-{:0>2}-{:0>2}".format(*match.groups()) if match else ""


def _linked_data(html: str) -> Iterator[dict[str, Any]]:
    """The objects of the page's JSON-LD."""
    for opening in islice(_LINKED_DATA.finditer(html), _MAX_SCRIPTS):
        end = html.find("</script", opening.end(), opening.end() + _MAX_DATA)
        try:
            yield from _objects(_data(html[opening.end() : max(end, opening.end())]))
        except (ValueError, RecursionError):
            continue


def _data(text: str) -> Any:
    """Return the data of a script, which may be in a comment or have a comma after the last value of a list.

    Raises:
        ValueError: when it is no JSON.
    """
    text = text.replace("<![CDATA[", "").replace("]]>", "")
    first = min((place for mark in "{[" if (place := text.find(mark)) >= 0), default=0)
    text = text[first : max(map(text.rfind, "}]")) + 1]
    try:
        return json.loads(text, strict=False)
    except ValueError:
        return json.loads(_TRAILING_COMMA.sub("", text), strict=False)


def _is(kinds: re.Pattern[str], node: dict[str, Any]) -> bool:
    types = node.get("@type")
    return any(kinds.search(str(kind)) for kind in (types if isinstance(types, list) else [types]))


def _article(node: dict[str, Any]) -> Metadata:
    return Metadata(
        title=clean_line(entities.unescape(_name(node.get("headline")))),
        author=clean_line(entities.unescape(_name(node.get("author")))),
        date=_name(node.get("datePublished")),
        site=clean_line(_name(node.get("publisher"))),
    )


def _body(node: dict[str, Any]) -> str:
    """Return the text of an article, or of questions with their answers. It may be written as HTML."""
    entity = node.get("mainEntity")
    questions = (
        [each for each in entity[:_MAX_NODES] if isinstance(each, dict)] if isinstance(entity, list) else []
    )
    answers = [_object(each.get("acceptedAnswer")).get("text") for each in questions]
    pairs = [
        (_name(each), answer)
        for each, answer in zip(questions, answers, strict=True)
        if isinstance(answer, str)
    ]
    body = node.get("articleBody") or "\n\n".join(map("\n\n".join, pairs))
    if not isinstance(body, str):
        return ""
    if _CLOSING_TAG.search(body):
        body = _TAG.sub("", _BLOCK_TAG.sub("\n", body))
    return paragraphs(entities.unescape(body))


def _prices(offers: Any) -> Iterator[str]:
    """Yield the prices of an offer or a list of offers."""
    for offer in offers[:_MAX_NODES] if isinstance(offers, list) else [offers]:
        declared = map(offer.get, ("price", "lowPrice", "highPrice")) if isinstance(offer, dict) else ()
        yield from (str(value) for value in declared if re.fullmatch(r"[\d.,]{1,20}", str(value)))


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    stack, visited = [value], 0
    while stack and visited < _MAX_NODES:
        node = stack.pop(0)
        visited += 1
        if isinstance(node, list):
            stack.extend(node[:50])
        elif isinstance(node, dict):
            yield node
            stack.extend(node[key] for key in ("@graph", "mainEntity", "mainEntityOfPage") if key in node)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _name(value: Any, depth: int = 5) -> str:
    """Return a name from a text, an object with a name, or a list."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and depth:
        parts = (_name(value.get(part), 1) for part in ("givenName", "additionalName", "familyName"))
        return _name(value.get("name"), depth - 1) or " ".join(filter(None, parts))
    if isinstance(value, list) and depth:
        return ", ".join(filter(None, (_name(part, depth - 1) for part in value[:10])))
    return ""
