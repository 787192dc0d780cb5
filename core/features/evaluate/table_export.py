"""The table of an experiment's settings as a data frame and as files."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from core.features.evaluate.setting_table import SettingRow, SettingTable
from core.features.evaluate.sweep import column, value_text
from core.text.sanitize import spreadsheet_cell

if TYPE_CHECKING:
    import pandas as pd

FORMATS: Mapping[str, str] = {".csv": "CSV", ".parquet": "Parquet", ".md": "Markdown table"}
"""The file formats of the table, by file name suffix."""


def to_frame(settings: SettingTable) -> pd.DataFrame:
    """Return a data frame with a row for each row of the table, the baseline first.

    The columns are each varied knob, the metric, its difference to the baseline with the bounds of its 95 % interval,
    p, wins, losses, and the least tokens and seconds per question.
    """
    import pandas as pd

    return pd.DataFrame([_record(row, settings) for row in settings.rows])


def table_file(settings: SettingTable, ending: str) -> bytes:
    """Return the table as a file in one of `FORMATS`.

    A text that a spreadsheet would run as a formula begins with an apostrophe in CSV.

    Raises:
        KeyError: for another ending.
    """
    table = to_frame(settings)
    if ending == ".parquet":
        buffer = io.BytesIO()
        table.to_parquet(buffer, index=False)
        return buffer.getvalue()
    if ending == ".csv":
        return table.map(spreadsheet_cell).to_csv(index=False).encode("utf-8-sig")
    if ending == ".md":
        lines = [list(table.columns), ["---"] * len(table.columns)]
        lines += [[_cell(cell) for cell in row] for row in table.itertuples(index=False)]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines).encode()
    raise KeyError(ending)


def _record(row: SettingRow, settings: SettingTable) -> dict[str, Any]:
    test = row.test
    knobs = {
        column(path): " = ".join(value_text(path, value) for value in values)
        for path, values in row.values.items()
    }
    return {
        **knobs,
        settings.metric: row.mean.mean,
        "difference": test.difference.mean if test else 0.0,
        "low": test.difference.low if test else None,
        "high": test.difference.high if test else None,
        "p": test.p_value if test else None,
        "wins": test.wins if test else None,
        "losses": test.losses if test else None,
        "tokens": row.tokens[0] if row.tokens else None,
        "seconds": row.seconds[0],
    }


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.4g}"
    return "" if value is None else str(value).replace("|", "\\|")
