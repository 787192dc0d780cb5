"""The export formats of a run by file ending. Command line, pages and HTTP API use this table."""

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import orjson
from markdown_it import MarkdownIt

from core.config.prices import SHIPPED, Prices
from core.errors import BadInput
from core.features.share.answer_export import answer_document, heading_anchor
from core.features.share.bibliography import Reference, bibtex, csl_json, references, ris
from core.features.share.html_export import html_export
from core.features.share.tables import hits_parquet, pages_parquet, passages_csv, passages_parquet
from core.features.share.without_texts import without_texts
from core.run.codec import run_to_json
from core.run.recorded_run import RecordedRun
from core.run.state import Run
from core.storage.bundle import to_bundle
from core.text.sanitize import encodable, one_line

_NOT_WORD = re.compile(r"[^\w ]")
_STYLE = (
    "body{max-width:44rem;margin:2rem auto;padding:0 1rem;font:1rem/1.6 system-ui,sans-serif;color:#1c1c1c}"
    "blockquote{margin:0;padding-left:1rem;border-left:3px solid #ccc;color:#444}pre{overflow:auto}"
    "@media print{body{margin:0;max-width:none}a{color:inherit}h3{break-after:avoid}}"
)
PARQUET = "application/vnd.apache.parquet"


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
        f"# {_literal(run.question)}\n\nA run of OpenQuery. The first cell opens it from a `.zip` in the "
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


def answer_page(run: Run, prices: Prices) -> bytes:
    """Return `answer_document` as HTML with linked citations."""
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
    tokens = parser.parse(answer_document(run, prices))
    counts: Counter[str] = Counter()
    for opening, heading in pairwise(tokens):
        if opening.type == "heading_open":
            anchor = heading_anchor(heading.content)
            opening.attrSet("id", f"{anchor}-{counts[anchor]}" if counts[anchor] else anchor)
            counts[anchor] += 1
    body = parser.renderer.render(tokens, parser.options, {})
    title = html.escape(one_line(run.question, 1000))
    return (
        '<!doctype html>\n<html><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{_STYLE}</style></head>\n<body>\n{body}</body></html>\n"
    ).encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Format:
    """A file format of a run."""

    title: str
    media_type: str
    write: Callable[[RecordedRun, Prices], bytes]
    """Raises `BadInput` if the run has nothing of this kind."""
    available: Callable[[Run], bool] = lambda run: True
    """Whether the run has something of this kind."""


def _of_run(write: Callable[[Run], bytes]) -> Callable[[RecordedRun, Prices], bytes]:
    """Return a writer that needs only the run's state."""
    return lambda recorded, _: write(recorded.run)


def _of_references(write: Callable[[Iterable[Reference]], bytes]) -> Callable[[RecordedRun, Prices], bytes]:
    """Return a writer for the run's sources as references."""
    return lambda recorded, _: write(references(recorded.run))


def _is_ranked(run: Run) -> bool:
    return run.ranking is not None


def _has_sources(run: Run) -> bool:
    return bool(run.sources)


FORMATS: Mapping[str, Format] = {
    ".zip": Format(
        "Whole run, to open in OpenQuery",
        "application/zip",
        lambda recorded, _: to_bundle(recorded),
    ),
    ".offsets.zip": Format(
        "Whole run without page texts",
        "application/zip",
        lambda recorded, _: to_bundle(without_texts(recorded)),
    ),
    ".json": Format("Run as JSON", "application/json", _of_run(run_to_json)),
    ".md": Format(
        "Answer as Markdown",
        "text/markdown",
        lambda recorded, prices: encodable(answer_document(recorded.run, prices)).encode(),
    ),
    ".html": Format("Interactive page", "text/html", _of_run(lambda run: html_export(run).encode())),
    ".excerpts.html": Format(
        "Interactive page without full texts",
        "text/html",
        _of_run(lambda run: html_export(run, full_texts=False).encode()),
    ),
    ".ipynb": Format("Notebook with the run", "application/x-ipynb+json", _of_run(notebook_file)),
    ".answer.html": Format(
        "Answer as HTML", "text/html", lambda recorded, prices: answer_page(recorded.run, prices)
    ),
    ".csv": Format("Passages as CSV", "text/csv", _of_run(passages_csv), _is_ranked),
    ".parquet": Format("Passages as Parquet", PARQUET, _of_run(passages_parquet), _is_ranked),
    ".hits.parquet": Format(
        "Search hits as Parquet", PARQUET, _of_run(hits_parquet), lambda run: bool(run.hits)
    ),
    ".pages.parquet": Format(
        "Pages as Parquet", PARQUET, _of_run(pages_parquet), lambda run: bool(run.pages)
    ),
    ".bib": Format("Sources as BibTeX", "application/x-bibtex", _of_references(bibtex), _has_sources),
    ".ris": Format(
        "Sources as RIS", "application/x-research-info-systems", _of_references(ris), _has_sources
    ),
    ".csl.json": Format(
        "Sources as CSL-JSON",
        "application/vnd.citationstyles.csl+json",
        _of_references(csl_json),
        _has_sources,
    ),
}
"""Formats by file ending. If several endings match, the longest counts."""


def ending_of(name: str) -> str:
    """Return the ending of a file name that identifies its format.

    Raises:
        BadInput: when no format has such an ending.
    """
    endings = [ending for ending in FORMATS if name.lower().endswith(ending)]
    if not endings:
        raise BadInput(
            f"A run cannot be exported as {name[-80:]!r}.",
            hint=f"The name has to end in {', '.join(FORMATS)}.",
        )
    return max(endings, key=len)


def formats_of(run: Run) -> dict[str, Format]:
    """Return the formats available for this run, by ending."""
    return {ending: form for ending, form in FORMATS.items() if form.available(run)}


def export(recorded: RecordedRun, ending: str, prices: Prices = SHIPPED) -> bytes:
    """Return the run as a file with an ending of `FORMATS`. `prices` say what its tokens cost.

    Raises:
        BadInput: when the run has nothing of this kind, such as no sources for a bibliography.
    """
    return FORMATS[ending].write(recorded, prices)
