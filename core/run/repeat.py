"""A run's question, to be asked again."""

from dataclasses import dataclass, replace

from core.config.knobs import Knobs
from core.config.questions import MOST_QUERIES, QUERY_LIMIT
from core.config.run_knobs import Method
from core.model import Author
from core.run.state import Run

NOT_SEARCHED = (Author.CONVERSATION, Author.AGENT)
"""Authors of queries that stand for pages, and whose text was never sent to a search engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """What to give `core.pipeline.research`."""

    question: str
    knobs: Knobs
    queries: tuple[str, ...]


def repeat(run: Run, question: str = "", knobs: Knobs | None = None) -> Repeat:
    """The question of a run under its knobs, or another question or knobs, with every page fetched again.

    The queries are those that the run searched, so that only what they find differs. They are written anew for another
    question, by other knobs of the plan, by a method that decides on them as it goes, and for a follow-up that was
    answered from pages of earlier questions alone.
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
