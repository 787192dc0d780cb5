"""Sources are quoted in place of an answer that a chat model does not write."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.analysis.run_activity import can_quote, quoted_instead, writes_answer
from core.config.access import Access
from core.config.knobs import Knobs
from core.config.settings import Settings
from core.errors import BadInput
from core.model import AnswerKind
from core.run.state import RunStatus
from core.runtime.registry import RunRegistry
from tests.runtime.waiting import finished, until
from tests.services.loopback import Gate
from tests.services.openai_server import MODEL, FakeOpenAI, failure, streamed

pytestmark = pytest.mark.slow

QUESTION = "How does chunk overlap affect retrieval?"
KNOBS = Knobs.parse({"search": {"backend": "demo"}, "plan": {"queries": 1}})


@pytest.fixture
def runs(warm_folder: Path) -> Iterator[RunRegistry]:
    runs = RunRegistry(Settings(data=warm_folder, ollama_url=""))
    yield runs
    runs.close()


@pytest.mark.parametrize("words", [(), ("Overlap is",)])
def test_silent_model_gives_way_to_quotations(
    runs: RunRegistry, fake_openai: FakeOpenAI, words: tuple[str, ...]
) -> None:
    fake_openai.chats.append(streamed(*words, Gate(), " the rest."))
    run_id = runs.start(QUESTION, KNOBS, Access(base_url=fake_openai.base_url, chat_model=MODEL))
    until(lambda: (run := runs.get(run_id)) and writes_answer(run) and run.text == "".join(words))
    runs.quote(run_id)
    run = finished(runs, run_id)
    assert run.status is RunStatus.DONE
    assert run.answer is not None and run.answer.kind is AnswerKind.EXTRACTIVE
    assert "Overlap is the" not in run.text
    assert quoted_instead(run)
    assert not can_quote(run)


def test_failed_model_gives_way_to_quotations_and_writes_again(
    runs: RunRegistry, fake_openai: FakeOpenAI
) -> None:
    fake_openai.chats.extend([failure(401), streamed("Overlap lifts recall [1].")])
    access = Access(base_url=fake_openai.base_url, chat_model=MODEL)
    failed = finished(runs, runs.start(QUESTION, KNOBS, access))
    assert failed.status is RunStatus.FAILED
    assert can_quote(failed)
    runs.quote(failed.id, access)
    until(lambda: runs.get(failed.id) is not failed)
    quoted = finished(runs, failed.id)
    assert quoted.answer is not None and quoted.answer.kind is AnswerKind.EXTRACTIVE
    assert quoted_instead(quoted)
    assert len(fake_openai.chat_requests) == 1, "no model is asked for quotations"
    until(lambda: not runs.is_filling(failed.id))
    runs.answer_again(failed.id, None, access)
    until(lambda: runs.get(failed.id) is not quoted)
    written = finished(runs, failed.id)
    assert written.text == "Overlap lifts recall [1]."
    assert not quoted_instead(written), "the note was of the answer before"


def test_run_before_its_answer_has_nothing_to_quote(runs: RunRegistry, fake_openai: FakeOpenAI) -> None:
    gate = Gate()
    fake_openai.chats.append(streamed(gate, "chunk overlap"))
    planning = Knobs.parse({"search": {"backend": "demo"}, "plan": {"queries": 2}})
    run_id = runs.start(QUESTION, planning, Access(base_url=fake_openai.base_url, chat_model=MODEL))
    until(lambda: fake_openai.chat_requests)
    with pytest.raises(BadInput, match="under way"):
        runs.quote(run_id)
    runs.stop(run_id)
