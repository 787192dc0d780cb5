"""A run's question, to be asked again."""

from dataclasses import replace

from core.model import Author, Query
from core.run import events as e
from core.run.repeat import repeat
from core.run.state import Run
from core.stages.conversation.known_pages import PAGES_IN_HAND
from tests.samples import records, until


def ended(*queries: Query) -> Run:
    run = Run()
    for record in records(*until(e.RunDone)):
        run = run.apply(record)
    return replace(run, queries=queries)


def test_follow_up_from_known_pages_gets_new_queries() -> None:
    run = ended(Query(text=PAGES_IN_HAND, author=Author.CONVERSATION))
    again = repeat(run)
    assert (again.question, again.queries) == (run.question, ())


def test_only_queries_that_were_searched_are_repeated() -> None:
    run = ended(
        Query(text=PAGES_IN_HAND, author=Author.CONVERSATION),
        Query(text="delta works", author=Author.MODEL),
        Query(text="opened pages", author=Author.AGENT),
        Query(text="storm surge", author=Author.PERSON),
    )
    assert repeat(run).queries == ("delta works", "storm surge")
