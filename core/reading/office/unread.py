"""What an office file has besides its text, and was not read."""

import re
from collections import Counter

from core.reading import file_types
from core.reading.office.package import Package

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
_OPENDOCUMENT_COMMENT = re.compile(rb"<office:annotation[ >]")
_MARGINS = re.compile(r"word/(?:header|footer)\d*\.xml")
_WORDS = re.compile(rb"<w:t(?: [^<>]*)?>\s*[^<\s]")
_LARGEST_PART = 20_000_000


def unread_parts(package: Package, media_type: str) -> Counter[str]:
    """Count the parts of a package that hold something for a person, and are not read as text."""
    counts: Counter[str] = Counter()
    chart_data: set[str] = set()
    comment_parts, comment = _COMMENTS.get(media_type, (None, None))
    for name in package.names:
        if _CHART_DATA.fullmatch(name):
            chart_data.update(
                found.decode("utf-8", "replace")
                for found in _TARGET.findall(package.read(name, _LARGEST_PART))
            )
        if _PICTURES.search(name):
            counts["picture"] += 1
        elif _RECORDINGS.search(name):
            counts["recording"] += 1
        elif _CHARTS.fullmatch(name):
            counts["chart"] += 1
        elif comment_parts and comment and comment_parts.fullmatch(name):
            counts["comment"] += len(comment.findall(package.read(name, _LARGEST_PART)))
        elif _MARGINS.fullmatch(name) and _WORDS.search(package.read(name, _LARGEST_PART)):
            counts["page header"] += 1
    embedded = {name.rpartition("/")[2] for name in package.names if _EMBEDDED.fullmatch(name)}
    objects = {name.partition("/")[0] for name in package.names if _EMBEDDED_OBJECT.match(name)}
    counts["embedded file"] += len(embedded - chart_data) + len(objects)
    if media_type in file_types.OPENDOCUMENT and "content.xml" in package:
        counts["comment"] += len(_OPENDOCUMENT_COMMENT.findall(package.read("content.xml")))
    return counts
