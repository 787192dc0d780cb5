"""The method deep: a plan that is approved, sections with shared sources, one report, and no step that is paid twice."""

import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from core import followups
from core.config.knobs import Knobs, PlanKnobs, SearchKnobs
from core.config.run_knobs import Method, RunKnobs
from core.config.settings import Settings
from core.errors import BadInput
from core.pipeline import research
from core.run import events as e
from core.run.codec import run_to_json
from core.run.importer import run_from_json
from core.run.reports.sections import IN_BRIEF, SectionState
from core.run.state import Run, RunStatus
from core.runtime.engine import Engine
from core.runtime.registry import RunRegistry
from core.text.questions import MOST_SUB_QUESTIONS
from tests.features.api.conftest import settings
from tests.runtime.waiting import finished
from tests.services.loopback import Gate, Reply
from tests.services.openai_server import MODEL, FakeOpenAI, failure, streamed

pytestmark = pytest.mark.slow

QUESTION = "How should passages be cut and ranked?"
OVERLAP = "How does chunk overlap affect retrieval?"
HYBRID = "What does BM25 reward that cosine similarity does not?"
DEEP = Knobs(
    run=RunKnobs(method=Method.DEEP), plan=PlanKnobs(queries=1), search=SearchKnobs(backend="demo", results=3)
)


def connected(folder: Path, base_url: str) -> Settings:
    return settings(folder, base_url=base_url, openai_api_key="sk-test", chat_model=MODEL)


@pytest.fixture
async def engine(warm_folder: Path, fake_openai: FakeOpenAI) -> AsyncIterator[Engine]:
    async with Engine(connected(warm_folder, fake_openai.base_url)) as engine:
        yield engine


@pytest.fixture
def runs(warm_folder: Path, fake_openai: FakeOpenAI) -> Iterator[RunRegistry]:
    runs = RunRegistry(connected(warm_folder, fake_openai.base_url))
    yield runs
    runs.close()


async def planned(engine: Engine, model: FakeOpenAI, reply: str, knobs: Knobs = DEEP) -> Run:
    model.chats.append(streamed(reply))
    return await research(QUESTION, knobs, await engine.ports(knobs))


async def reported(engine: Engine, run: Run, *sub_questions: str) -> tuple[Run, list[e.Event]]:
    events: list[e.Event] = []
    ports = await engine.ports(run.knobs, run=run)
    run = await followups.research_plan(
        run, sub_questions, ports, lambda record, _: events.append(record.event)
    )
    return run, events


def states(run: Run) -> list[SectionState]:
    return [section.state for section in run.sections]


# --- the plan ---------------------------------------------------------------------------------------------


async def test_a_plan_waits_for_approval_and_nothing_is_searched(
    engine: Engine, fake_openai: FakeOpenAI
) -> None:
    run = await planned(engine, fake_openai, f"1. {OVERLAP}\n2. {HYBRID}\n3. {OVERLAP}\n")
    assert (run.status, run.live, run.hits, run.answer) == (RunStatus.PLANNED, False, (), None)
    assert run.plan
    assert run.plan.sub_questions == (OVERLAP, HYBRID)
    assert run.plan.author.startswith(MODEL)
    assert run.plan.estimate.tokens > 1000
    assert run.plan.estimate.runs == 0
    again = run_from_json(run_to_json(run))
    assert (again.status, again.plan) == (run.status, run.plan)


async def test_sixty_sub_questions_are_cut_to_twelve_with_a_note(
    engine: Engine, fake_openai: FakeOpenAI
) -> None:
    lines = "\n".join(
        f"{n}. What did the study of year {1900 + n} measure about topic {n * 7}?" for n in range(70)
    )
    run = await planned(engine, fake_openai, lines)
    assert run.plan
    assert len(run.plan.sub_questions) == MOST_SUB_QUESTIONS
    assert any("60 or more sub-questions. The first 12 are kept" in notice.message for notice in run.notices)


