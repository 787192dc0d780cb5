"""`openquery ask --follow` and `openquery chat`: conversations in the terminal."""

import io
import re
from pathlib import Path

import pytest

from core.run.state import Run
from core.storage.run_schema import RUNS
from core.storage.run_store import RunStore
from tests.services.command_line import Done, openquery
from tests.services.openai_server import FakeOpenAI, streamed

pytestmark = pytest.mark.slow

QUESTION = "How does chunk overlap affect retrieval?"
WRITTEN = "And how large should it be?"
STANDALONE = "How large should the overlap of chunks be?"


@pytest.fixture(scope="module")
def folder(shared_warm_folder: Path) -> Path:
    """A data folder, and in it the file of an exported run."""
    run = openquery(
        shared_warm_folder, "ask", QUESTION, "--search", "demo", "-q", "1", "-c", "4", "--json"
    ).out
    (shared_warm_folder / "run.json").write_text(run, "utf-8")
    return shared_warm_folder


def stored(folder: Path, done: Done) -> Run:
    """The run that the last line on stderr names."""
    store = RunStore(folder / RUNS)
    run = store.load(done.err.rpartition(": ")[2].strip())
    store.close()
    assert run is not None
    return run


def test_follow_up_is_answered_from_its_run_and_continued(folder: Path, fake_openai: FakeOpenAI) -> None:
    model = ("--base-url", fake_openai.base_url, "--model", "fake-chat")
    fake_openai.chats.extend([streamed(STANDALONE), streamed("A tenth [3].")])
    done = openquery(folder, "ask", "--follow", str(folder / "run.json"), *model, WRITTEN)
    assert done.code == 0 and done.out.startswith("A tenth [3].\n\nSources\n")
    assert "*[3]" in done.out, "a source of the first answer keeps its number"
    said = rf"Understood as “{re.escape(STANDALONE)}”: from the pages in hand, coverage 0\.\d\d\."
    assert re.search(said, done.err)
    run = stored(folder, done)
    assert (run.written, run.knobs.rank.top_k) == (WRITTEN, 4), "under the settings of the run"
    assert not run.fetching
    fake_openai.chats.extend([streamed("Who discovered Jupiter's moons?"), streamed("Galileo [1].")])
    done = openquery(
        folder, "ask", "--follow", run.id, "--answer-from", "search", *model, "And who found its moons?"
    )
    assert "searched again" in done.err
    third = stored(folder, done)
    assert third.turn and (third.turn.number, third.turn.follows) == (3, run.id)


def test_conversation_goes_on_after_a_line_that_cannot_be_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = f"{QUESTION}\n{'x' * 2000}\nWhat about its cost?\n\nnever asked\n"
    monkeypatch.setattr("sys.stdin", stdin := io.StringIO(lines))
    done = openquery(folder, "chat", "--search", "demo", "-q", "1")
    assert done.code == 0
    assert done.out.count("\nSources\n") == 2
    assert "the limit is 1,000" in done.err
    run = stored(folder, done)
    assert run.turn and (run.turn.number, run.turn.written) == (2, "What about its cost?")
    assert "overlap" in run.question and "No chat model is connected" in done.err
    assert stdin.read() == "never asked\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ask", "--follow", "no-such-run", WRITTEN], "There is no run no-such-run"),
        (["ask", "--follow", "x", "--context", WRITTEN], "not allowed with argument --context"),
        (["ask", "--follow", "x", "--since", "x"], "not allowed with argument --follow"),
        (["ask", "--follow", "x"], "required: question"),
        (["ask", "--answer-from", "pages", WRITTEN], "needs --follow"),
        (["chat", "--follow", "no-such-run"], "There is no run no-such-run"),
    ],
)
def test_what_cannot_be_followed_is_refused(folder: Path, arguments: list[str], says: str) -> None:
    done = openquery(folder, *arguments)
    assert done.code == 2 and says in done.err
