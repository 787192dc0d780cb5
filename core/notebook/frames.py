"""The tables of a run as pandas frames."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from core.analysis.progress import hit_progress
from core.export.passage_table import passage_columns
from core.model.passage_urls import site
from core.run.state import Run

if TYPE_CHECKING:
    from pandas import DataFrame


def passages_frame(run: Run) -> DataFrame:
    """A row a ranked passage, best first, as `.csv` and `.parquet` exports have it; none before there is a ranking."""
    from pandas import DataFrame

    frame = DataFrame(passage_columns(run))
    return frame.astype({"source": "Int64"})


def hits_frame(run: Run) -> DataFrame:
    """A row a hit in their merged order, with the queries that found it and what became of it."""
    from pandas import DataFrame

    columns = ("place", "title", "site", "url", "outcome", "reason", "queries", "score", "seconds")
    return DataFrame(
        [
            (
                row.place,
                row.hit.title,
                row.site,
                row.hit.url,
                str(row.outcome),
                ": ".join(filter(None, (row.skip.reason, row.skip.detail))) if row.skip else "",
                [*dict.fromkeys(origin.query for origin in row.hit.found)],
                row.hit.score,
                row.seconds,
            )
            for row in hit_progress(run)
        ],
        columns=columns,
    )


def pages_frame(run: Run) -> DataFrame:
    """A row a page that was read, in the order of the hits, with its extractor, length and passages."""
    from pandas import DataFrame

    passages = Counter(passage.place.page for passage in (run.index.passages if run.index else ()))
    columns = (
        "title",
        "site",
        "url",
        "language",
        "extractor",
        "characters",
        "passages",
        "snippet_only",
        "text",
    )
    return DataFrame(
        [
            (
                page.title,
                site(page.url),
                page.url,
                page.article.language,
                page.article.extractor,
                len(page.text),
                passages[page.key],
                page.snippet_only,
                page.text,
            )
            for page in ({page.key: page for page in run.ranked_pages} | dict(run.pages)).values()
        ],
        columns=columns,
    )