@pytest.mark.parametrize(
    "reply", [streamed("Sure! Here is the plan:\n"), failure(400)], ids=["none", "refused"]
)
async def test_without_a_plan_the_question_itself_is_the_plan(
    engine: Engine, fake_openai: FakeOpenAI, reply: Reply
) -> None:
    fake_openai.chats.append(reply)
    run = await research(QUESTION, DEEP, await engine.ports(DEEP))
    assert run.plan
    assert (run.status, run.plan.sub_questions, run.plan.author) == (RunStatus.PLANNED, (QUESTION,), "")
    assert any("The question itself is the plan" in notice.message for notice in run.notices)


async def test_without_a_chat_model_the_method_is_refused(warm_folder: Path) -> None:
    async with Engine(settings(warm_folder)) as engine:
        run = await research(QUESTION, DEEP, await engine.ports(DEEP))
    assert run.error
    assert (run.status, run.error.part) == (RunStatus.FAILED, "connection")
    assert "choose pipeline as the method" in run.error.hint


@pytest.mark.parametrize(
    ("sub_questions", "message"),
    [
        ((), "has no sub-question"),
        (("  ", "\u200b"), "has no sub-question"),
        (("x" * 5000,), "5,000 characters; the limit is 300"),
        ([f"What is topic {n}?" for n in range(60)], "60 sub-questions; the limit is 12"),
    ],
    ids=["none", "blank", "long", "sixty"],
)
async def test_unapprovable_plan_is_refused_and_the_former_stays(
    engine: Engine, fake_openai: FakeOpenAI, sub_questions: Sequence[str], message: str
) -> None:
    run = await planned(engine, fake_openai, OVERLAP)
    with pytest.raises(BadInput, match=message):
        await reported(engine, run, *sub_questions)
    assert run.waits_for_approval


# --- the report -------------------------------------------------------------------------------------------


async def test_report_has_sections_with_shared_sources_and_a_summary(
    engine: Engine, fake_openai: FakeOpenAI
) -> None:
    run = await planned(engine, fake_openai, f"{OVERLAP}\n{HYBRID}")
    fake_openai.chats.extend(
        [
            streamed("## Overlap\n\nOverlap repeats text [1]."),
            streamed("BM25 rewards rare words [7]."),
            streamed("Cut with overlap [1] and fuse [7]."),
        ]
    )
    run, events = await reported(engine, run, OVERLAP, "", HYBRID, HYBRID.upper())
    assert (run.status, states(run)) == (RunStatus.DONE, [SectionState.WRITTEN] * 2)
    assert run.text.startswith(
        f"## {IN_BRIEF}\n\nCut with overlap [1] and fuse [7].\n\n## {OVERLAP}\n\n#### Overlap"
    )
    assert f"## {HYBRID}\n\nBM25 rewards rare words [7]." in run.text
    assert run.answer
    assert run.answer.text == run.text
    assert run.check.cited == (1, 7)
    assert run.earlier_answers == ()
    numbers: dict[str, int] = {}
    for section in run.sections:
        for source in section.sources:
            assert numbers.setdefault(source.passage.id, source.number) == source.number
    assert {source.passage.id: source.number for source in run.sources} == numbers
    assert sorted(numbers.values()) == list(range(1, len(numbers) + 1))
    fetched = [event.key for event in events if isinstance(event, e.FetchStarted)]
    assert len(fetched) == len(set(fetched))
    assert run.index
    assert {passage.place.page for passage in run.index.passages} == set(run.pages)
    assert run.ranking
    assert all(
        run.context_numbers[row] == numbers.get(run.index.passages[row].id, run.context_numbers[row])
        for row in run.ranking.context
    )
    again = run_from_json(run_to_json(run))
    assert (again.sections, again.sources, again.text) == (run.sections, run.sources, run.text)


async def test_a_report_can_be_tuned_and_answered_again(engine: Engine, fake_openai: FakeOpenAI) -> None:
    run, _ = await reported(engine, await planned(engine, fake_openai, OVERLAP), OVERLAP, HYBRID)
    assert run.ranking
    assert run.index
    tuned = replace(run.knobs, rank=replace(run.knobs.rank, top_k=2))
    retuned = await followups.retune(run, tuned, await engine.ports(tuned, run=run))
    assert retuned.ranking
    assert retuned.ranking.context == run.ranking.context[:2]
    again = await followups.answer_again(run, await engine.ports(tuned, run=run), retuned=retuned)
    assert again.earlier_answers[0].answer == run.answer
    by_passage = {source.passage.id: source.number for source in run.sources}
    assert all(source.number == by_passage.get(source.passage.id, source.number) for source in again.sources)


