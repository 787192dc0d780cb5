"""Bundles: a run as one zip, written and read back, and zips that anybody may have written."""

import hashlib
import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config.knobs import Knobs, RankKnobs, SearchKnobs
from core.config.settings import Settings
from core.errors import BadInput
from core.features.evaluate.labels.passage_labels import label
from core.features.share.formats import export, formats_of
from core.model import Extractor, Grade, Phase
from core.run import events as e
from core.run.codec import event_to_json, run_to_json
from core.run.importer import run_from_json
from core.run.recorded_run import RecordedRun
from core.run.state import Run, RunStatus
from core.runtime.registry import RunRegistry
from core.storage import bundle
from core.storage.bundle import from_bundle, to_bundle
from tests.features.share.large_run import large_run
from tests.run.test_importer import DONE, TOLD
from tests.samples import FIRST, INDEX, PAGE, RANKING, records

LABEL = label(PAGE, FIRST.place, Grade.RELEVANT)
RECORDED = RecordedRun.folded(records(*TOLD), labels=[LABEL])
BUNDLE = to_bundle(RECORDED)


def parts_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(parts: dict[str, bytes], *, honest: bool = True) -> bytes:
    """A zip of these parts, by default with a manifest that is right about them."""
    manifest = json.loads(parts["manifest.json"])
    if honest:
        manifest["parts"] = {
            name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in parts.items()
            if name != "manifest.json"
        }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**parts, "manifest.json": json.dumps(manifest).encode()}.items():
            archive.writestr(name, content)
    return file.getvalue()


def same(read: RecordedRun, written: RecordedRun) -> bool:
    def fields(recorded: RecordedRun) -> tuple[object, ...]:
        events = [(record.at, event_to_json(record.event)) for record in recorded.records]
        return run_to_json(recorded.run, vectors=True), events, recorded.labels

    return fields(read) == fields(written)


@pytest.mark.parametrize("ends", range(1, len(TOLD) + 1, 3))
def test_bundle_has_the_whole_run_wherever_it_was_interrupted(ends: int) -> None:
    recorded = RecordedRun.folded(
        records(*TOLD[:ends]), labels=[LABEL] if e.PageRead(PAGE) in TOLD[:ends] else []
    )
    assert same(from_bundle(to_bundle(recorded)), recorded)
    assert to_bundle(recorded) == to_bundle(recorded)


def test_run_beginning_with_a_document_keeps_it_beside_events() -> None:
    base = run_from_json(run_to_json(DONE, vectors=True))
    resumed = [e.Record(at=90.0, event=e.RunResumed(base.knobs)), e.Record(at=91.5, event=e.RunDone())]
    recorded = RecordedRun.folded(resumed, base)
    read = from_bundle(to_bundle(recorded))
    assert same(read, recorded)
    assert read.base is not None and read.base.seconds < read.run.seconds == 91.5


def test_a_run_that_failed_is_a_bundle_too() -> None:
    recorded = RecordedRun.folded(records(*TOLD[:10], e.RunFailed("read", "No page.", "Try again.", 4)))
    assert same(from_bundle(to_bundle(recorded)), recorded)


def test_page_read_twice_has_the_passages_of_each_reading() -> None:
    again = replace(
        PAGE, article=replace(PAGE.article, text="Alpha beta gamma.", extractor=Extractor.VISIBLE)
    )
    index = replace(INDEX, passages=(FIRST,), vectors=INDEX.vectors[:1])
    ranking = replace(RANKING, order=RANKING.order[1:], context=(0,), cosine=RANKING.cosine[:1])
    more = (e.RunResumed(DONE.knobs), e.PageRead(again), e.PhaseStarted(Phase.CHUNK))
    more += (e.PageChunked(PAGE.key, (FIRST,)), e.Indexed(index), e.Ranked(ranking), e.RunDone())
    recorded = RecordedRun.folded(records(*TOLD, *more))
    assert same(from_bundle(to_bundle(recorded)), recorded)
    run_from_json(run_to_json(recorded.run))


