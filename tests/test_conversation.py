"""A question after another one: the pages in hand, new ones or both, and source numbers that stay."""

import pytest

from core.config.knobs import Knobs, SearchKnobs
from core.errors import BadInput
from core.model import AnswerFrom, Author
from core.pipeline import research
from core.run import events as e
from core.run.codec import run_to_json
from core.run.conversation import next_turn, turns_up_to
from core.run.importer import run_from_json
from core.run.state import Run, RunStatus
from core.runtime.engine import Engine
from core.runtime.registry import RunRegistry
from tests.runtime.waiting import finished

pytestmark = pytest.mark.slow

QUESTION = "How does chunk overlap affect retrieval?"
FOLLOW_UP = "How large should the overlap of passages be?"
DEMO = Knobs(search=SearchKnobs(backend="demo", results=3))


async def _asked_next(
    engine: Engine, earlier: Run, question: str, answer_from: AnswerFrom
) -> tuple[Run, list[e.Event]]:
    events: list[e.Event] = []
    turn = next_turn(earlier, written="and how large?", answer_from=answer_from)
    run = await research(
        question,
        DEMO,
        await engine.ports(DEMO, run=earlier),
        lambda record, _: events.append(record.event),
        turn=turn,
        earlier=earlier,
    )
    assert run.status is RunStatus.DONE, run.error
    return run, events


def _of_kind(events: list[e.Event], *kinds: type) -> list[e.Event]:
    return [event for event in events if isinstance(event, kinds)]


async def test_fetched_pages_answer_without_a_search_or_fetch(engine: Engine) -> None:
    first = await research(QUESTION, DEMO, await engine.ports(DEMO))
    run, events = await _asked_next(engine, first, FOLLOW_UP, AnswerFrom.PAGES)
    assert not _of_kind(events, e.SearchStarted, e.FetchStarted, e.Fetched)
    assert dict(run.pages) == dict(first.pages)
    assert run.vectors_reused == len(run.index.passages if run.index else ())
    assert run.answer
    assert {query.author for query in run.queries} == {Author.CONVERSATION}


async def test_new_search_ranks_new_pages_and_both_ranks_all(
    engine: Engine,
) -> None:
    first = await research(QUESTION, DEMO, await engine.ports(DEMO))
    question = "How can a web page inject instructions into a prompt?"
    alone, _ = await _asked_next(engine, first, question, AnswerFrom.SEARCH)
    both, events = await _asked_next(engine, first, question, AnswerFrom.BOTH)
    assert set(both.pages) == set(first.pages) | set(alone.pages)
    fetched = {event.key for event in events if isinstance(event, e.FetchStarted)}
    assert fetched == set(alone.pages) - set(first.pages)
    assert both.index and {passage.place.page for passage in both.index.passages} == set(both.pages)


async def test_search_without_new_pages_is_a_note_and_still_answered(engine: Engine) -> None:
    first = await research(QUESTION, DEMO, await engine.ports(DEMO))
    run, _ = await _asked_next(engine, first, QUESTION, AnswerFrom.BOTH)
    assert run.answer
    assert any(note.message == "The searches found no new page." for note in run.notices)


async def test_passage_keeps_its_number_and_new_ones_follow(engine: Engine) -> None:
    first = await research(QUESTION, DEMO, await engine.ports(DEMO))
    second, _ = await _asked_next(engine, first, FOLLOW_UP, AnswerFrom.PAGES)
    third, _ = await _asked_next(engine, second, "When is hybrid search better?", AnswerFrom.BOTH)
    numbers: dict[str, int] = {}
    for run in (first, second, third):
        for source in run.sources:
            assert numbers.setdefault(source.passage.id, source.number) == source.number
        assert set(run.check.cited) <= {source.number for source in run.sources}
    assert sorted(numbers.values()) == list(range(1, len(numbers) + 1))
    assert {source.number for source in third.sources} == set(third.context_numbers.values())
    assert (third.turn.number if third.turn else 0, third.conversation) == (3, first.id)


async def test_a_turn_survives_its_export(engine: Engine) -> None:
    first = await research(QUESTION, DEMO, await engine.ports(DEMO))
    second, _ = await _asked_next(engine, first, FOLLOW_UP, AnswerFrom.PAGES)
    again = run_from_json(run_to_json(second))
    assert again.turn == second.turn
    assert again.sources == second.sources


def test_turns_of_a_conversation_are_found_from_its_latest(runs: RunRegistry) -> None:
    first = finished(runs, runs.start(QUESTION, DEMO))
    turn = next_turn(first, written="and?", answer_from=AnswerFrom.PAGES)
    second = finished(runs, runs.start(FOLLOW_UP, DEMO, turn=turn))
    branch = finished(runs, runs.start("How is overlap set?", DEMO, turn=turn))
    assert turns_up_to(second, runs.get) == (first, second)
    stored = {summary.id: summary.follows for summary in runs.history(conversation=first.id)}
    assert stored == {first.id: "", second.id: first.id, branch.id: first.id}
    assert {summary.conversation for summary in runs.history()} == {first.id}
    runs.delete(first.id)
    with pytest.raises(BadInput, match="was deleted"):
        runs.start(FOLLOW_UP, DEMO, turn=turn)
    assert turns_up_to(second, runs.get) == (second,)
