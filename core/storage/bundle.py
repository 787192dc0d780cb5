"""A run as one zip, a bundle.

It has the run's events with their times, page texts, vectors, labels, and a manifest with the SHA-256 of each part.
docs/sharing.md describes its parts. A bundle that is read is untrusted.
"""

import hashlib
import io
import platform
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from core.config.version import __version__
from core.errors import BadInput
from core.model import Label, Unreadable
from core.reading.zip_archive import Archive
from core.run import events as e
from core.run.codec import FORMAT_VERSION, event_from_fields, event_to_json, run_to_json, without_vectors
from core.run.fold import Fold
from core.run.importer import LIMIT, LONGEST, VALUES_LIMIT, check_consistency, check_event, run_from_json
from core.run.recorded_run import RecordedRun
from core.run.state import Run
from core.storage.bundle_parts import PartsReader, PartsWriter
from core.text.lenient_json import count_values

FORMAT, VERSION = "openquery-bundle", 1
"""The format and version of a bundle. The version rises when older readers cannot read the new form."""
MANIFEST, BASE, EVENTS, LABELS = "manifest.json", "run.json", "events.jsonl", "labels.json"
_EARLIER_SIGNATURE, _EARLIER_DESCRIPTION = "signature.json", "ro-crate-metadata.json"
"""Names of files that earlier versions wrote and this version ignores. No manifest lists the signature."""
UNPACKED_LIMIT = 200_000_000
"""The most bytes of all unpacked parts together."""
_HARMLESS = 20_000_000
"""The bytes that any bundle may restore in the run, even a small bundle."""
_MEMORY = 2
"""The ratio of restored to unpacked bytes that a larger bundle may reach."""
_SECONDS_PER_MB = 1.5
"""CPU seconds for a megabyte of an unpacked bundle. Runs take less than 0.1."""
VALUES_ALLOWED = 100_000
_VALUE_BYTES = 8
"""The bytes of a bundle that allow another value in its events. Runs have 20 and more."""
EVENTS_LIMIT = 50_000
TEXT_LIMIT = 1_000_000
"""The most characters of all streamed answers, since each piece copies the earlier text of its answer."""
_MANIFEST_LIMIT = 5_000_000
_DATE = (1980, 1, 1, 0, 0, 0)
"""The date of every part, so that the same run gives the same bytes."""
_ZIP = b"PK"
_HINT = "Export the run again as .zip, and leave the file as it is."

_LABELS = TypeAdapter(tuple[Label, ...])


def to_bundle(recorded: RecordedRun) -> bytes:
    """Return the bundle of a run.

    Raises:
        BadInput: when the run is larger than a bundle may be.
    """
    _refuse_size(recorded.records)
    writer, documents = PartsWriter(), dict[str, bytes]()
    if recorded.base:
        document = run_to_json(recorded.base, vectors=True)
        document = document if len(document) <= LIMIT else run_to_json(recorded.base)
        documents[BASE] = writer.shortened(document)
    documents[EVENTS] = b"".join(
        b'{"at":%b,"event":%b}\n' % (orjson.dumps(record.at), writer.shortened(event_to_json(record.event)))
        for record in recorded.records
    )
    documents[LABELS] = _LABELS.dump_json(recorded.labels)
    parts = documents | writer.parts
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "versions": {"openquery": __version__, "run": FORMAT_VERSION, "python": platform.python_version()},
        "run": recorded.run.id,
        "parts": _listed(parts),
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {MANIFEST: orjson.dumps(manifest, option=orjson.OPT_INDENT_2), **parts}.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), content, zipfile.ZIP_DEFLATED)
    if len(bundle := file.getvalue()) > LIMIT or sum(map(len, parts.values())) > UNPACKED_LIMIT:
        raise BadInput(
            f"The bundle would have {len(bundle):,} bytes, and {LIMIT:,} are the most that can be read.",
            hint="Export the run as JSON, without its events and vectors.",
        )
    return bundle


