"""The tables of a run as pandas frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.export.tables import hit_columns, page_columns, passage_columns
from core.run.state import Run

if TYPE_CHECKING:
    from pandas import DataFrame


def passages_frame(run: Run) -> DataFrame:
    """A row a ranked passage, best first, as `.csv` and `.parquet` exports have it; none before there is a ranking."""
    from pandas import DataFrame

    frame = DataFrame(passage_columns(run))
    return frame.astype({"source": "Int64"})


def hits_frame(run: Run) -> DataFrame:
    """A row a hit in their merged order, as the `.hits.parquet` export has it."""
    from pandas import DataFrame

    return DataFrame(hit_columns(run))


def pages_frame(run: Run) -> DataFrame:
    """A row a page that was read, as the `.pages.parquet` export has it."""
    from pandas import DataFrame

    return DataFrame(page_columns(run))
