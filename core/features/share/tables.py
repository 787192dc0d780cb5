"""Passages, hits and pages of a run as tables: CSV for spreadsheets, Parquet for programs."""

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.analysis.progress import hit_progress
from core.analysis.rankings.ranked_passages import SCORES, ranked_passages
from core.errors import BadInput
from core.model import Page, readable
from core.model.passage_urls import passage_at_url, site
from core.run.state import Run
from core.text.sanitize import encodable, spreadsheet_cell

_NUMBERS = ("rank", "source", "start", "end")


def passages_csv(run: Run) -> bytes:
    """Return a row for each passage as CSV, best first.

    The text is UTF-8 with a byte order mark. Cells that a spreadsheet would run as formulas begin with an apostrophe.
    Raises the errors of `_columns`.
    """
    columns = _columns(run)
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(columns)
    writer.writerows(map(spreadsheet_cell, row) for row in zip(*columns.values(), strict=True))
    return file.getvalue().encode("utf-8-sig")


def passages_parquet(run: Run) -> bytes:
    """Return the passages as Parquet, like `passages_csv`.

    The column `vector` has the unit vector, if the run has vectors. Raises the errors of `_columns` and `_parquet`.
    """
    vectors = None
    if run.index is not None and run.index.vectors is not None and run.ranking is not None:
        vectors = run.index.vectors[run.ranking.order]
    return _parquet(_columns(run), vectors)


def hits_parquet(run: Run) -> bytes:
    """Return the rows of `hit_columns` as Parquet. Raises the errors of `_parquet`."""
    return _parquet(hit_columns(run))


def pages_parquet(run: Run) -> bytes:
    """Return the rows of `page_columns` as Parquet. Raises the errors of `_parquet`."""
    return _parquet(page_columns(run))


def passage_columns(run: Run) -> dict[str, list[Any]]:
    """Return the passage columns by name, empty without a ranking.

    `source` is the number in the context, or None. `document` is the file in the library that the passage is of.
    `start` and `end` are the passage's offsets in the text of its page.
    """
    rows = ranked_passages(run)
    places = [run.index.passages[row.row].place for row in rows] if run.index else []
    return {
        "rank": [row.rank for row in rows],
        "source": [row.number for row in rows],
        **{
            name: [getattr(row, name) for row in rows]
            for name in SCORES
            if getattr(run.ranking, name, None) is not None
        },
        "embedder": [row.embedder for row in rows],
        "title": [encodable(row.title) for row in rows],
        "site": [row.site for row in rows],
        "document": [_document(run.pages.get(row.key)) for row in rows],
        "url": [row.url for row in rows],
        "start": [place.start for place in places],
        "end": [place.end for place in places],
        "text": [encodable(readable(row.text)) for row in rows],
    }


def _document(page: Page | None) -> str:
    """Return the file of a collection's passage, "" for a page of the web."""
    return encodable(page.article.site) if page and passage_at_url(page.url) else ""


def hit_columns(run: Run) -> dict[str, list[Any]]:
    """Return hit columns in merged order. They include the queries that found each hit, and its outcome."""
    rows = hit_progress(run)
    return {
        "place": [row.place for row in rows],
        "title": [encodable(row.hit.title) for row in rows],
        "site": [row.site for row in rows],
        "url": [encodable(row.hit.url) for row in rows],
        "outcome": [str(row.outcome) for row in rows],
        "reason": [
            ": ".join(filter(None, (row.skip.reason, row.skip.detail))) if row.skip else "" for row in rows
        ],
        "queries": [[*dict.fromkeys(encodable(origin.query) for origin in row.hit.found)] for row in rows],
        "score": [row.hit.score for row in rows],
        "seconds": [row.seconds for row in rows],
    }


def page_columns(run: Run) -> dict[str, list[Any]]:
    """Return columns of the read pages, in order of hits. They include extractor, length and number of passages."""
    counts = Counter(passage.place.page for passage in (run.index.passages if run.index else ()))
    pages = ({page.key: page for page in run.ranked_pages} | dict(run.pages)).values()
    return {
        "title": [encodable(page.title) for page in pages],
        "site": [site(page.url) for page in pages],
        "document": [_document(page) for page in pages],
        "url": [encodable(page.url) for page in pages],
        "language": [page.article.language for page in pages],
        "extractor": [page.article.extractor for page in pages],
        "characters": [len(page.text) for page in pages],
        "passages": [counts[page.key] for page in pages],
        "snippet_only": [page.snippet_only for page in pages],
        "text": [encodable(readable(page.text)) for page in pages],
    }


def _columns(run: Run) -> Mapping[str, Sequence[Any]]:
    """Return the passage columns. Raises BadInput when the run has no ranked passages."""
    columns = passage_columns(run)
    if not columns["rank"]:
        raise BadInput("This run has no ranked passages.", hint="Export it as .json or .zip.")
    return columns


def _parquet(columns: Mapping[str, Sequence[Any]], vectors: NDArray[np.float32] | None = None) -> bytes:
    """Return a table as Parquet. Raises BadInput when it has no rows, or pyarrow is not installed."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise BadInput("Parquet needs the package pyarrow.", hint="pip install pyarrow") from error
    if not any(columns.values()):
        raise BadInput("This run has nothing for such a table.", hint="Export it as .json or .zip.")
    types = dict.fromkeys(SCORES, pa.float32()) | dict.fromkeys(_NUMBERS, pa.int32())
    table = pa.table({name: pa.array(column, types.get(name)) for name, column in columns.items()})
    if vectors is not None:
        table = table.append_column(
            "vector", pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
        )
    file = io.BytesIO()
    parquet.write_table(table, file, compression="zstd")
    return file.getvalue()