def from_bundle(data: bytes) -> RecordedRun:
    """Return the run of a bundle. A run without an end is marked as interrupted.

    Raises:
        BadInput: when it is not a bundle, is damaged, was changed, or comes from a newer version.
    """
    if len(data) > LIMIT:
        raise BadInput(f"The bundle has {len(data):,} bytes; the limit is {LIMIT:,}.", hint=_HINT)
    parts = _checked_parts(data)
    size = sum(map(len, parts.values()))
    documents = {name: parts.pop(name, b"") for name in (BASE, EVENTS, LABELS)}
    if (
        count_values(documents[EVENTS]) > min(VALUES_LIMIT, VALUES_ALLOWED + size // _VALUE_BYTES)
        or documents[EVENTS].count(b"\n") > EVENTS_LIMIT
    ):
        raise BadInput("The bundle has more events than any run has.", hint=_HINT)
    most = _HARMLESS + _MEMORY * size
    reader = PartsReader(parts, most)
    effort = Effort(size)
    try:
        base = (
            run_from_json(orjson.dumps(reader.restored(documents[BASE])), reader.context)
            if documents[BASE]
            else None
        )
        records = tuple(_records(documents.pop(EVENTS).splitlines(), reader, effort))
        if any(_matrix_bytes(record.event) > most for record in records):
            # Most passages of an interrupted run wait for vectors, which an attack could imitate to use memory.
            records = tuple(e.Record(record.at, without_vectors(record.event)) for record in records)
        run = _folded(records, base, effort)
        labels = _labels(documents[LABELS], run)
    except BadInput as error:
        raise BadInput(error.message, hint=error.hint or _HINT) from error
    if reader.unused:
        raise BadInput("The bundle has parts that belong to nothing in it.", hint=_HINT)
    return RecordedRun(run=run, records=records, base=base, labels=labels)


def recorded_run(document: bytes) -> RecordedRun:
    """Return the run in an exported bundle or JSON file.

    A run from JSON has no events. Raises the errors of `from_bundle`.
    """
    if document.startswith(_ZIP):
        return from_bundle(document)
    run = run_from_json(document)
    return RecordedRun(run=run, base=run)


def run_of_bundle(document: bytes) -> str:
    """Return the run id in a bundle's manifest, or "". The parts are not checked."""
    try:
        return str(
            _manifest(Archive(document, UNPACKED_LIMIT).read(MANIFEST, _MANIFEST_LIMIT)).get("run", "")
        )
    except (BadInput, Unreadable):
        return ""


def _listed(parts: Mapping[str, bytes]) -> dict[str, dict[str, Any]]:
    """Return the manifest's entry of each part."""
    return {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in parts.items()
    }


def _checked_parts(data: bytes) -> dict[str, bytes]:
    """Return a bundle's parts after comparison with its manifest. Ignored files are left out."""
    try:
        archive = Archive(data, UNPACKED_LIMIT)
        if MANIFEST not in archive:
            raise BadInput("The file is no bundle: it has no manifest.", hint=_HINT)
        manifest = _manifest(archive.read(MANIFEST, _MANIFEST_LIMIT))
        listed_names = (name for name in archive.names if name not in (MANIFEST, _EARLIER_SIGNATURE))
        parts = {name: archive.read(name) for name in listed_names}
    except Unreadable as error:
        raise BadInput(f"The bundle cannot be read: {error.detail}.", hint=_HINT) from error
    listed, actual = manifest.get("parts"), _listed(parts)
    if listed != actual:
        raise BadInput("The bundle is not as its manifest says: it was changed or damaged.", hint=_HINT)
    parts.pop(_EARLIER_DESCRIPTION, None)
    return parts


def _manifest(document: bytes) -> dict[str, Any]:
    if count_values(document) > VALUES_LIMIT:
        raise BadInput("The bundle's manifest is too long.", hint=_HINT)
    try:
        manifest = orjson.loads(document)
    except orjson.JSONDecodeError as error:
        raise BadInput("The bundle's manifest is no JSON.", hint=_HINT) from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise BadInput("The file is no bundle of a run.", hint=_HINT)
    if manifest.get("version") != VERSION:
        raise BadInput(
            "The bundle was made by a newer version of OpenQuery, in a form that this one does not know.",
            hint="Open it with that version, or export the run there as JSON.",
        )
    return manifest


class Effort:
    """The CPU time that this thread may spend on a bundle. It is several times what runs of this size take."""

    def __init__(self, size: int, clock: Callable[[], float] = time.thread_time) -> None:
        self._clock = clock
        self._end = clock() + 1.0 + _SECONDS_PER_MB * size / 1e6

    def check(self) -> None:
        """Raise BadInput if the time is spent."""
        if self._clock() > self._end:
            raise BadInput("The bundle takes more work to read than any run of its size.")


def _records(lines: Iterable[bytes], reader: PartsReader, effort: Effort) -> Iterator[e.Record]:
    """Yield the records of lines. Raises BadInput when a line is not an event with its time."""
    for line in lines:
        effort.check()
        fields = reader.restored(line)
        if not isinstance(fields, dict) or fields.keys() != {"at", "event"}:
            raise BadInput("An event cannot be read: it is not one with its time.")
        seconds, event = fields["at"], event_from_fields(fields["event"], reader.context)
        if isinstance(seconds, bool) or not isinstance(seconds, float | int) or not 0 <= seconds <= LONGEST:
            raise BadInput("The bundle has an event without its time.")
        match event:
            case e.PageChunked(passages=passages):
                event = replace(event, passages=reader.shared(passages))
            case e.Indexed(index=index):
                index = replace(index, passages=reader.shared(index.passages))
                event = replace(event, index=replace(index, not_embedded=reader.shared(index.not_embedded)))
            case _:
                pass
        yield e.Record(at=float(seconds), event=event)


def _matrix_bytes(event: e.Event) -> int:
    """Return the bytes of an index's matrix, with waiting rows."""
    match event:
        case e.Indexed(index=index) if index.question is not None:
            return 4 * len(index.passages) * index.question.size
        case _:
            return 0


def _refuse_size(records: Iterable[e.Record]) -> None:
    """Raise BadInput if events or answers exceed a bundle's limits."""
    pieces = [
        len(record.event.text) if isinstance(record.event, e.TokensWritten | e.ModelThought) else 0
        for record in records
    ]
    if len(pieces) > EVENTS_LIMIT or sum(pieces) > TEXT_LIMIT:
        raise BadInput(
            f"The run has {len(pieces):,} events with {sum(pieces):,} characters of answers; a bundle has at most "
            f"{EVENTS_LIMIT:,} and {TEXT_LIMIT:,}.",
            hint="Export the run as JSON, without its events.",
        )


def _folded(records: tuple[e.Record, ...], base: Run | None, effort: Effort) -> Run:
    """Fold the records onto `base`, checking consistency. Every state that pages could show is checked.

    Raises:
        BadInput: when a state is inconsistent.
    """
    _refuse_size(records)
    starts = [isinstance(record.event, e.RunStarted) for record in records]
    if any(starts[1:]) or starts[:1] != ([] if not records else [base is None]) or not (records or base):
        raise BadInput("The bundle's events do not begin with the start of a run.")
    if any(later.at < earlier.at for earlier, later in pairwise(records)):
        raise BadInput("The bundle's events are not in the order of their times.")
    fold = Fold(base or Run())
    try:
        for record in records:
            fold.apply(record)
            check_event(record.event, fold.last)
            effort.check()
        run = fold.run.interrupted()
    except (KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise BadInput("The bundle's events do not fit together.") from error
    check_consistency(run)
    return run


def _labels(document: bytes, run: Run) -> tuple[Label, ...]:
    """Return the labels of the run. Raises BadInput when they are invalid."""
    try:
        labels = _LABELS.validate_json(document, strict=True)
    except ValidationError as error:
        raise BadInput("The bundle has labels that cannot be read.") from error
    if not all(
        label.place.page in run.pages and 0 <= label.place.start < label.place.end for label in labels
    ):
        raise BadInput("The bundle has a label of no text in its pages.")
    return labels
