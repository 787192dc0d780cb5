"""The export formats of a run by file ending. Command line, pages and HTTP API use this table."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from core.config.prices import SHIPPED, Prices
from core.errors import BadInput
from core.features.share.answer_export import answer_document
from core.features.share.answer_page import answer_page
from core.features.share.bibliography import bibtex, csl_json, ris
from core.features.share.html_export import html_export
from core.features.share.notebook_file import notebook_file
from core.features.share.references import Reference, references
from core.features.share.tables import hits_parquet, pages_parquet, passages_csv, passages_parquet
from core.features.share.without_texts import without_texts
from core.run.codec import run_to_json
from core.run.recorded_run import RecordedRun
from core.run.state import Run
from core.storage.bundle import to_bundle
from core.text.sanitize import encodable


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


PARQUET = "application/vnd.apache.parquet"

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
