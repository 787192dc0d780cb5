"""Nobody gets more than the operator allows, and everybody is told when there is more."""

import time
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from core.config.access import Access
from core.config.knobs import ChunkKnobs, Knobs, PlanKnobs, ReadKnobs, SearchKnobs
from core.config.settings import Settings
from core.errors import LimitReached
from core.model import ModelUsage, Phase, Usage
from core.run.events import ModelUsed
from core.run.state import RunStatus
from core.runtime.quotas import DAY, HOUR, Quotas
from core.runtime.registry import RunRegistry
from tests.faults.world import Site
from tests.runtime.waiting import finished
from tests.services.loopback import Gate, Reply
from tests.services.openai_server import EMBEDDER, MODEL, FakeOpenAI, streamed

pytestmark = pytest.mark.slow

DEMO = Knobs(search=SearchKnobs(backend="demo", results=2), plan=PlanKnobs(queries=1))


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def used(tokens: int, model: str = "m@h", cost: float | None = None) -> ModelUsed:
    usage = Usage(prompt_tokens=tokens, cost=cost)
    return ModelUsed(Phase.ANSWER, ModelUsage(model=model, tokens=usage))


def test_question_beyond_the_quota_is_refused_for_an_hour() -> None:
    clock = Clock()
    limits = Quotas(runs_per_hour=2, clock=clock)
    limits.charge_run("anna")
    clock.now += 600
    limits.charge_run("anna")
    with pytest.raises(LimitReached) as caught:
        limits.charge_run("anna")
    assert "2 questions" in caught.value.message
    assert caught.value.hint == "Ask again in 50 minutes."
    assert caught.value.seconds == HOUR - 600
    limits.charge_run("berta")
    clock.now += caught.value.seconds
    limits.charge_run("anna")


def test_a_refused_question_does_not_count() -> None:
    clock = Clock()
    limits = Quotas(runs_per_hour=1, clock=clock)
    limits.charge_run("anna")
    for _ in range(5):
        with pytest.raises(LimitReached):
            limits.charge_run("anna")
    clock.now += HOUR
    limits.charge_run("anna")


def test_used_tokens_come_back_after_a_day() -> None:
    clock = Clock()
    limits = Quotas(tokens_per_day=1000, clock=clock)
    limits.charge("anna", used(600))
    limits.require_budget("anna")
    clock.now += 3600
    limits.charge("anna", used(600))
    for refused in (limits.charge_run, limits.require_budget):
        with pytest.raises(LimitReached) as caught:
            refused("anna")
        assert "1,200 tokens" in caught.value.message
        assert "23 hours" in caught.value.hint
        assert caught.value.seconds == DAY - 3600
    clock.now += caught.value.seconds
    limits.charge_run("anna")


def test_dollars_are_stated_by_the_provider_or_price_table() -> None:
    clock = Clock()
    limits = Quotas(dollars_per_day=2, clock=clock)
    limits.charge("anna", used(1000, "gpt-4o-mini@api.openai.com"))
    limits.charge("anna", used(1000, "unheard-of@api.openai.com"))
    clock.now += 3600
    limits.require_budget("anna")
    limits.charge("anna", used(1000, "gpt-4o-mini@api.openai.com", cost=2.5))
    assert limits.spent("anna").tokens == 3000
    assert limits.spent("anna").dollars == pytest.approx(0.00015 + 2.5)
    assert limits.spent("berta") == (0, 0)
    with pytest.raises(LimitReached) as caught:
        limits.charge_run("anna")
    assert "$2.50" in caught.value.message and "$2.00" in caught.value.message
    assert caught.value.seconds == DAY


def test_without_limits_everything_goes() -> None:
    limits = Quotas()
    for _ in range(500):
        limits.charge_run("anna")
        limits.charge("anna", used(1_000_000))


