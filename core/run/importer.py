"""Validate and import an exported run.

The file is untrusted, so every field and the consistency of its parts are checked.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, get_type_hints

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from core.errors import BadInput
from core.model import (
    Answer,
    CitationCheck,
    Index,
    Page,
    Passage,
    Place,
    Query,
    Ranking,
    SearchReply,
    Skip,
    Source,
)
from core.run import events as e
from core.run.codec import DERIVED, FORMAT, NOT_EXPORTED, READABLE_VERSIONS, where_wrong
from core.run.events import QueryFailed
from core.run.fold import folded_run
from core.run.reports.sections import SectionState
from core.run.state import Run, RunStatus
from core.run.upgrades import upgrade
from core.text.lenient_json import count_values
from core.text.questions import QUESTION_LIMIT

LIMIT = 50_000_000
"""The largest document in bytes."""
MOST_DIMENSIONS = 16_384
"""The largest vector length. Current embedding models have up to 12,288 dimensions."""
LARGEST_COMPONENT = 1.01
"""The largest component of a unit vector, with room for rounding. Larger values could overflow in charts and maps."""
FIRST_YEAR, LAST_YEAR = 2000, 2200
"""The range of start years that every export can write in any time zone."""
VALUES_LIMIT = 4_000_000
"""The largest number of values. 50 MB of empty arrays would take a gigabyte of memory."""

LONGEST = 1e9
"""The longest run in seconds, 30 years. Each of its times is then a valid date."""

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_WEB = re.compile(r"https?://[^\s/]", re.IGNORECASE)
_HINT = "Export it again, with JSON in the History or GET /runs/{id}?form=full, and leave it as it is."


@dataclass(frozen=True, slots=True)
class _Reply:
    query: Query
    reply: SearchReply


_LISTED: Mapping[str, Any] = {
    "replies": list[_Reply],
    "search_faults": list[QueryFailed],
    "pages": list[Page],
    "skips": list[Skip],
}
"""Fields that are lists in a document and mappings in a run."""


def run_from_json(data: bytes, context: Mapping[str, Any] | None = None) -> Run:
    """Return the run from exported JSON. A run without an end is marked as interrupted.

    `context` has the arrays that are not in the document, see `core.model.arrays`.

    Raises:
        BadInput: when the document is too large, is no exported run, or is inconsistent; the message says where.
    """
    if len(data) > LIMIT:
        raise BadInput(
            f"The file has {len(data):,} bytes; the limit for a run is {LIMIT:,}.",
            hint="Export the run without its vectors.",
        )
    if count_values(data) > VALUES_LIMIT:
        raise BadInput(f"The file has more than {VALUES_LIMIT:,} values, which no run has.", hint=_HINT)
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"The file is not JSON: {error}.", hint=_HINT) from error
    if not isinstance(document, dict) or "question" not in document or "timeline" not in document:
        raise BadInput("The file is not a run that OpenQuery exported.", hint=_HINT)
    if document.pop("format", "") != FORMAT or document.pop("version", None) not in READABLE_VERSIONS:
        raise BadInput(
            "The file was exported by another version of OpenQuery, in a form that this one does not know.",
            hint="Read it with that version, or ask the question again.",
        )
    document.pop(DERIVED, None)
    run = Run(**{name: _read(name, value, context) for name, value in upgrade(document).items()})
    check_consistency(run)
    return folded_run((), run)


def check_consistency(run: Run) -> None:
    """Check that the parts of an untrusted run fit together.

    Raises:
        BadInput: when they do not.
    """
    if wrong := next(_inconsistencies(run), ""):
        raise BadInput(f"The file's parts do not fit together: {wrong}.", hint=_HINT)


def check_event(event: e.Event, run: Run) -> None:
    """Check the consistency of an untrusted event's changes. The cost grows with the event, not with the run.

    Raises:
        BadInput: when the parts of the run do not fit together.
    """
    if wrong := next(_inconsistencies_of(event, run), ""):
        raise BadInput(f"The file's parts do not fit together: {wrong}.", hint=_HINT)


def _inconsistencies_of(event: e.Event, run: Run) -> Iterator[str]:
    match event:
        case e.PageRead(page=page):
            yield from _check_article(page)
        case e.PageChunked(passages=passages):
            yield from _check_passages(passages, run)
        case e.Indexed(index=index):
            yield from _check_passages((*index.passages, *index.not_embedded), run)
            yield from _check_index(index if run.index is None else run.index)
        case e.Embedded(vectors=vectors) if vectors is not None and not _are_unit_like(vectors):
            yield "vectors of Embedded are not of unit length"
        case e.Ranked(ranking=ranking):
            yield from _check_ranking(ranking, run.index)
        case e.Checked(check=check):
            yield from _check_citations(run.answer, run.sources, check)
        case _:
            pass


def _read(name: str, value: Any, context: Mapping[str, Any] | None) -> Any:
    """Return one field of the run.

    Raises:
        BadInput: when there is no such field, or it has another form; the message repeats nothing of its content.
    """
    if name not in _types():
        raise BadInput("The file has a field that runs do not have.", hint=_HINT)
    try:
        read = _reader(name).validate_json(orjson.dumps(value), strict=True, context=context)
    except ValidationError as error:
        raise BadInput(f"The file cannot be read: {where_wrong(error, name)}.", hint=_HINT) from error
    except (KeyError, TypeError, ValueError) as error:  # not an array
        raise BadInput(
            f"The file cannot be read: {name} has an array of another form.", hint=_HINT
        ) from error
    match name:
        case "replies":
            keyed = {pair.query: pair.reply for pair in read}
        case "search_faults":
            keyed = {fault.query: fault for fault in read}
        case "pages" | "skips":
            keyed = {item.key: item for item in read}
        case _:
            return read
    if len(keyed) < len(read):
        raise BadInput(f"The file cannot be read: {name} names something twice.", hint=_HINT)
    return keyed


@functools.cache
def _types() -> Mapping[str, Any]:
    hints = get_type_hints(Run, include_extras=True)
    stored = {field.name: hints[field.name] for field in fields(Run) if field.name not in NOT_EXPORTED}
    return stored | dict(_LISTED)


@functools.cache
def _reader(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(_types()[name])


# --- consistency checks: each yields what is wrong ---------------------------------------------------------


def _inconsistencies(run: Run) -> Iterator[str]:
    if not _ID.fullmatch(run.id):
        yield "id is none"
    if not run.question.strip() or len(run.question) > QUESTION_LIMIT:
        yield f"question has not 1 to {QUESTION_LIMIT:,} characters"
    if run.started and not _is_timestamp(run.started):
        yield f"started is no time with its zone, from {FIRST_YEAR} to {LAST_YEAR}"
    if not 0 <= run.seconds <= LONGEST:
        yield f"seconds are not from 0 to {LONGEST:,.0f}"
    spans = [*run.timeline.phases.values(), *(bar.span for bar in run.timeline.activities.values())]
    if any(
        not 0 <= span.start <= (span.start if span.end is None else span.end) <= LONGEST for span in spans
    ):
        yield "timeline has a span that ends before it begins, or that no run has"
    if [step.number for step in run.steps] != list(range(1, len(run.steps) + 1)):
        yield "steps are not numbered from 1"
    if (run.sections and not run.plan) or (run.status is RunStatus.PLANNED and not run.waits_for_approval):
        yield "the plan is not that of the run"
    if any(
        (section.state is SectionState.WRITTEN) != (section.answer is not None) for section in run.sections
    ):
        yield "sections are written without an answer"
    yield from _check_urls(run)
    for page in run.pages.values():
        yield from _check_article(page)
    passages = [*run.passages]
    if run.index is not None:
        passages += [*run.index.passages, *run.index.not_embedded]
        yield from _check_index(run.index)
    yield from _check_passages(passages, run)
    # The text is not compared: another extractor may have read the page again since the answer.
    sources = [*run.sources, *(source for section in run.sections for source in section.sources)]
    if not all(source.place.start >= 0 and source.place.page in run.pages for source in sources):
        yield "sources are not of its pages"
    if run.ranking is not None:
        yield from _check_ranking(run.ranking, run.index)
    yield from _check_citations(run.answer, run.sources, run.check)
    for version in run.earlier_answers:
        yield from _check_citations(version.answer, version.sources, version.check)


def _is_timestamp(text: str) -> bool:
    try:
        moment = datetime.fromisoformat(text)
        return moment.tzinfo is not None and FIRST_YEAR <= moment.year <= LAST_YEAR
    except ValueError:
        return False


def _check_urls(run: Run) -> Iterator[str]:
    sources = [*run.sources, *(source for version in run.earlier_answers for source in version.sources)]
    sources += (source for section in run.sections for source in section.sources)
    urls = [hit.url for hit in run.hits] + [page.url for page in run.pages.values()]
    urls += [skip.url for skip in run.skips.values()] + [source.url for source in sources]
    urls += [result.url for reply in run.replies.values() for result in reply.results]
    if not all(map(_WEB.match, urls)):
        yield "an address is not of the web"


def _check_article(page: Page) -> Iterator[str]:
    article = page.article
    length = len(article.text)
    starts = (0, *article.page_starts, length)
    if sorted(starts) != list(starts):
        yield "page_starts are not in order"
    if not article.structures_in_order:
        yield "structures or kept blocks are not in order"
    if not all(
        0 <= mark.start <= mark.end and (mark.hidden or mark.end <= length)
        for mark in article.injection_signs
    ):
        yield "injection signs are outside of their page"


def _check_passages(passages: Iterable[Passage], run: Run) -> Iterator[str]:
    if not all(_matches_page(passage, run.pages) for passage in passages):
        yield "passages are not in their pages"


def _matches_page(passage: Passage, pages: Mapping[str, Page]) -> bool:
    """Whether the passage equals its page's text at that position."""

    def has(place: Place) -> bool:
        page = pages.get(place.page)
        return page is not None and 0 <= place.start <= place.end <= len(page.text)

    place = passage.place
    return (
        has(place)
        and pages[place.page].text[place.start : place.end] == passage.text
        and all(map(has, passage.also))
    )


