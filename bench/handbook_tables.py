"""The tables of docs/evaluation.md: the handbook's questions under the sweeps that stand above them.

`python -m bench.handbook_tables` measures them with the shipped embedder, in about two minutes of CPU, and writes them.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.config.settings import ROOT, Settings
from core.features.evaluate.commands.evaluate import named_data_set
from core.features.evaluate.data_sets.available import HANDBOOK_NAME
from core.features.evaluate.experiment import run_experiment
from core.features.evaluate.metrics.retrieval_metrics import CONTEXT_TOKENS
from core.features.evaluate.results import Results
from core.features.evaluate.services.sweep_workers import data_embedder, sweep_workers
from core.features.evaluate.sweep import default_of, name_of, settings, value_text, values_of
from core.runtime.engine import Engine
from core.text.display import metric_text

DOCUMENT = ROOT / "docs" / "evaluation.md"
METRICS = ("nDCG@10", "recall@10", "excerpt recall")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of the document: the knobs of its rows and the metrics of its columns."""

    head: str
    """The line of its headings, which is in the document once."""
    swept: Mapping[str, Mapping[str, Sequence[Any]]]
    metrics: tuple[str, ...] = METRICS
    best_only: bool = False
    """Whether rows are left out that another one beats in both metrics."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The swept knobs, by their paths."""
        return tuple(f"{group}.{name}" for group, knobs in self.swept.items() for name in knobs)


TABLES = (
    Table(
        head="| passage size | ranking | nDCG@10 | recall@10 | excerpt recall |",
        swept={"chunk": {"size": [300, 500, 800]}, "rank": {"strategy": ["cosine", "bm25", "fused"]}},
    ),
    Table(
        head="| passage size | boundary | nDCG@10 | recall@10 | excerpt recall |",
        swept={
            "chunk": {"size": [300, 500, 1000], "boundary": ["natural", "sentence", "recursive", "fixed"]}
        },
    ),
    Table(
        head="| passage size | text around | top k | excerpt recall | context tokens |",
        swept={
            "chunk": {"size": [200, 300, 500]},
            "rank": {"surroundings": [0, 150, 300], "top_k": [3, 6, 10]},
        },
        metrics=("excerpt recall", CONTEXT_TOKENS),
        best_only=True,
    ),
)


def rows(table: Table, results: Results) -> Iterator[str]:
    """Write the rows of a table, in the order of its sweep or by tokens."""
    measured = [
        results.by_setting[name_of(knobs)]
        for knobs in settings(table.swept)
        if name_of(knobs) in results.by_setting
    ]
    figures = {
        result.setting: [results.mean(result, metric) or 0.0 for metric in table.metrics]
        for result in measured
    }
    if table.best_only:
        best, kept = -1.0, []
        for result in sorted(
            measured, key=lambda each: (figures[each.setting][1], -figures[each.setting][0])
        ):
            if figures[result.setting][0] > best:
                best = figures[result.setting][0]
                kept.append(result)
        measured = kept
    for result in measured:
        values = values_of(result.setting)
        knobs = [
            f"{value_text(path, values[path])}{' (default)' if values[path] == default_of(path) else ''}"
            for path in table.paths
        ]
        cells = [
            f"{round(figure):,}" if metric == CONTEXT_TOKENS else metric_text(figure)
            for metric, figure in zip(table.metrics, figures[result.setting], strict=True)
        ]
        yield f"| {' | '.join((*knobs, *cells))} |"


def written(document: str, table: Table) -> list[str]:
    """Return the rows that the document has for a table."""
    lines = document.splitlines()
    start = lines.index(table.head) + 2
    end = next(place for place in range(start, len(lines)) if not lines[place].startswith("|"))
    return lines[start:end]


async def measure(swept: Mapping[str, Any]) -> Results:
    """Measure the settings of a sweep on the handbook's questions."""
    connections = Settings.read()
    data, tried = named_data_set(HANDBOOK_NAME, connections), settings(swept)
    async with Engine(connections) as engine, sweep_workers(data, tried, count=1) as workers:
        embed = await data_embedder(engine, data)
        measured = [result async for result in run_experiment(data, tried, embed, workers)]
    questions = {question.id: question.text for question in data.questions}
    return Results(data=data.name, embedder=embed.identity, questions=questions, results=tuple(measured))


def replaced(document: str, table: Table, new: Sequence[str]) -> str:
    """Return the document with other rows of a table."""
    return document.replace("\n".join(written(document, table)), "\n".join(new))


def main() -> None:
    """Measure all tables and write them into the document."""
    path = Path(DOCUMENT)
    for table in TABLES:
        new = list(rows(table, asyncio.run(measure(table.swept))))
        path.write_text(replaced(path.read_text("utf-8"), table, new), "utf-8")


if __name__ == "__main__":
    main()
