"""Events and runs as JSON."""

import base64
import json
from dataclasses import replace

import numpy as np
import orjson
import pytest
from pydantic import TypeAdapter

from core.errors import StoreFailed
from core.model import ClientRequest, ClientTaskKind, Exchange, Index, ModelUsage, Usage
from core.run import events as e
from core.run.codec import event_from_json, event_to_json, run_to_json
from core.run.fold import folded_run
from core.run.importer import run_from_json
from tests.run.test_importer import DONE
from tests.samples import EVENTS, FIRST, records, until


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_every_event_survives_the_journey(event: e.Event) -> None:
    data = event_to_json(event)
    again = event_from_json(data)
    assert type(again) is type(event)
    assert event_to_json(again) == data
    if not isinstance(event, e.Indexed | e.Ranked):
        assert again == event


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_events_have_the_bytes_of_earlier_versions(event: e.Event) -> None:
    fields = TypeAdapter(type(event)).dump_python(event, mode="json")
    assert event_to_json(event) == orjson.dumps({"event": type(event).__name__, **fields})


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_arrays_of_any_length_are_written_as_before(rows: int) -> None:
    vectors = np.arange(4 * rows, dtype=np.float32).reshape(4, rows).T  # not contiguous
    event = e.Embedded(1, (), (), 0, np.arange(rows), vectors)
    data = base64.b64encode(vectors.tobytes()).decode()
    written = {"dtype": "float32", "shape": [rows, 4], "base64": data}
    assert json.loads(event_to_json(event))["vectors"] == written


def test_lone_surrogates_are_replaced_in_every_event() -> None:
    vectors = np.ones((1, 2), np.float32)
    passage = replace(FIRST, text="a \ud800 b")
    for event in (
        e.PageChunked("a", (passage,)),
        e.Indexed(Index(passages=(passage,), vectors=vectors, question=None, embedder="test")),
    ):
        assert "a \ufffd b".encode() in event_to_json(event)


def test_value_without_a_form_in_json_is_refused() -> None:
    with pytest.raises(StoreFailed, match="object"):
        event_to_json(e.Embedded(1, (object(),), (), 0))  # type: ignore[arg-type]


def test_request_of_a_chat_client_comes_back_with_its_run() -> None:
    usage = ModelUsage(model="m@h", tokens=Usage(prompt_tokens=7, completion_tokens=3))
    client = ClientRequest(
        instructions="Be brief.",
        message="A letter. What is it?",
        task=ClientTaskKind.TITLE,
        history=(Exchange(question="What?", answer="It.", origins=frozenset({"a"})),),
        notes=("A note.",),
        usage=(usage,),
    )
    start = replace(next(event for event in EVENTS if isinstance(event, e.RunStarted)), client=client)
    assert event_from_json(event_to_json(start)) == start
    run = folded_run(records(start, *EVENTS[1:]))
    assert run.client == client
    assert any("A note." in str(notice) for notice in run.notices)
    assert usage in [used.usage for used in run.model_usage]
    exported = run_to_json(replace(DONE, client=client))
    assert run_from_json(exported).client == client


def test_run_without_a_chat_client_is_read_by_earlier_versions() -> None:
    assert "client" not in json.loads(run_to_json(folded_run(records(*EVENTS))))


def test_vectors_come_back_bit_for_bit_and_read_only() -> None:
    index = next(event.index for event in EVENTS if isinstance(event, e.Indexed))
    again = event_from_json(event_to_json(e.Indexed(index)))
    assert isinstance(again, e.Indexed)
    assert again.index.vectors is not None
    np.testing.assert_array_equal(again.index.vectors, index.vectors)
    assert not again.index.vectors.flags.writeable


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b'{"event": "NoSuch"}',
        b'{"event": "Wrote"}',
        b'{"event": "Wrote", "text": 3}',
        b"\xff",
    ],
)
def test_what_the_writer_could_not_have_written_is_refused(data: bytes) -> None:
    with pytest.raises(StoreFailed):
        event_from_json(data)


def test_exported_run_is_one_json_without_vectors_unless_asked() -> None:
    run = folded_run(records(*until(e.RunDone)))
    plain = json.loads(run_to_json(run))
    assert plain["question"] == "What is overlap?"
    assert plain["replies"][0]["reply"]["backend"] == "searxng"
    assert plain["pages"][0]["article"]["text"].startswith("Alpha")
    assert plain["sources"][0]["number"] == 1
    assert plain["index"]["vectors"] is None
    assert json.loads(run_to_json(run, vectors=True))["index"]["vectors"]["shape"] == [2, 2]
