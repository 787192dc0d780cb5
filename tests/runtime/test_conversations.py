"""Follow-up questions before they are asked: what they mean, what they are answered from, and what that took."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.config.access import Access
from core.config.knobs import Knobs
from core.config.settings import Settings
from core.errors import BadInput, LimitReached
from core.model import AnswerFrom, Author, Exchange
from core.run.conversation import recent_turns
from core.run.state import Run, RunStatus
from core.runtime.registry import RunRegistry
from tests.runtime.waiting import finished
from tests.services.openai_server import FakeOpenAI, failure, streamed

pytestmark = pytest.mark.slow

QUESTION = "How does chunk overlap affect retrieval?"
WRITTEN = "And how large should it be?"
STANDALONE = "How large should the overlap of chunks be?"
DEMO = Knobs.parse({"search": {"backend": "demo", "results": 3}, "plan": {"queries": 1}})


@pytest.fixture
def settings(warm_folder: Path, fake_openai: FakeOpenAI) -> Settings:
    return Settings(
        data=warm_folder, ollama_url="", base_url=fake_openai.base_url, chat_model="fake-chat", workers=1
    )


@pytest.fixture
def runs(settings: Settings) -> Iterator[RunRegistry]:
    runs = RunRegistry(settings)
    yield runs
    runs.close()


def asked(runs: RunRegistry, fake_openai: FakeOpenAI, answer: str = "Overlap helps [1].") -> Run:
    fake_openai.chats.append(streamed(answer))
    run = finished(runs, runs.start(QUESTION, DEMO))
    assert run.status is RunStatus.DONE
    return run


def test_follow_up_is_rewritten_and_answered_from_fetched_pages(
    runs: RunRegistry, fake_openai: FakeOpenAI
) -> None:
    first = asked(runs, fake_openai)
    fake_openai.chats.append(streamed(STANDALONE, usage=(70, 8)))
    draft = runs.conversations.draft(first.id, WRITTEN).result(60)
    assert (draft.question, draft.turn.written) == (STANDALONE, WRITTEN)
    assert draft.turn.author.startswith("fake-chat")
    assert draft.coverage and draft.coverage.enough and draft.turn.answer_from is AnswerFrom.PAGES
    fake_openai.chats.append(streamed("A tenth [1].", usage=(100, 5)))
    run = finished(runs, runs.start(draft.question, DEMO, turn=draft.turn))
    assert (run.question, run.written, run.conversation) == (STANDALONE, WRITTEN, first.id)
    assert {query.author for query in run.queries} == {Author.CONVERSATION}
    assert run.usage and run.usage.prompt_tokens == 170, "what rewrote the question counts in its run"
    stored = runs.store.load(run.id)
    assert stored and (stored.turn, stored.usage) == (run.turn, run.usage)


def test_uncovered_follow_up_is_searched_unless_decided_otherwise(
    runs: RunRegistry, fake_openai: FakeOpenAI
) -> None:
    first = asked(runs, fake_openai)
    fake_openai.chats.append(streamed("Who discovered the moons of Jupiter?"))
    draft = runs.conversations.draft(first.id, "Who discovered those?").result(60)
    assert draft.coverage and not draft.coverage.enough and draft.turn.answer_from is AnswerFrom.BOTH
    assert draft.changed(answer_from=AnswerFrom.PAGES).turn.answer_from is AnswerFrom.PAGES
    own = draft.changed(question="When were the moons of Jupiter discovered?")
    assert (own.turn.author, own.turn.coverage, own.coverage) == ("", None, None)


def test_fallback_of_a_rewrite_is_a_notice_of_the_run(runs: RunRegistry, fake_openai: FakeOpenAI) -> None:
    first = asked(runs, fake_openai)
    fake_openai.chats.append(failure(400))
    draft = runs.conversations.draft(first.id, WRITTEN).result(60)
    assert "overlap" in draft.question and draft.turn.author == ""
    run = finished(runs, runs.start(draft.question, DEMO, turn=draft.turn))
    assert any("could not be rewritten" in notice.message for notice in run.notices)


def test_rewrite_counts_once_against_the_quota_of_its_person(
    settings: Settings, fake_openai: FakeOpenAI
) -> None:
    runs = RunRegistry(settings.model_copy(update={"tokens_per_day": 1000}))
    try:
        first = asked(runs, fake_openai)
        fake_openai.chats.append(streamed(STANDALONE, usage=(890, 10)))
        draft = runs.conversations.draft(first.id, WRITTEN, access=Access(quota_subject="anna")).result(60)
        fake_openai.chats.append(streamed("A tenth [1].", usage=(45, 5)))
        finished(runs, runs.start(draft.question, DEMO, turn=draft.turn, access=Access(quota_subject="anna")))
        fake_openai.chats.append(streamed(STANDALONE, usage=(45, 5)))
        runs.conversations.draft(first.id, WRITTEN, access=Access(quota_subject="anna")).result(60)
        with pytest.raises(LimitReached):
            runs.conversations.draft(first.id, WRITTEN, access=Access(quota_subject="anna"))
    finally:
        runs.close()


def test_what_cannot_be_followed_says_what_to_do(runs: RunRegistry, fake_openai: FakeOpenAI) -> None:
    first = asked(runs, fake_openai)
    with pytest.raises(BadInput, match="empty"):
        runs.conversations.draft(first.id, " ")
    with pytest.raises(BadInput, match=r"1,000"):
        runs.conversations.draft(first.id, "x" * 5000)
    runs.delete(first.id)
    with pytest.raises(BadInput, match="was deleted"):
        runs.conversations.draft(first.id, WRITTEN)


def test_answers_from_private_pages_reach_no_hosted_model(
    settings: Settings, fake_openai: FakeOpenAI
) -> None:
    update = {"private_pages": True, "own_hosts": "models.example"}
    runs = RunRegistry(settings.model_copy(update=update))
    try:
        first = finished(runs, runs.start(QUESTION, DEMO))
        assert first.text and not fake_openai.chat_requests
        fake_openai.chats.append(streamed(STANDALONE))
        draft = runs.conversations.draft(first.id, WRITTEN).result(60)
        assert draft.question == STANDALONE
        prompt = fake_openai.chat_requests[-1].body.decode()
        assert QUESTION in prompt and first.text[:40] not in prompt
    finally:
        runs.close()


def test_questions_that_were_asked_elsewhere_are_history_without_pages(
    runs: RunRegistry, fake_openai: FakeOpenAI
) -> None:
    fake_openai.chats.append(streamed(STANDALONE))
    exchange = Exchange(question=QUESTION, answer="It helps.")
    draft = runs.conversations.draft_after([exchange], WRITTEN, DEMO).result(60)
    assert (draft.question, draft.turn.answer_from) == (STANDALONE, AnswerFrom.SEARCH)
    run = finished(runs, runs.start(draft.question, DEMO, turn=draft.turn))
    assert run.status is RunStatus.DONE
    assert (run.conversation, run.written) == (run.id, WRITTEN)


def test_long_conversation_loads_only_the_turns_it_needs(runs: RunRegistry, fake_openai: FakeOpenAI) -> None:
    run = asked(runs, fake_openai, "Overlap helps. " * 100)
    for _ in range(12):
        fake_openai.chats.extend([streamed(STANDALONE), streamed("It is a tenth [1]. " * 100)])
        draft = runs.conversations.draft(run.id, WRITTEN).result(60)
        run = finished(runs, runs.start(draft.question, DEMO, turn=draft.turn))
    loaded: list[str] = []

    def get(run_id: str) -> Run | None:
        loaded.append(run_id)
        return runs.get(run_id)

    turns = recent_turns(run, get, 5000)
    assert len(turns) == 3 and len(loaded) == 2
    draft = runs.conversations.draft(run.id, WRITTEN).result(60)
    assert any("earlier questions left out" in note for note in draft.turn.notes)
