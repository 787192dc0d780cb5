"""Office files to article: documents, slides and spreadsheets, of Microsoft's formats and OpenDocument.

The library anydoc reads their formats. What it lacks is added here: pages, title, author and day, raised and
hidden text, and the count of what was not read.
"""

import re
from collections import Counter
from dataclasses import replace

from core.model import Article, SkipReason, Unreadable
from core.reading import file_types
from core.reading.normalization import declared_name
from core.reading.office.converted import ConvertedReader, convert
from core.reading.office.old_workbook import with_shown_times
from core.reading.office.package import Package
from core.reading.office.prepared import Prepared, prepared
from core.reading.office.rtf import rewritten_rtf, rtf_facts
from core.reading.office.spreadsheets import Workbook
from core.reading.text_builder import TextBuilder
from core.reading.unread import unread_notice
from core.text.sanitize import one_line, pluralize

_SHEETS = (file_types.XLSX, file_types.XLSB, file_types.XLS, file_types.ODS)
_SLIDES = (file_types.PPTX, file_types.ODP, file_types.PPT)
_PACKAGES = frozenset(file_types.OFFICE_NAMES) - {
    file_types.DOC,
    file_types.PPT,
    file_types.XLS,
    file_types.RTF,
}
_MANIFEST = "META-INF/manifest.xml"
_LEVEL_SIGNS = {
    file_types.DOC: re.compile(rb"\x48\x2a[\x01\x02]"),
    file_types.XLS: re.compile(rb"\x31\x00[\x0e-\x60]\x00.{6}(?:\x90\x01|\xbc\x02)[\x01\x02]\x00", re.DOTALL),
}
"""How text is raised or lowered in these formats: the property sprmCIss, and a font with an escapement."""
_NO_LEVELS = "superscripts cannot be told from other text in this format, so 10⁶ may stand as 106"
_PICTURES = re.compile(
    r"(?:^|/)(?:media|Pictures)/[^/]+\.(?:png|jpe?g|gif|bmp|tiff?|emf|wmf|svg|webp)", re.IGNORECASE
)
_RECORDINGS = re.compile(
    r"(?:^|/)(?:media|Media)/[^/]+\.(?:mp[34]|m4[av]|mov|avi|wav|wmv|wma)", re.IGNORECASE
)
_EMBEDDED = re.compile(r"(?:word|ppt|xl)/embeddings/[^/]+")
_EMBEDDED_OBJECT = re.compile(r"Object \d+")
_CHARTS = re.compile(r"xl/charts/chart[^/]*\.xml")
_CHART_DATA = re.compile(r"(?:word|ppt|xl)/charts/_rels/[^/]+\.rels")
_TARGET = re.compile(rb'Target="[^"]*?/?embeddings/([^"/]+)"')
_COMMENTS = {
    file_types.DOCX: (re.compile(r"word/comments\.xml"), re.compile(rb"<w:comment[ >]")),
    file_types.PPTX: (re.compile(r"ppt/comments/[^/]+\.xml"), re.compile(rb"<(?:\w+:)?cm[ >]")),
    file_types.XLSX: (
        re.compile(r"xl/(?:comments[^/]*|comments/[^/]+)\.xml"),
        re.compile(rb"<(?:\w+:)?comment[ >]"),
    ),
}
_THREADS, _THREADED = (
    re.compile(r"xl/threadedComments/[^/]+\.xml"),
    re.compile(rb"<(?:\w+:)?threadedComment[ >]"),
)
"""Comments of newer programs, which usually write an older form of each beside them."""
_OPENDOCUMENT_COMMENT = re.compile(rb"<office:annotation[ >]")
_MARGINS = re.compile(r"word/(?:header|footer)\d*\.xml")
_WORDS = re.compile(rb"<w:t(?: [^<>]*)?>\s*[^<\s]")
_LARGEST_PART = 20_000_000