def test_runs_count_by_person_and_a_refused_one_does_not(warm_folder: Path) -> None:
    runs = RunRegistry(Settings(data=warm_folder, ollama_url="", workers=1, runs_per_hour=1))
    try:
        finished(runs, runs.start("What does BM25 reward?", DEMO, access=Access(quota_subject="anna")))
        with pytest.raises(LimitReached):
            runs.start("What does BM25 reward?", DEMO, access=Access(quota_subject="anna"))
        assert len(runs.history()) == 1
        finished(runs, runs.start("What does BM25 reward?", DEMO, access=Access(quota_subject="berta")))
    finally:
        runs.close()


@pytest.mark.parametrize(("usage", "at_least"), [((900, 200), 1100), (None, 100)])
def test_tokens_of_answers_are_charged_to_their_person(
    usage: tuple[int, int] | None, at_least: int, warm_folder: Path, fake_openai: FakeOpenAI
) -> None:
    fake_openai.chats.extend(streamed("It rewards rare words [1].", usage=usage) for _ in range(2))
    access = Access(base_url=fake_openai.base_url, api_key=SecretStr("sk-test"), chat_model=MODEL)
    runs = RunRegistry(Settings(data=warm_folder, ollama_url="", workers=1, tokens_per_day=at_least))
    try:
        run_id = runs.start("What does BM25 reward?", DEMO, replace(access, quota_subject="anna"))
        finished(runs, run_id)
        with pytest.raises(LimitReached):
            runs.answer_again(run_id, access=replace(access, quota_subject="anna"))
        with pytest.raises(LimitReached):
            runs.start("What does BM25 reward?", DEMO, replace(access, quota_subject="anna"))
        runs.start("What does BM25 reward?", DEMO, replace(access, quota_subject="berta"))
    finally:
        runs.close()


def test_person_who_answers_again_is_charged_not_who_asked(
    warm_folder: Path, fake_openai: FakeOpenAI
) -> None:
    fake_openai.chats.extend(streamed("It rewards rare words [1].", usage=(900, 200)) for _ in range(2))
    access = Access(base_url=fake_openai.base_url, api_key=SecretStr("sk-test"), chat_model=MODEL)
    runs = RunRegistry(Settings(data=warm_folder, ollama_url="", workers=1, tokens_per_day=1100))
    try:
        run_id = runs.start("What does BM25 reward?", DEMO, access)
        finished(runs, run_id)
        runs.answer_again(run_id, access=replace(access, quota_subject="berta"))
        while not finished(runs, run_id).earlier_answers:
            time.sleep(0.01)
        with pytest.raises(LimitReached):
            runs.answer_again(run_id, access=replace(access, quota_subject="berta"))
        assert len(finished(runs, run_id).earlier_answers) == 1
        runs.quotas.require_budget("anna")
    finally:
        runs.close()


def test_stopped_work_is_charged_only_for_what_it_wrote(warm_folder: Path, fake_openai: FakeOpenAI) -> None:
    gates = Gate(), Gate()
    fake_openai.chats.append(streamed("They boil water [1].", usage=(900, 200)))
    fake_openai.chats.append(streamed("They boil ", gates[1], "water [1]."))
    access = Access(base_url=fake_openai.base_url, api_key=SecretStr("sk-test"), chat_model=MODEL)
    knobs = replace(DEMO, search=SearchKnobs(backend="searxng"), read=ReadKnobs(robots=False))
    with Site() as site:
        settings = Settings(
            data=warm_folder,
            ollama_url="",
            workers=1,
            tokens_per_day=1101,
            searxng_url=site.url,
            fetch_allowlist=f"127.0.0.1:{site.port}",
        )
        runs = RunRegistry(settings)
        try:
            run_id = runs.start("What do kettles do?", knobs, access)
            assert finished(runs, run_id).answer is not None
            site.searches.append(Reply((gates[0],)))
            runs.search_more(run_id, "boiling water", access)
            gates[0].wait_reached()
            runs.stop(run_id)
            assert finished(runs, run_id).status is RunStatus.DONE, "the run is what it was"
            runs.quotas.require_budget("")
            runs.answer_again(run_id, access=access)
            gates[1].wait_reached()
            runs.stop(run_id)
            assert finished(runs, run_id).answer is not None, "the part that came, or the answer before it"
            with pytest.raises(LimitReached):
                runs.quotas.require_budget("")
        finally:
            for gate in gates:
                gate.open()
            runs.close()


