"""Events and exported runs that version 4 of the run format wrote are read under today's names."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.config.knobs import PromptLayout
from core.run import events as e
from core.run.codec import event_from_json, event_to_json, run_to_json
from core.run.fold import folded_run
from core.run.importer import run_from_json
from core.run.state import RunStatus
from core.run.upgrades import RENAMED_FIELDS
from core.storage.run_store import RunStore
from tests.run.earlier_version import FOLDER, RUN_ID, stored_events, write_store
from tests.run.test_importer import DONE
from tests.samples import EVENTS, PAGE, USAGE


def stored_records() -> list[e.Record]:
    rows = stored_events()
    return [e.Record(at=at, event=event_from_json(json.dumps(fields).encode())) for at, fields in rows]


def test_every_renamed_field_is_in_the_files() -> None:
    events = [fields for _, fields in stored_events()]
    names = {path.rpartition(".")[2] for path, _ in RENAMED_FIELDS}
    written = json.dumps([events, json.loads((FOLDER / "run.json").read_bytes())])
    assert names and [name for name in names if f'"{name}": ' not in written] == []


def test_fields_of_version_4_are_read_under_current_names() -> None:
    for run in (folded_run(stored_records()), run_from_json((FOLDER / "run.json").read_bytes())):
        assert [used.usage.tokens for used in run.model_usage] == [USAGE + USAGE]
        assert run.usage == USAGE + USAGE
        (reply,) = run.replies.values()
        assert reply.unresponsive_engines == (("bing", "timeout"),)
        assert reply.usage is not None and reply.usage.tokens == USAGE
        assert reply.unknown_engines == ("gogle",)
        assert (run.knobs.read.early_cut_percent, run.knobs.read.early_cut_idle) == (80, 0.5)
        assert run.knobs.answer.prompt_layout is PromptLayout.THREE
        assert len(run.earlier_answers) == 1
        (page,) = (page for page in run.pages.values() if page.has_strong_sign)
        assert [page.text[sign.start : sign.end] for sign in page.injection_signs] == [
            sign.quote for sign in page.injection_signs
        ]
        assert run.index is not None and run.index.embedder_languages == ("en",)
        assert len(run.index.not_embedded) == 1


@pytest.mark.parametrize(
    ("digests", "left_out"),
    [
        (None, False),
        ({"sha256": "", "passages": [], "whole": True, "problem": ""}, False),
        ({"sha256": "", "passages": [], "whole": False, "problem": "gone"}, True),
        ({"sha256": "", "passages": []}, True),
    ],
    ids=["a text", "a text fetched again", "a text that could not be fetched", "no text"],
)
def test_digests_tell_whether_a_text_was_left_out(digests: object, left_out: bool) -> None:
    fields = json.loads(event_to_json(e.PageRead(PAGE)))
    del fields["page"]["article"]["text_left_out"]
    fields["page"]["article"]["digests"] = digests
    event = event_from_json(json.dumps(fields).encode())
    assert event == e.PageRead(replace(PAGE, article=replace(PAGE.article, text_left_out=left_out)))
    exported = json.loads(run_to_json(DONE))
    for page in exported["pages"]:
        del page["article"]["text_left_out"]
        page["article"]["digests"] = digests
    run = run_from_json(json.dumps(exported).encode())
    assert {page.lacks_text for page in run.pages.values()} == {left_out}


def test_event_is_written_under_current_names_and_read_unchanged() -> None:
    for event in (*(record.event for record in stored_records()), *EVENTS):
        assert event_to_json(event_from_json(event_to_json(event))) == event_to_json(event)


def test_an_exported_run_is_the_run_of_its_events() -> None:
    exported = run_from_json((FOLDER / "run.json").read_bytes())
    folded = folded_run(stored_records())
    assert (exported.knobs, exported.pages, exported.hits) == (folded.knobs, folded.pages, folded.hits)
    assert (exported.sources, exported.earlier_answers) == (folded.sources, folded.earlier_answers)
    assert exported.ranking is not None and folded.ranking is not None
    assert np.array_equal(exported.ranking.order, folded.ranking.order)
    assert exported.index is not None and exported.index.vectors is not None
    assert exported.status is RunStatus.DONE
    written = run_to_json(exported, vectors=True)
    assert json.loads(written)["version"] == 6
    assert run_to_json(run_from_json(written), vectors=True) == written


def test_earlier_store_holds_its_run_and_takes_more_of_it(tmp_path: Path) -> None:
    write_store(tmp_path / "runs.sqlite")
    store = RunStore(tmp_path / "runs.sqlite")
    assert store.problem == ""
    assert [(line.id, line.status) for line in store.history(10)] == [(RUN_ID, RunStatus.DONE)]
    run = store.load(RUN_ID)
    assert run is not None
    assert run_to_json(run) == run_to_json(folded_run(stored_records()))
    record = e.Record(at=run.seconds + 1, event=e.RunResumed(run.knobs))
    store.append(run.apply(record), record)
    assert (again := store.load(RUN_ID)) is not None
    assert again.seconds == record.at
    store.close()
