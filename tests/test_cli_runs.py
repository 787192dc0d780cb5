"""`openquery runs`, and the history that every command shares with the pages."""

import json
from pathlib import Path

import pytest

from core.storage.run_schema import RUNS
from core.storage.run_store import RunStore
from tests.services.command_line import Done, openquery

pytestmark = pytest.mark.slow

QUESTION = "How does chunk overlap affect retrieval?"
DEMO = ("--search", "demo", "-q", "1")


@pytest.fixture(scope="module")
def folder(shared_warm_folder: Path) -> Path:
    return shared_warm_folder


@pytest.fixture(scope="module")
def asked(folder: Path) -> Done:
    """A question on the command line."""
    return openquery(folder, "ask", QUESTION, *DEMO)


@pytest.fixture
def run_id(asked: Done) -> str:
    """The id that the last line names."""
    assert asked.code == 0, asked.err
    said, _, run_id = asked.err.splitlines()[-1].rpartition(": ")
    assert said == "The run is in the history"
    return run_id


def test_a_question_is_stored_with_its_events(folder: Path, run_id: str) -> None:
    store = RunStore(folder / RUNS)
    recorded = store.recorded(run_id)
    store.close()
    assert recorded is not None
    assert recorded.base is None
    assert {type(record.event).__name__ for record in recorded.records} > {
        "RunStarted",
        "PageRead",
        "RunDone",
    }


def test_id_printed_by_ask_is_known_to_other_commands(folder: Path, run_id: str) -> None:
    replayed = openquery(folder, "replay", run_id, "--speed", "1000")
    assert "[1]" in replayed.out
    followed = openquery(folder, "ask", "and what does it cost?", "--follow", run_id, "--json")
    turn = json.loads(followed.out)["turn"]
    assert turn["follows"] == run_id
    since = openquery(folder, "ask", "--since", run_id, "--json")
    assert json.loads(since.out)["before"]["id"] == run_id
    for done in (followed, since):
        stored = done.err.splitlines()[-1].rpartition(": ")[2]
        assert f'"id": "{stored}"' in openquery(folder, "runs", "--json").out.replace('"id":"', '"id": "')


def test_no_store_keeps_nothing(warm_folder: Path) -> None:
    done = openquery(warm_folder, "ask", QUESTION, *DEMO, "--no-store")
    assert done.code == 0
    assert "in the history" not in done.err
    assert not (warm_folder / RUNS).exists()


def test_runs_are_listed_by_the_filters_of_the_page(folder: Path, run_id: str) -> None:
    line = openquery(folder, "runs", "--words", "OVERLAP chunk", "--status", "done").out
    assert run_id in line and QUESTION in line
    assert openquery(folder, "runs", "--words", "kettle").err == "No run matches.\n"
    store = RunStore(folder / RUNS)
    store.tag([run_id], "Draft")
    store.close()
    (tagged,) = map(json.loads, openquery(folder, "runs", "--tag", "Draft", "--json").out.splitlines())
    assert (tagged["id"], tagged["tags"], tagged["status"]) == (run_id, ["Draft"], "done")


def test_a_run_is_shown_as_ask_printed_it(folder: Path, asked: Done, run_id: str) -> None:
    shown = openquery(folder, "runs", "show", run_id)
    assert asked.out.strip() in shown.out
    assert json.loads(openquery(folder, "runs", "show", run_id, "--json").out)["id"] == run_id


def test_deleted_run_is_gone_and_unknown_ids_delete_nothing(warm_folder: Path) -> None:
    first = openquery(warm_folder, "ask", QUESTION, *DEMO).err.splitlines()[-1].rpartition(": ")[2]
    refused = openquery(warm_folder, "runs", "delete", first, "nobody")
    assert (refused.code, "There is no run nobody" in refused.err) == (2, True)
    assert first in openquery(warm_folder, "runs").out
    assert openquery(warm_folder, "runs", "delete", first).code == 0
    assert openquery(warm_folder, "runs").err == "No runs yet.\n"


@pytest.mark.parametrize("arguments", [["show"], ["list", "abc"], ["--limit", "0"], ["show", "\u202eabc"]])
def test_wrong_arguments_say_what_to_do(folder: Path, arguments: list[str]) -> None:
    refused = openquery(folder, "runs", *arguments)
    assert refused.code == 2
    assert refused.err.count("\n") == 1
    assert "\u202e" not in refused.err