def _check_index(index: Index) -> Iterator[str]:
    rows = len(index.passages)
    match index.vectors, index.question:
        case None, None:
            return
        case np.ndarray() as vectors, np.ndarray() as question:
            fits = vectors.ndim == 2 and vectors.shape[0] == rows and question.shape == vectors.shape[1:]
            if fits and len(question) > MOST_DIMENSIONS:
                yield f"vectors have more than {MOST_DIMENSIONS:,} dimensions"
                return
            if fits:
                waiting = np.isnan(vectors).all(axis=1)
            if not fits or not all(_are_unit_like(array) for array in (vectors[~waiting], question)):
                yield "vectors are not one of unit length for each passage"
        case _:
            yield "vectors and the question's vector go together"


def _check_ranking(ranking: Ranking, index: Index | None) -> Iterator[str]:
    rows = len(index.passages) if index else 0
    order = ranking.order
    if order.ndim != 1 or order.dtype != np.int64 or len(np.unique(order)) != len(order):
        yield "order is no list of rows"
        return
    if ((order < 0) | (order >= rows)).any() or not all(0 <= row < rows for row in ranking.context):
        yield "ranking names passages that are not there"
    if not all(score.shape == (rows,) and _are_floats(score) for score in ranking.scores.values()):
        yield "scores are not one for each passage"


def _are_unit_like(array: NDArray[Any]) -> bool:
    """Whether no component exceeds that of a unit vector."""
    return _are_floats(array, finite=True) and bool((np.abs(array) <= LARGEST_COMPONENT).all())


def _are_floats(array: NDArray[Any], *, finite: bool = False) -> bool:
    return array.dtype == np.float32 and (not finite or bool(np.isfinite(array).all()))


def _check_citations(
    answer: Answer | None, sources: tuple[Source, ...], check: CitationCheck
) -> Iterator[str]:
    numbers = [source.number for source in sources]
    if len(set(numbers)) < len(numbers) or min(numbers, default=1) < 1:
        yield "sources do not have numbers of their own, from 1"
    length = len(answer.text) if answer else 0
    parts = [(mark.start, mark.end) for mark in check.citations] + [(s.start, s.end) for s in check.sentences]
    if not all(0 <= start <= end <= length for start, end in parts):
        yield "citations are outside of the answer"
    cited = {n for sentence in check.sentences for n in sentence.cites} | set(check.cited)
    cited |= {mark.number for mark in check.citations if mark.known}
    if not cited <= set(numbers):
        yield "citations name sources that are not there"
