"""Events and exported runs that version 1 wrote are read under today's names."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from core.model import Answer, AnswerKind, CitationCheck, Sentence
from core.run import events as e
from core.run.codec import event_from_json, event_to_json, run_to_json
from core.run.importer import run_from_json
from core.run.state import Run, RunStatus
from core.storage.run_store import RunStore
from core.text.markdown.citations import find_citations
from tests.run.earlier_version import FOLDER, RUN_ID, stored_events, write_store
from tests.samples import EVENTS, USAGE, records


def told() -> list[e.Record]:
    rows = stored_events()
    return [e.Record(at=at, event=event_from_json(json.dumps(fields).encode())) for at, fields in rows]


def test_every_event_that_was_renamed_is_read() -> None:
    before = {fields["event"] for _, fields in stored_events()}
    assert {"Noted", "Wrote", "SearchBroke", "EmbedBroke"} <= before, "the file holds them"
    read = [record.event for record in told()]
    assert [one.query.text for one in read if isinstance(one, e.QueryFailed)] == ["a broken query"]
    assert [one.texts for one in read if isinstance(one, e.BatchFailed)] == [1]
    assert any(isinstance(one, e.Note) for one in read)
    assert any(isinstance(one, e.TokensWritten) for one in read)


def test_fields_that_were_renamed_are_read() -> None:
    run = Run.from_records(told())
    assert run.knobs.search.passages == 4
    assert run.ranking is not None and run.ranking.cosine is not None
    (suspect,) = (page for page in run.pages.values() if page.suspect)
    for sign in suspect.suspicions:
        assert suspect.text[sign.start : sign.end] in sign.quote or sign.quote in suspect.text
    assert len(run.earlier_answers) == 1


def test_an_event_is_written_under_todays_names_and_read_unchanged() -> None:
    for record in told():
        again = event_from_json(event_to_json(record.event))
        assert event_to_json(again) == event_to_json(record.event)
    for event in EVENTS:
        assert event_to_json(event_from_json(event_to_json(event))) == event_to_json(event)


def test_an_exported_run_is_the_run_of_its_events() -> None:
    exported = run_from_json((FOLDER / "run.json").read_bytes())
    folded = Run.from_records(told())
    assert (exported.knobs, exported.pages, exported.hits) == (folded.knobs, folded.pages, folded.hits)
    assert (exported.sources, exported.earlier_answers) == (folded.sources, folded.earlier_answers)
    assert exported.ranking is not None and folded.ranking is not None
    assert np.array_equal(exported.ranking.order, folded.ranking.order)
    assert exported.index is not None and exported.index.vectors is not None
    assert exported.status is RunStatus.DONE
    written = run_to_json(exported, vectors=True)
    assert run_to_json(run_from_json(written), vectors=True) == written


def test_a_store_of_version_1_holds_the_run_and_takes_more_of_it(tmp_path: Path) -> None:
    write_store(tmp_path / "runs.sqlite")
    store = RunStore(tmp_path / "runs.sqlite")
    assert store.problem == ""
    assert [(line.id, line.status) for line in store.history(10)] == [(RUN_ID, RunStatus.DONE)]
    run = store.load(RUN_ID)
    assert run is not None
    assert run_to_json(run) == run_to_json(Run.from_records(told()))
    record = e.Record(at=run.seconds + 1, event=e.RunResumed(run.knobs))
    store.append(run.apply(record), record)
    assert (again := store.load(RUN_ID)) is not None
    assert again.seconds == record.at
    store.close()


def test_tokens_of_answers_of_earlier_versions_are_those_of_the_run() -> None:
    before = [event for event in EVENTS if not isinstance(event, e.ModelUsed)]
    now, then = Run.from_records(records(*EVENTS)), Run.from_records(records(*before))
    assert then.model_usage == now.model_usage
    assert then.usage == USAGE


def test_tokens_of_an_exported_run_of_an_earlier_version_are_those_of_its_answers() -> None:
    document = json.loads((FOLDER / "run.json").read_bytes())
    for answer in (document["answer"], document["versions"][0]["answer"]):
        answer["usage"] = {"prompt_tokens": 10, "completion_tokens": 3, "cost": 0.001}
    run = run_from_json(json.dumps(document).encode())
    assert run.usage == USAGE + USAGE
    assert json.loads(run_to_json(run))["version"] == 4
    assert run_from_json(run_to_json(run)).model_usage == run.model_usage


def test_sentences_of_earlier_versions_are_read_again_with_their_words() -> None:
    before = [fields["check"] for _, fields in stored_events() if fields["event"] == "Checked"]
    assert before and all("text" not in one for check in before for one in check["sentences"])
    for run in (Run.from_records(told()), run_from_json((FOLDER / "run.json").read_bytes())):
        checks = [run.check, *(version.check for version in run.earlier_answers)]
        assert [one.text for check in checks for one in check.sentences]
        assert all(one.text for check in checks for one in check.sentences)


def test_an_old_list_of_raw_sentences_is_read_as_its_claims() -> None:
    text = "## Rules\n\n- **Siting.** It must [1].\n- It may."
    old = CitationCheck(
        citations=tuple(find_citations(text, 1)),
        sentences=(Sentence(start=10, end=23, cites=()), Sentence(start=24, end=36, cites=(1,))),
        cited=(1,),
    )
    events = [e.Answered(Answer(kind=AnswerKind.WRITTEN, text=text)), e.Checked(old)]
    run = Run.from_records(records(*events))
    assert [(one.text, one.cites) for one in run.check.sentences] == [
        ("Siting. It must.", (1,)),
        ("It may.", ()),
    ]
    assert (run.check.citations, run.check.cited) == (old.citations, old.cited)
    assert Run.from_records(records(e.Checked(run.check))).check == run.check
