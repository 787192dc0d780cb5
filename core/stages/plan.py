"""Turn the question into search queries, with the chat model if there is one."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import UTC, date, datetime

from core.config.knobs import PlanKnobs
from core.errors import ChatFailed
from core.model import Author, Message, Phase, Query, Severity
from core.ports import Chat
from core.run.events import Emit, Note, PhaseEnded, PhaseStarted, QueryPlanned
from core.stages.metered_models import MeteredChat, read_queries
from core.text.query_parser import QueryReader
from core.text.sanitize import one_line, pluralize
from core.text.urls import without_addresses

_MAX_TOKENS = 2000
"""Leaves room for a reasoning model. The stream is closed as soon as all queries have arrived."""
_TEMPERATURE = 0.6
"""Queries should differ from each other."""


async def plan(
    question: str,
    knobs: PlanKnobs,
    chat: Chat | None,
    emit: Emit,
    given_queries: Sequence[str] = (),
    *,
    addresses: Sequence[str] = (),
) -> AsyncGenerator[Query]:
    """Yield a run's queries as soon as they are complete.

    If there are `given_queries`, they are used and no model is asked. With one query, no chat model, a failing model or
    an unusable reply, the only query is the question itself. A note gives the reason unless one query was requested.
    `addresses` are pages that the question names. Each is a query of its own, and no part of the question's.
    Never raises `ChatFailed`.
    """
    emit(PhaseStarted(Phase.PLAN))
    planned = 0
    for address in addresses:
        query = Query(text=address, author=Author.PERSON)
        emit(QueryPlanned(query))
        yield query
    for text in given_queries:
        planned += 1
        query = Query(text=text, author=Author.PERSON)
        emit(QueryPlanned(query))
        yield query
    if knobs.queries > 1 and not given_queries:
        async with aclosing(_model_queries(question, knobs.queries, chat, emit)) as model_queries:
            async for text in model_queries:
                planned += 1
                query = Query(text=text, author=Author.MODEL)
                emit(QueryPlanned(query))
                yield query
    words = without_addresses(question) if addresses else one_line(question, len(question))
    if not planned and (not addresses or any(map(str.isalnum, words))):
        query = Query(text=words, author=Author.QUESTION)
        emit(QueryPlanned(query))
        yield query
    emit(PhaseEnded(Phase.PLAN))


async def _model_queries(question: str, limit: int, chat: Chat | None, emit: Emit) -> AsyncGenerator[str]:
    """Yield the model's queries. A note gives the reason for fewer than `limit`."""
    if chat is None:
        emit(
            Note(
                Phase.PLAN,
                "No chat model is connected, so the question itself is searched.",
                "Connect a chat model to search with several different queries.",
            )
        )
        return
    reader = QueryReader(limit)
    trouble, hint = "", ""
    try:
        messages = plan_prompt(question, limit, datetime.now(UTC).date())
        metered = MeteredChat(chat, Phase.PLAN, emit)
        reply = metered(messages, max_tokens=_MAX_TOKENS, temperature=_TEMPERATURE)
        async with aclosing(read_queries(reply, reader)) as queries:
            async for query in queries:
                yield query
    except ChatFailed as error:
        trouble, hint = f"Search queries could not be written: {error.message.rstrip('.')}.", error.hint
    count = len(reader.queries)
    if count == limit:
        return
    if not count:
        trouble = trouble or f"{chat.identity} wrote no query that can be searched."
        emit(Note(Phase.PLAN, f"{trouble} The question itself is searched.", hint, Severity.WARNING))
    elif trouble:
        goes_on = f"{trouble} The run goes on with {count} of {pluralize(limit, 'query')}."
        emit(Note(Phase.PLAN, goes_on, hint, Severity.WARNING))
    else:
        parsed = "one query" if count == 1 else pluralize(count, "different query")
        emit(Note(Phase.PLAN, f"{chat.identity} wrote {parsed} of the {limit} asked for."))


def plan_prompt(question: str, queries: int, today: date) -> tuple[Message, ...]:
    """Build the messages that ask for `queries` queries, one a line."""
    system = (
        "You are an expert researcher who knows how web search engines work. You turn a question into "
        "search queries that together find everything needed to answer it well.\n"
        f"Today is {today:%A}, {today.day} {today:%B %Y}. Name a year only where the question depends on time.\n"
        "Make the queries diverse: other words and technical terms, the causes and the consequences, "
        "primary sources, figures, criticism. No two may ask for the same thing.\n"
        "Write each as a person would type it into a search box: the words that matter, 3 to 12 of them, "
        "understandable without the question. Use the language of the question, and where good pages are "
        "likely in others (of the country that it is about, English where most sources are English), write "
        "some queries in these.\n"
        "Reply with the queries only, one a line, without numbers, quotation marks or comments."
    )
    user = f"Question: {question}\n\nWrite {pluralize(queries, 'search query')}, one a line."
    return Message(role="system", content=system), Message(role="user", content=user)