async def test_failed_section_is_noted_in_its_heading_beside_others(
    engine: Engine, fake_openai: FakeOpenAI
) -> None:
    run = await planned(engine, fake_openai, OVERLAP)
    fake_openai.chats.extend(
        [failure(400, "No such thing."), streamed("BM25 [7]."), streamed("In brief [7].")]
    )
    run, _ = await reported(engine, run, OVERLAP, HYBRID)
    assert (run.status, states(run)) == (RunStatus.DONE, [SectionState.LEFT_OUT, SectionState.WRITTEN])
    assert f"## {OVERLAP}\n\n*Not researched: " in run.text
    assert any("1 of 2 sub-questions was not researched" in notice.message for notice in run.notices)
    assert followups.is_unfinished(run)
    fake_openai.chats.extend([streamed("Overlap [1]."), streamed("Both [1][7].")])
    asked = len(fake_openai.chat_requests)
    run = await followups.resume(run, await engine.ports(run.knobs, run=run))
    assert (run.status, states(run)) == (RunStatus.DONE, [SectionState.WRITTEN] * 2)
    assert len(fake_openai.chat_requests) - asked == 2
    assert not any("not researched" in notice.message for notice in run.notices)
    with pytest.raises(BadInput, match="nothing to go on with"):
        await followups.resume(run, await engine.ports(run.knobs, run=run))


async def test_a_run_whose_every_section_fails_has_failed(engine: Engine, fake_openai: FakeOpenAI) -> None:
    run = await planned(engine, fake_openai, OVERLAP)
    fake_openai.chats.extend([failure(400, "No."), failure(400, "No.")])
    run, _ = await reported(engine, run, OVERLAP, HYBRID)
    assert (run.status, states(run)) == (RunStatus.FAILED, [SectionState.LEFT_OUT] * 2)
    assert run.error
    assert run.error.part == "answer"


async def test_a_budget_that_runs_out_leaves_empty_headings(engine: Engine, fake_openai: FakeOpenAI) -> None:
    knobs = replace(DEEP, run=replace(DEEP.run, token_budget=20_000))
    run = await planned(engine, fake_openai, OVERLAP, knobs)
    fake_openai.chats.append(streamed("Overlap repeats text [1].", usage=(17_000, 100)))
    run, _ = await reported(engine, run, OVERLAP, HYBRID)
    assert (run.status, states(run)) == (RunStatus.DONE, [SectionState.WRITTEN, SectionState.LEFT_OUT])
    reason = "17,117 of 20,000 tokens are used, and the rest is kept for the answer."
    assert f"## {HYBRID}\n\n*Not researched: {reason}*" in run.text
    assert run.text.startswith(f"## {IN_BRIEF}")
    assert any(reason.rstrip(".") in notice.message for notice in run.notices)


# --- the registry -----------------------------------------------------------------------------------------


def once(runs: RunRegistry, run_id: str, condition: Callable[[Run], bool]) -> Run:
    """The run once this holds for it."""
    ends = time.monotonic() + 120
    while (run := runs.get(run_id)) is None or not condition(run):
        assert time.monotonic() < ends, "it never happened"
        time.sleep(0.01)
    return run


def is_reported(run: Run) -> bool:
    return not run.live and not run.waits_for_approval and not followups.is_unfinished(run)


def approved(runs: RunRegistry, model: FakeOpenAI, *sub_questions: str) -> str:
    """A run whose plan has just been approved."""
    model.chats.appendleft(streamed(OVERLAP))
    run_id = runs.start(QUESTION, DEEP)
    assert finished(runs, run_id).status is RunStatus.PLANNED
    runs.approve_plan(run_id, sub_questions)
    return run_id


