"""`openquery ask --since`: a stored run's question asked again."""

import json
from pathlib import Path

import pytest

from core.storage.run_schema import RUNS
from core.storage.run_store import RunStore
from tests.services.command_line import openquery

pytestmark = pytest.mark.slow

QUESTION = "How does chunk overlap affect retrieval?"


@pytest.fixture(scope="module")
def folder(shared_warm_folder: Path) -> Path:
    """A data folder, and in it the file of an exported run with settings of its own."""
    run = openquery(
        shared_warm_folder, "ask", QUESTION, "--search", "demo", "-c", "6", "-q", "1", "--json"
    ).out
    (shared_warm_folder / "run.json").write_text(run, "utf-8")
    return shared_warm_folder


def test_question_and_settings_are_of_the_run_and_stored(folder: Path) -> None:
    done = openquery(folder, "ask", "--since", str(folder / "run.json"))
    assert (done.code, done.out) == (0, "Nothing changed.\n")
    new_id = done.err.rpartition(": ")[2].strip()
    store = RunStore(folder / RUNS)
    run = store.load(new_id)
    store.close()
    assert run is not None
    assert (run.question, run.knobs.rank.top_k, run.knobs.search.backend) == (QUESTION, 6, "demo")
    assert run.knobs.read.fresh and not any(page.from_cache for page in run.pages.values())
    again = openquery(folder, "ask", "--since", new_id, "--json")
    assert json.loads(again.out)["before"]["id"] == new_id


def test_flags_replace_settings_of_the_run_and_change_the_answer(folder: Path) -> None:
    done = openquery(folder, "ask", "--since", str(folder / "run.json"), "-c", "1")
    lines = done.out.splitlines()
    assert lines[0] == "Sources"
    assert sum(line.startswith("  - [") for line in lines) == 5
    assert "Answer" in lines


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--since", "no-such-run"], "There is no run no-such-run"),
        (["--since", "x", "--context"], "not allowed with argument --context"),
        ([], "required: question"),
    ],
)
def test_what_cannot_be_asked_again_is_refused(folder: Path, arguments: list[str], says: str) -> None:
    done = openquery(folder, "ask", *arguments)
    assert done.code == 2 and says in done.err


def test_a_file_that_is_no_run_is_refused(folder: Path) -> None:
    (folder / "other.json").write_text("{}")
    done = openquery(folder, "ask", "--since", str(folder / "other.json"))
    assert done.code == 2 and "not a run that OpenQuery exported" in done.err
