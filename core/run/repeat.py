"""Ask the question of a run again."""

from dataclasses import dataclass, replace

from core.config.knobs import Knobs
from core.config.run_knobs import Method
from core.model import Author
from core.run.state import Run
from core.text.questions import MOST_QUERIES, QUERY_LIMIT

NOT_SEARCHED = (Author.CONVERSATION, Author.AGENT)
"""Authors of queries that were never sent to a search engine. They name pages instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """The arguments for `core.pipeline.research`."""

    question: str
    knobs: Knobs
    queries: tuple[str, ...]


def repeat(run: Run, question: str = "", knobs: Knobs | None = None) -> Repeat:
    """Return a question to be asked with fresh pages. It is the run's question under its knobs, unless others are
    given.

    The queries of the run are reused, so that only their results differ. New queries are planned for another question,
    for other plan knobs, for a method that plans its queries step by step, and for a follow-up that was answered from
    pages of earlier questions alone.
    """
    question, knobs = question.strip() or run.question, knobs or run.knobs
    same_plan = question == run.question and knobs.plan == run.knobs.plan
    repeats_queries = same_plan and knobs.run.method is Method.PIPELINE
    searched = [query for query in run.queries if query.author not in NOT_SEARCHED] if repeats_queries else []
    return Repeat(
        question=question,
        knobs=replace(knobs, read=replace(knobs.read, fresh=True)),
        queries=tuple(query.text for query in searched if len(query.text) <= QUERY_LIMIT)[:MOST_QUERIES],
    )