def read_office(body: bytes, media_type: str) -> Article:
    """Read an office file in reading order, with its notes at the end.

    Raises:
        Unreadable: when it is damaged, locked, too large unpacked, or holds no text.
    """
    out, counts, notices = TextBuilder(), Counter[str](), []
    facts, ready = dict.fromkeys(("title", "author", "date", "language"), ""), Prepared(body)
    if media_type in _PACKAGES:
        package = Package(body)
        _refuse_locked(package)
        facts |= _facts(package, media_type)
        facts |= {name: declared_name(facts[name]) for name in ("title", "author")}
        ready = prepared(package, media_type)
        counts = unread_parts(package, media_type) + ready.unread
    elif media_type == file_types.RTF:
        facts |= rtf_facts(body)
        ready.body, hidden = rewritten_rtf(body)
        ready.hidden.append(hidden)
    elif media_type not in _LEVEL_SIGNS or _LEVEL_SIGNS[media_type].search(body):
        notices.append(_NO_LEVELS)
    if media_type == file_types.XLS:
        ready.body = with_shown_times(body)
    if media_type in _SHEETS:
        workbook = Workbook(ready.body, media_type)
        workbook.write(out)
        counts += workbook.unread
        notices += [*workbook.notices, _hidden_sheets(workbook.hidden_sheets)]
    else:
        document = convert(ready.body, media_type)
        reader = ConvertedReader(document, out, slides=media_type in _SLIDES)
        facts["title"] = facts["title"] or reader.title
        counts["picture"] = max(counts["picture"], reader.pictures)
    article = out.article(file_types.OFFICE_NAMES[media_type], **facts)
    left_out = unread_notice(counts, *filter(None, (article.left_out, *notices)))
    return replace(article, hidden="\n".join(ready.hidden), left_out=left_out)


def _refuse_locked(package: Package) -> None:
    if _MANIFEST in package and next(package.part(_MANIFEST).iter("{*}encryption-data"), None) is not None:
        raise Unreadable(SkipReason.BROKEN, "it is locked with a password")


def _facts(package: Package, media_type: str) -> dict[str, str]:
    """Return title, author, day and language, as far as the file declares them."""
    if media_type not in file_types.OPENDOCUMENT:
        return package.core_facts()
    facts = package.facts("meta.xml", "title", "creator", "date", "language")
    return {
        "title": facts["title"],
        "author": facts["creator"],
        "date": facts["date"],
        "language": facts["language"],
    }


def _hidden_sheets(names: list[str]) -> str:
    if not names:
        return ""
    listed = ", ".join(one_line(name, 40) for name in names[:5])
    return f"{pluralize(len(names), 'hidden sheet')} ({listed}) left out"


def unread_parts(package: Package, media_type: str) -> Counter[str]:
    """Count the parts of a package that hold something for a person, and are not read as text."""
    counts: Counter[str] = Counter()
    chart_data: set[str] = set()
    threaded = 0
    comment_parts, comment = _COMMENTS.get(media_type, (None, None))
    for name in package.names:
        if _CHART_DATA.fullmatch(name):
            chart_data.update(
                target.decode("utf-8", "replace")
                for target in _TARGET.findall(package.read(name, _LARGEST_PART))
            )
        if _PICTURES.search(name):
            counts["picture"] += 1
        elif _RECORDINGS.search(name):
            counts["recording"] += 1
        elif _CHARTS.fullmatch(name):
            counts["chart"] += 1
        elif comment_parts and comment and comment_parts.fullmatch(name):
            counts["comment"] += len(comment.findall(package.read(name, _LARGEST_PART)))
        elif _THREADS.fullmatch(name):
            threaded += len(_THREADED.findall(package.read(name, _LARGEST_PART)))
        elif _MARGINS.fullmatch(name) and _WORDS.search(package.read(name, _LARGEST_PART)):
            counts["page header"] += 1
    counts["comment"] = max(counts["comment"], threaded)
    embedded = {name.rpartition("/")[2] for name in package.names if _EMBEDDED.fullmatch(name)}
    objects = {name.partition("/")[0] for name in package.names if _EMBEDDED_OBJECT.match(name)}
    counts["embedded file"] += len(embedded - chart_data) + len(objects)
    if media_type in file_types.OPENDOCUMENT and "content.xml" in package:
        counts["comment"] += len(_OPENDOCUMENT_COMMENT.findall(package.read("content.xml")))
    return counts