def without(name: str) -> Callable[[dict[str, bytes]], bytes]:
    return lambda parts: zipped({part: content for part, content in parts.items() if part != name})


def changed(name: str, old: bytes, new: bytes, *, honest: bool = True) -> Callable[[dict[str, bytes]], bytes]:
    def change(parts: dict[str, bytes]) -> bytes:
        assert old in parts[name]
        return zipped({**parts, name: parts[name].replace(old, new)}, honest=honest)

    return change


def with_part(name: str, content: bytes) -> Callable[[dict[str, bytes]], bytes]:
    return lambda parts: zipped({**parts, name: content})


WRONG: dict[str, tuple[Callable[[dict[str, bytes]], bytes], str]] = {
    "newer version": (changed("manifest.json", b'"version": 1', b'"version": 2'), "newer version"),
    "no manifest": (lambda _: b"PK\x05\x06" + b"\0" * 18, "no manifest"),
    "manifest of something else": (changed("manifest.json", b"openquery-bundle", b"recipe"), "no bundle"),
    "manifest that is no JSON": (lambda parts: BUNDLE[:-30], "cut off|damaged"),
    "a changed byte": (changed("pages/0001.txt", b"Alpha", b"Alphb", honest=False), "manifest says"),
    "a part that is not listed": (
        lambda parts: zipped({**parts, "extra.txt": b"x"}, honest=False),
        "manifest says",
    ),
    "a path out of the folder": (with_part("../../etc/passwd", b"x"), "belong to nothing"),
    "a part for nothing": (with_part("pages/9999.txt", b"x"), "belong to nothing"),
    "no events": (without("events.jsonl"), "do not begin"),
    "a page without its text": (without("pages/0001.txt"), "does not have"),
    "no vectors": (without("vectors/0001.npy"), "does not have"),
    "a text for vectors": (changed("events.jsonl", b"vectors/0001.npy", b"pages/0001.txt"), "does not have"),
    "vectors with too few bytes": (changed("vectors/0001.npy", b"(2, 2)", b"(3, 2)"), "another shape"),
    "vectors of a huge shape": (changed("vectors/0001.npy", b"(2, 2), ", b"(9**9,2)"), "NumPy"),
    "a NumPy header that does not close": (
        with_part("vectors/0001.npy", b"\x93NUMPY\x01\x00\x10\x00{'descr': ('<f4  \n"),
        "NumPy",
    ),
    "a vector of two million dimensions": (
        with_part(
            "vectors/0001.npy",
            b"\x93NUMPY\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': False, 'shape': (0, 2000000), }      \n",
        ),
        "another shape",
    ),
    "pickled vectors": (with_part("vectors/0001.npy", b"\x93NUMPY\x01\x00\x10\x00{'descr': '|O'}\n"), "NumPy"),
    "a passage beyond its page": (changed("events.jsonl", b'"end":17', b'"end":99'), "not in its page"),
    "a passage of no page": (changed("events.jsonl", b'{"place":{"page":"https', b'{"place":{"page":"ftp'), "not in"),
    "events in another order": (changed("events.jsonl", b'"at":0.5,', b'"at":7.5,'), "order"),
    "an unknown event": (changed("events.jsonl", b"PhaseEnded", b"PhaseMended"), "cannot be read"),
    "a number as text": (changed("events.jsonl", b'"size":1234', b'"size":"1234"'), "cannot be read"),
    "two starts": (
        lambda parts: zipped(parts | {"events.jsonl": parts["events.jsonl"].splitlines(True)[0] * 2}),
        "do not begin",
    ),
    "vectors that do not fit the similarities": (changed("events.jsonl", b"[0.6,0.8]", b"[0.6]"), "fit together"),
    "a script for an address": (
        changed("events.jsonl", b'"url":"https://a.example/one"', b'"url":"javascript:alert(1)"'),
        "address",
    ),
    "a label of no page of the run": (changed("labels.json", b"a.example", b"b.example"), "label"),
    "JSON that is nested deep": (with_part("labels.json", b"[" * 100_000), "label"),
    "a bomb": (with_part("pages/0002.txt", b"\0" * 30_000_000), "times its size"),
    "a page named again and again": (
        lambda parts: zipped(
            parts
            | {"pages/0001.txt": b"Alpha beta gamma.\n\nDelta." + bytes(range(32, 127)) * 90_000}
            | {
                "events.jsonl": b"".join(
                    line * 30 if b'"PageRead"' in line else line
                    for line in parts["events.jsonl"].splitlines(keepends=True)
                )
            }
        ),
        "repeats its parts",
    ),
    "too many events": (
        lambda parts: zipped(parts | {"events.jsonl": parts["events.jsonl"] + b"\n" * 60_000}),
        "more events",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_what_no_writer_writes_is_refused_in_words(
    change: Callable[[dict[str, bytes]], bytes], message: str
) -> None:
    with pytest.raises(BadInput, match=message) as refused:
        from_bundle(change(parts_of(BUNDLE)))
    assert refused.value.hint


def test_a_bundle_that_is_cut_off_anywhere_is_refused() -> None:
    for end in range(0, len(BUNDLE), 97):
        with pytest.raises(BadInput):
            from_bundle(BUNDLE[:end])


@given(st.data())
def test_any_change_of_its_events_gives_a_run_or_refusal(data: st.DataObject) -> None:
    parts = parts_of(BUNDLE)
    events = bytearray(parts["events.jsonl"])
    for _ in range(data.draw(st.integers(1, 3))):
        events[data.draw(st.integers(0, len(events) - 1))] = data.draw(st.integers(32, 126))
    try:
        from_bundle(zipped({**parts, "events.jsonl": bytes(events)}))
    except BadInput as refused:
        assert refused.hint


def test_run_that_is_too_long_for_a_bundle_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "EVENTS_LIMIT", 10)
    with pytest.raises(BadInput, match="at most 10"):
        to_bundle(RECORDED)


@pytest.mark.slow
def test_2400_passages_take_hardly_more_bytes_than_their_parts() -> None:
    recorded = RecordedRun.folded(large_run(2400))
    data = to_bundle(recorded)
    assert same(from_bundle(data), recorded)
    run = recorded.run
    assert run.index is not None and run.index.vectors is not None and len(run.index.passages) == 2400
    texts = [page.text.encode() for page in run.pages.values()]
    assert len(data) <= 1.3 * sum(len(zlib.compress(part)) for part in (*texts, run.index.vectors.tobytes()))


def test_bundle_opens_elsewhere_with_its_events_and_labels(tmp_path: Path) -> None:
    first = RunRegistry(Settings(data=tmp_path / "first", ollama_url=""))
    run = first.get(first.import_run(BUNDLE, "ada"))
    assert run is not None
    exported = first.recorded(run.id, "ada")
    assert exported is not None and exported.labels == (LABEL,)
    first.close()
    second = RunRegistry(Settings(data=tmp_path / "second", ollama_url="", shared=True))
    own = replace(LABEL, grade=Grade.PARTLY)
    second.labels.add(DONE.question, "earlier", own, user="bob")
    run_id = second.import_run(to_bundle(exported), "bob")
    assert second.labels.of(DONE.question, "bob") == (own,)
    second.import_run(to_bundle(exported), "eve")
    assert second.labels.of(DONE.question, "eve") == (LABEL,)
    second.close()
    later = RunRegistry(Settings(data=tmp_path / "second", ollama_url=""))
    again = later.recorded(run_id)
    assert again is not None and again.run.id == run_id
    assert same(replace(again, labels=(LABEL,)), RECORDED.with_id(run_id))
    assert later.get("nobody") is None is later.recorded("nobody")
    later.close()


def test_run_is_ranked_again_without_its_search_connected(tmp_path: Path) -> None:
    knobs = Knobs(search=SearchKnobs(backend="searxng"))
    events = [replace(event, knobs=knobs) if isinstance(event, e.RunStarted) else event for event in TOLD]
    runs = RunRegistry(Settings(data=tmp_path, ollama_url="", workers=1))
    run_id = runs.import_run(to_bundle(RecordedRun.folded(records(*events))))
    job = runs.retuning.start("session", run_id, replace(knobs, rank=RankKnobs(top_k=1)))
    assert job is not None
    job.wait(60)
    error, ranking = job.run.error, job.run.ranking
    runs.close()
    assert error is None and ranking is not None and len(ranking.context) == 1


def test_changes_of_an_imported_run_are_added_to_its_events(tmp_path: Path) -> None:
    runs = RunRegistry(Settings(data=tmp_path, ollama_url=""))
    run = runs.get(runs.import_run(BUNDLE))
    assert run is not None
    for event in (e.RunResumed(run.knobs), e.RunStopped()):
        record = e.Record(at=run.seconds + 1, event=event)
        run = run.apply(record)
        runs.store.append(run, record)
    recorded = runs.store.recorded(run.id)
    runs.close()
    assert recorded is not None
    assert len(recorded.records) == len(RECORDED.records) + 2


def test_running_run_is_exported_as_far_as_it_is(tmp_path: Path) -> None:
    runs = RunRegistry(Settings(data=tmp_path, ollama_url=""))
    run = Run()
    for record in records(*TOLD[:16]):
        run = run.apply(record)
        runs.store.append(run, record)
    recorded = runs.recorded(run.id)
    assert recorded is not None
    read = from_bundle(to_bundle(recorded))
    runs.close()
    assert (read.run.status, len(read.records)) == (RunStatus.INTERRUPTED, 16)


def test_unstored_run_is_exported_without_its_events(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    runs = RunRegistry(Settings(data=tmp_path / "file", ollama_url=""))
    recorded = runs.recorded(runs.import_run(run_to_json(DONE, vectors=True)))
    runs.close()
    assert recorded is not None and recorded.records == ()
    assert from_bundle(to_bundle(recorded)).run.text == DONE.text


def with_vectors(values: float) -> bytes:
    file = io.BytesIO()
    np.save(file, np.full((2, 2), values, np.float32))
    return zipped(parts_of(BUNDLE) | {"vectors/0001.npy": file.getvalue()})


EVENTS_OF_BUNDLE = parts_of(BUNDLE)["events.jsonl"]
STRANGE = {
    "a header that does not close": (
        zipped(
            parts_of(BUNDLE)
            | {
                "vectors/0001.npy": parts_of(BUNDLE)["vectors/0001.npy"]
                .replace(b"}", b" ")
                .replace(b")", b" ")
            }
        ),
        "NumPy",
    ),
    "vectors that overflow": (with_vectors(3e38), "unit length"),
    **{
        f"a start in the year {at[:4]}": (
            zipped(
                parts_of(BUNDLE)
                | {"events.jsonl": re.sub(rb'"at":"[^"]*"', b'"at":"%b"' % at.encode(), EVENTS_OF_BUNDLE)}
            ),
            "started",
        )
        for at in ("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-12:00")
    },
}


@pytest.mark.parametrize(("data", "field"), STRANGE.values(), ids=STRANGE)
def test_value_that_no_export_can_show_is_refused_by_field(data: bytes, field: str) -> None:
    with pytest.raises(BadInput, match=field):
        from_bundle(data)


def test_run_at_the_limits_of_time_has_every_export() -> None:
    for at in (b"2000-01-01T00:00:00+00:00", b"2200-12-31T23:59:59+00:00"):
        events = re.sub(rb'"at":"[^"]*"', b'"at":"%b"' % at, EVENTS_OF_BUNDLE)
        events = re.sub(rb'^{"at":[1-9][0-9.]*', b'{"at":1000000000', events, flags=re.MULTILINE)
        recorded = from_bundle(zipped(parts_of(BUNDLE) | {"events.jsonl": events}))
        for ending in formats_of(recorded.run):
            assert export(recorded, ending)