def test_a_plan_survives_a_restart_and_is_approved_once(warm_folder: Path, fake_openai: FakeOpenAI) -> None:
    runs = RunRegistry(connected(warm_folder, fake_openai.base_url))
    fake_openai.chats.append(streamed(f"{OVERLAP}\n{HYBRID}"))
    run_id = runs.start(QUESTION, DEEP)
    plan = finished(runs, run_id).plan
    runs.close()
    later = RunRegistry(connected(warm_folder, fake_openai.base_url))
    run = later.get(run_id)
    assert run
    assert (run.status, run.plan) == (RunStatus.PLANNED, plan)
    assert [summary.status for summary in later.history()] == [RunStatus.PLANNED]
    gate = Gate()
    fake_openai.chats.extend([streamed(gate, "Overlap [1]."), streamed("In brief [1].")])
    later.approve_plan(run_id, [OVERLAP])
    gate.wait_reached()
    for tab in ([OVERLAP], [HYBRID]):
        with pytest.raises(BadInput, match="approved"):
            later.approve_plan(run_id, tab)
    gate.open()
    assert [section.question for section in once(later, run_id, is_reported).sections] == [OVERLAP]
    with pytest.raises(BadInput, match="approved before"):
        later.approve_plan(run_id, [OVERLAP])
    with pytest.raises(BadInput, match="nothing to go on with"):
        later.resume(run_id)
    later.close()


def test_a_stopped_report_keeps_its_sections_and_goes_on(runs: RunRegistry, fake_openai: FakeOpenAI) -> None:
    gate = Gate()
    fake_openai.chats.extend([streamed("Overlap repeats text [1]."), streamed("BM25 ", gate, "rewards [1].")])
    run_id = approved(runs, fake_openai, OVERLAP, HYBRID)
    once(runs, run_id, lambda run: run.text.endswith("BM25 "))
    runs.stop(run_id)
    run = once(runs, run_id, lambda run: not run.live)
    assert (run.status, states(run)) == (RunStatus.STOPPED, [SectionState.WRITTEN, SectionState.RESEARCHING])
    assert run.answer
    assert not run.answer.complete
    assert run.text == f"## {OVERLAP}\n\nOverlap repeats text [1].\n\n## {HYBRID}\n\nBM25 "
    fake_openai.chats.extend([streamed("BM25 rewards rare words [1]."), streamed("In brief [1].")])
    runs.resume(run_id)
    run = once(runs, run_id, is_reported)
    assert (run.status, states(run)) == (RunStatus.DONE, [SectionState.WRITTEN] * 2)
    assert run.text.startswith(f"## {IN_BRIEF}\n\nIn brief [1].")
    assert "Overlap repeats text [1]." in run.text


def test_a_killed_process_pays_no_section_twice(warm_folder: Path, fake_openai: FakeOpenAI) -> None:
    gate = Gate()
    written = "Overlap repeats text [1]."
    fake_openai.chats.extend([streamed(OVERLAP), streamed(written), streamed("BM25 ", gate, "rewards [1].")])
    command = [sys.executable, "-m", "tests.methods.research_until_killed", str(warm_folder)]
    with subprocess.Popen(
        [*command, fake_openai.base_url, OVERLAP, HYBRID], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        run_id = process.stdout.readline().decode().strip()
        stored = RunRegistry(connected(warm_folder, fake_openai.base_url))
        try:
            # Pages that are not on disk are fetched again.
            once(stored, run_id, lambda run: run.text.endswith("BM25 "))
        finally:
            process.kill()
            stored.close()
    runs = RunRegistry(connected(warm_folder, fake_openai.base_url))
    run = runs.get(run_id)
    assert run
    assert (run.status, states(run)) == (
        RunStatus.INTERRUPTED,
        [SectionState.WRITTEN, SectionState.RESEARCHING],
    )
    asked = len(fake_openai.chat_requests)
    fake_openai.chats.extend([streamed("BM25 rewards rare words [1]."), streamed("Both [1].")])
    runs.resume(run_id)
    run = once(runs, run_id, is_reported)
    assert (run.status, states(run)) == (RunStatus.DONE, [SectionState.WRITTEN] * 2)
    assert len(fake_openai.chat_requests) - asked == 2
    assert f"## {OVERLAP}\n\n{written}" in run.text
    assert len(run.fetching) == len(set(run.fetching))
    runs.close()
