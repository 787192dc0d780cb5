"""A run as a Jupyter notebook that opens its bundle, shows each phase, and tunes the ranking.

The notebook has only the question and id of the run, so that no text of a page can act as Markdown, HTML or code.
"""

import re
from collections.abc import Iterator
from typing import Any

import orjson

from core.run.state import Run
from core.text.sanitize import encodable, one_line

_NOT_WORD = re.compile(r"[^\w ]")


def notebook_file(run: Run) -> bytes:
    """Return the notebook, without outputs.

    It has version 4.5 of the format, and no cells for missing parts of the run.
    """
    cells: list[dict[str, Any]] = [
        {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": source}
        | ({"outputs": [], "execution_count": None} if kind == "code" else {})
        for number, (kind, source) in enumerate(_cells(run), 1)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    document = {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}
    return orjson.dumps(document, option=orjson.OPT_INDENT_2)


def _cells(run: Run) -> Iterator[tuple[str, str]]:
    """Yield kind and source of each cell."""
    yield (
        "markdown",
        f"# {_literal(run.question)}\n\nA run of OpenQuery. The first cell opens it from its bundle, a `.zip` in the "
        "folder of this notebook, or from the history of this machine. Nothing is searched or fetched. It needs "
        "OpenQuery (`docs/notebook.md` says how to install it).",
    )
    yield "code", f"from openquery import open_run\n\nrun = open_run({run.id!r})\nrun"
    yield "markdown", "## Phases\n\nWhat was done, how much came of it, and how long it took."
    yield "code", "run.phases"
    if run.hits:
        yield "markdown", "## Search and pages\n\nThe hits with their outcome, then the pages that were read."
        yield "code", "run.hits"
        yield "code", 'run.pages.drop(columns="text")'
        yield "markdown", "## Losses\n\nFrom search results to citations: what was lost after each step."
        yield "code", "run.attrition"
    if run.ranking is not None and len(run.ranking.order):
        yield "markdown", "## Ranking\n\nThe best passages, scores by rank, and a map of the passages."
        yield from (("code", f"run.{name}") for name in ("ranking", "scores", "map"))
    if run.sources:
        yield (
            "markdown",
            "## Sources\n\nThe first source in its page, then each sentence of the answer against all.",
        )
        yield "code", "run.sources[0]"
        yield "code", "run.attribution"
    if run.ranking is not None and len(run.ranking.order):
        yield (
            "markdown",
            "## Tune\n\nThe same passages under other settings. The run stays as it is. `run.controls()` has sliders.",
        )
        yield "code", 'tuned = run.retune(top_k=3, strategy="bm25")\ntuned.ranking'
        yield "code", "run.compare(tuned)"
        yield (
            "code",
            'contexts = {\n    strategy: run.retune(strategy=strategy).passages.dropna(subset="source")["text"]\n'
            '    for strategy in ("cosine", "bm25", "fused")\n}\n'
            "{strategy: len(set(texts) & set(contexts[run.knobs.rank.strategy])) for strategy, texts in "
            "contexts.items()}",
        )
        yield "markdown", "Why is a passage not in the context? Here the last one of the ranking."
        yield "code", 'run.why_not(run.passages["text"].iloc[-1])'


def _literal(text: str) -> str:
    """Escape a text to one line without Markdown, HTML or mathematics."""
    return _NOT_WORD.sub(lambda mark: f"&#{ord(mark[0])};", one_line(encodable(text), 1000)).replace(
        "_", "&#95;"
    )
