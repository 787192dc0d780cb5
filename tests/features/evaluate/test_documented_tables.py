"""docs/evaluation.md: its tables on the handbook have the figures that their sweeps measure."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench.handbook_tables import DOCUMENT, TABLES, Table, measure, rows, written
from core.features.evaluate.data_sets.available import HANDBOOK_NAME, HANDBOOK_QUESTIONS
from core.features.evaluate.data_sets.load import load_data_set
from core.features.evaluate.results import Results
from core.features.evaluate.sweep import settings
from tests.features.evaluate.test_experiments import LetterEmbedder, results_of

RANKINGS = TABLES[0]
ROUNDING = 0.03
"""The most by which a figure differs between CPUs: two of 75 questions."""


def labels(row: str) -> list[str]:
    """The cells of a row that are no figures of its metrics."""
    return [cell.strip() for cell in row.split("|")[1:3]]


def figures(row: str) -> list[float]:
    return [float(cell.replace(",", "").split()[0]) for cell in row.split("|")[3:-1]]


@pytest.mark.slow
async def test_documented_figures_of_bm25_are_those_measured() -> None:
    swept = {**RANKINGS.swept, "rank": {"strategy": ["bm25"]}}
    data = load_data_set(HANDBOOK_QUESTIONS, HANDBOOK_NAME)
    measured = await results_of(data, settings(swept), LetterEmbedder())
    questions = {question.id: question.text for question in data.questions}
    results = Results(data=data.name, embedder="none", questions=questions, results=tuple(measured))
    documented = written(DOCUMENT.read_text("utf-8"), RANKINGS)
    expected = list(rows(replace(RANKINGS, swept=swept), results))
    assert len(expected) == 3
    assert [row for row in documented if "| BM25 |" in row] == expected


def test_documented_settings_are_within_the_interval_of_the_defaults() -> None:
    document = DOCUMENT.read_text("utf-8")
    means = [
        float(row.split("|")[3])
        for table in TABLES
        if "nDCG@10" in table.head
        for row in written(document, table)
    ]
    assert "intervals of about ±.07 for nDCG@10" in document
    assert max(means) - min(means) <= 0.07, "No setting differs from the defaults by more than its interval"


@pytest.mark.thorough
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.head.split("|")[2].strip())
async def test_documented_table_has_the_figures_of_its_sweep(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shipped embedder rounds differently with the instructions of a CPU, which moves a question or two."""
    monkeypatch.setenv("OPENQUERY_DATA", str(tmp_path))
    documented = written(DOCUMENT.read_text("utf-8"), table)
    measured = list(rows(table, await measure(table.swept)))
    assert [labels(row) for row in documented] == [labels(row) for row in measured]
    for before, now in zip(documented, measured, strict=True):
        assert figures(before) == pytest.approx(figures(now), abs=ROUNDING, rel=0.02), before