def test_every_model_of_a_question_counts_for_run_and_person(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    fake_openai.chats.append(
        streamed("bm25 rare words\n", "bm25 term frequency", usage=(120, 30), cost=0.001)
    )
    fake_openai.chats.append(streamed("It rewards rare words [1].", usage=(400, 100), cost=0.01))
    access = Access(base_url=fake_openai.base_url, api_key=SecretStr("sk-test"), chat_model=MODEL)
    settings = Settings(data=tmp_path, ollama_url="", workers=1, tokens_per_day=651, embedding_model=EMBEDDER)
    runs = RunRegistry(settings)
    try:
        run_id = runs.start(
            "What does BM25 reward?",
            replace(DEMO, plan=PlanKnobs(queries=2)),
            replace(access, quota_subject="anna"),
        )
        run = finished(runs, run_id)
        told = {one.phase: one.usage.tokens.total_tokens for one in run.model_usage}
        embedded = sum(
            len(text.split()) for request in fake_openai.embedding_requests for text in request.json["input"]
        )
        assert told == {Phase.PLAN: 150, Phase.EMBED: embedded, Phase.ANSWER: 500}
        assert run.usage is not None and run.usage.cost == pytest.approx(0.011)
        assert run.usage.total_tokens == 650 + embedded
        stored = runs.store.load(run_id)
        assert stored is not None and stored.model_usage == run.model_usage
        with pytest.raises(LimitReached, match=f"{650 + embedded:,} tokens"):
            runs.quotas.require_budget("anna")
        runs.quotas.require_budget("berta")
        smaller = replace(run.knobs, chunk=ChunkKnobs(size=300))
        job = runs.retuning.start("a session", run_id, smaller, replace(access, quota_subject="berta"))
        assert job is not None
        job.wait(60)
        with pytest.raises(LimitReached):
            runs.quotas.require_budget("berta")
    finally:
        runs.close()


def test_work_reserves_at_its_start_and_settles_at_its_end() -> None:
    limits = Quotas(tokens_per_day=2500)
    with limits.work("anna") as first:
        with pytest.raises(LimitReached, match="under way"), limits.work("anna"):
            pass
        with limits.work("berta"):
            first.charge(used(1000))
    begun = []
    for _ in range(20):
        work = limits.work("anna")
        try:
            begun.append(work.__enter__())
        except LimitReached:
            continue
    assert [work.reserved.tokens for work in begun] == [1000, 500], (
        "what the work before took, and what is left"
    )
    for work in begun:
        work.charge(used(1000))
        work.__exit__()
    with pytest.raises(LimitReached, match="3,000 tokens"), limits.work("anna"):
        pass


def test_work_that_fails_leaves_nothing_reserved() -> None:
    limits = Quotas(dollars_per_day=1)
    for _ in range(30):
        with pytest.raises(ZeroDivisionError), limits.work("anna", expected_tokens=60_000):
            raise ZeroDivisionError
    with limits.work("anna") as work:
        assert work.reserved.dollars == 0.1


def test_twenty_concurrent_questions_stay_within_the_limit(
    warm_folder: Path, fake_openai: FakeOpenAI
) -> None:
    fake_openai.chats.extend(streamed("It rewards rare words [1].", usage=(900, 100)) for _ in range(20))
    access = Access(base_url=fake_openai.base_url, api_key=SecretStr("sk-test"), chat_model=MODEL)
    settings = Settings(data=warm_folder, ollama_url="", workers=1, tokens_per_day=2500, runs_at_once=4)
    runs = RunRegistry(settings)
    try:
        asked = [runs.start("What does BM25 reward?", DEMO, access) for _ in range(20)]
        ended = [finished(runs, run_id) for run_id in asked]
        assert runs.quotas.spent("").tokens <= 3000, "the last one may exceed the limit"
        refused = [run.error for run in ended if run.status is RunStatus.FAILED]
        assert len(refused) >= 17
        assert all(error and "limit" in error.message and error.hint for error in refused)
    finally:
        runs.close()
