"""Retrieved text against marked excerpts: recall, precision and IoU by characters.

The metrics of Smith and Troynikov 2024, "Evaluating Chunking Strategies for Retrieval" (Chroma technical report), with
characters as units instead of tokens. Every range is `(document, start, end)`, end exclusive. All functions raise
ValueError for an empty or negative range.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

Range = tuple[str, int, int]


def excerpt_recall(excerpts: Iterable[Range], retrieved: Iterable[Range]) -> float:
    """Return the retrieved share of the excerpts' characters. Raises ValueError without an excerpt."""
    marked = _merged(excerpts)
    if not marked:
        raise ValueError("there is no excerpt")
    return _size(_common(marked, _merged(retrieved))) / _size(marked)


def excerpt_precision(excerpts: Iterable[Range], retrieved: Iterable[Range]) -> float:
    """Return the share of the retrieved characters in an excerpt, or 0 if nothing was retrieved.

    Text that overlapping passages retrieve twice counts twice in the denominator and once in the numerator, so an
    overlap lowers the precision.
    """
    retrieved = list(retrieved)
    total = _size(retrieved)
    return _size(_common(_merged(excerpts), _merged(retrieved))) / total if total else 0.0


def excerpt_iou(excerpts: Iterable[Range], retrieved: Iterable[Range]) -> float:
    """Return intersection over union of excerpts and retrieved text.

    The union is the retrieved characters with repeats, plus the missed characters of the excerpts. Raises ValueError if
    both are empty.
    """
    marked, retrieved = _merged(excerpts), list(retrieved)
    common = _size(_common(marked, _merged(retrieved)))
    union = _size(retrieved) + _size(marked) - common
    if not union:
        raise ValueError("there is neither an excerpt nor retrieved text")
    return common / union


EXCERPT_METRICS: Mapping[str, Callable[[Iterable[Range], Iterable[Range]], float]] = {
    "excerpt recall": excerpt_recall,
    "excerpt precision": excerpt_precision,
    "excerpt IoU": excerpt_iou,
}
"""Metrics by characters of the passages in the context, with the surrounding text for the model."""


def _merged(ranges: Iterable[Range]) -> list[Range]:
    """Return the ranges merged and sorted."""
    merged: list[Range] = []
    for document, start, end in sorted(ranges):
        if not 0 <= start < end:
            raise ValueError(f"not a range of characters: {start} to {end} in {document!r}")
        if merged and merged[-1][0] == document and start <= merged[-1][2]:
            merged[-1] = (document, merged[-1][1], max(end, merged[-1][2]))
        else:
            merged.append((document, start, end))
    return merged


def _common(left: list[Range], right: list[Range]) -> list[Range]:
    """Return the common characters of two merged lists."""
    by_document: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for document, start, end in right:
        by_document[document].append((start, end))
    return [
        (document, max(start, other), min(end, other_end))
        for document, start, end in left
        for other, other_end in by_document[document]
        if max(start, other) < min(end, other_end)
    ]


def _size(ranges: Iterable[Range]) -> int:
    return sum(end - start for _, start, end in ranges)
