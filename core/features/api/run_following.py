"""Streaming of a run to the client that started it. When the client disconnects, the run is stopped."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Annotated, NamedTuple, Unpack

from fastapi import Depends, Request
from fastapi.sse import EventSourceResponse
from starlette.types import Receive

from core.analysis.run_activity import can_quote
from core.config.access import Access
from core.config.knobs import Backend, Knobs
from core.features.api.responses.answers import answer_of, nothing_found
from core.features.api.service import Service, ServiceOf, SessionOf
from core.features.api.sessions import RunExchange, Session
from core.model import NO_CLIENT, AnswerFrom, ClientRequest, Exchange
from core.run.events import Record
from core.run.state import Run, RunStatus
from core.runtime.jobs import RunOptions
from core.serving.problems import CLIENT_GONE, Refusal
from core.stages.conversation.follow_up import FollowUpDraft
from core.stages.time_budget import UNLIMITED, TimeBudget
from core.text.chat.question_finding import find_question
from core.text.digest import text_digest
from core.text.markdown.source_links import without_source_links
from core.text.questions import QUESTION_LIMIT
from core.text.sanitize import one_line

_ENDS = 4_000
"""Characters at each end of an earlier message in which its question is looked for."""
EVENT_STREAM = EventSourceResponse.media_type
KEEP_ALIVE_SECONDS = 10.0
"""After this long without an event the client gets a keep-alive message."""
QUOTE_HINT = "POST /runs/{id}/quote answers with sentences of its sources."
"""An extra hint after a failed answer of the chat model."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The exchanges before a question, oldest first, and the latest run of this server among them, or ""."""

    session: Session
    exchanges: tuple[Exchange, ...]
    run: str
    digest: str = ""
    """The digest of the exchanges that the client keeps, or "" if the session keeps them."""

    @classmethod
    def of_session(cls, session: Session) -> Conversation:
        """Return the conversation that the session remembers."""
        history = session.history
        return cls(
            session, tuple(earlier.exchange for earlier in history), history[-1].run if history else ""
        )

    @classmethod
    def of_messages(cls, exchanges: Sequence[Exchange], session: Session, owner: str) -> Conversation:
        """Return the conversation that a client of this owner sent. Exchanges after the same history are recognised."""
        digests = list(_digests(owner, exchanges))
        known = [session.replies.get(digest) for digest in digests]
        return cls(
            session,
            tuple(
                own.exchange if own else replace(said, question=asked_in(said.question))
                for own, said in zip(known, exchanges, strict=True)
            ),
            next((own.run for own in reversed(known) if own), ""),
            digests[-1] if digests else text_digest(f"of {owner}"),
        )

    @property
    def origins(self) -> frozenset[str]:
        """Return the origins of texts that a message of the session may quote."""
        exchanges = (*self.session.replies.values(), *self.session.history)
        return frozenset[str]().union(*(earlier.exchange.origins for earlier in exchanges))

    def is_continued_by(self, question: str) -> bool:
        """Whether a question follows the exchanges. A repeated first question of this session does not."""
        is_repeated = not self.digest and any(exchange.question == question for exchange in self.exchanges)
        return bool(self.exchanges) and not is_repeated

    def add(self, question: str, run: Run, sent: str) -> None:
        """Remember that a run answered a question, for later questions. `sent` is the answer in the client's form."""
        exchange = RunExchange(Exchange(question=run.question, answer=run.text, origins=run.origins), run.id)
        self.session.add_exchange(exchange)
        if self.digest:
            self.session.replies[_next_digest(self.digest, question, sent)] = exchange


def asked_in(message: str) -> str:
    """Return the question of an earlier message, or its beginning if it asks nothing."""
    ends = message if len(message) <= 2 * _ENDS else f"{message[:_ENDS]}\n\n{message[-_ENDS:]}"
    return find_question(ends) or one_line(ends, QUESTION_LIMIT)


def _digests(owner: str, exchanges: Sequence[Exchange]) -> Iterator[str]:
    """Return a digest of each exchange with its history."""
    digest = text_digest(f"of {owner}")
    for exchange in exchanges:
        yield (digest := _next_digest(digest, exchange.question, exchange.answer))


def _next_digest(digest: str, question: str, answer: str) -> str:
    return text_digest("\0".join((digest, question.strip(), without_source_links(answer).strip())))


class RunStep(NamedTuple):
    """An event with the run after it. Without an event: nothing happened for a while, or the run has ended."""

    record: Record | None
    run: Run
    is_last: bool = False


class RunFollower:
    """Runs the questions of one request, and stops a run when its client goes away."""

    def __init__(
        self,
        service: Service,
        session: Session,
        owner: str,
        disconnected: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        """Follow runs of one caller.

        Args:
            service: the service that runs them.
            session: the session of the caller.
            owner: whose history lists the runs, and whose quotas they count against.
            disconnected: returns once the client has gone away, or None if whoever closes the steps knows.
        """
        self.service, self.session, self.owner = service, session, owner
        self._disconnected = disconnected or asyncio.Event().wait

    async def steps(
        self,
        question: str,
        knobs: Knobs,
        *,
        said: Sequence[Exchange] | None = None,
        sent: Callable[[Run], str] = attrgetter("text"),
        answer_from: AnswerFrom | None = None,
        **options: Unpack[RunOptions],
    ) -> AsyncGenerator[RunStep]:
        """Start a run, and yield its steps. The first has no event; the last has the finished run.

        Closing this before the end stops the run. `options` are those of `RunRegistry.start`, without a turn. A
        follow-up is rewritten first. `said` are the exchanges that the client sent with it, or None for those of the
        session. `sent` gives the answer of a run in the client's form, and `client` is the other data of the request. A
        task of a client is no question of the conversation. Without `answer_from` the coverage decides.

        Raises:
            BadInput: when the question cannot be asked.
            LimitReached: when a quota of the caller is used up.
            Refusal: when the answer must come from known pages, and the session has none.
        """
        conversation = (
            Conversation.of_session(self.session)
            if said is None
            else Conversation.of_messages(said, self.session, self.owner)
        )
        standalone = question
        client = options.get("client")
        client = client if client != NO_CLIENT else None
        is_task = client is not None and client.task is not None
        if is_task:
            client = replace(client or NO_CLIENT, origins=conversation.origins)
        elif conversation.is_continued_by(question):
            draft = await self._draft(conversation, question, knobs, options.get("budget", UNLIMITED))
            draft = draft.changed(answer_from=answer_from, queries=options.get("queries", ()))
            standalone, options["turn"] = draft.question, draft.turn
        turn = options.get("turn")
        if answer_from is AnswerFrom.PAGES and not (turn and turn.follows):
            raise Refusal(
                409, "There are no pages in hand.", "Leave answer_from out, so that some are searched."
            )
        options["client"] = client
        started = self.started(standalone, knobs, **options)
        was_asked = is_task
        async with aclosing(started):
            async for step in started:
                run = step.run
                if not was_asked:
                    self.session.add_message("user", question, run.id)
                    was_asked = True
                if step.is_last and not is_task:
                    self.session.add_message("assistant", answer_of(run), run.id)
                    if run.answer:
                        written = client.message if client and client.message else question
                        conversation.add(written, run, sent(run))
                yield step

    async def follow_up(
        self, run_id: str, question: str, knobs: Knobs | None = None, client: ClientRequest | None = None
    ) -> AsyncGenerator[RunStep]:
        """Ask a follow-up of a stored run, and yield the steps of `started`.

        By default the knobs are those of that run.

        Raises:
            BadInput: when the question cannot be asked, or the run is missing or live.
            LimitReached: when a quota of the caller is used up.
        """
        conversations = self.service.runs.conversations
        earlier = await asyncio.to_thread(conversations.followed, run_id)
        drafting = await asyncio.to_thread(conversations.draft, run_id, question, self.access)
        draft = await asyncio.wrap_future(drafting)
        started = self.started(draft.question, knobs or earlier.knobs, turn=draft.turn, client=client)
        async with aclosing(started):
            async for step in started:
                yield step

    async def started(
        self, question: str, knobs: Knobs, **options: Unpack[RunOptions]
    ) -> AsyncGenerator[RunStep]:
        """Start a run with the options of `RunRegistry.start`, and yield its steps.

        The first step has no event, and the last one has the finished run. Closing this before the end stops the run.

        Raises:
            BadInput: when the question cannot be asked.
            LimitReached: when a quota of the caller is used up.
        """
        loop, steps, runs = asyncio.get_running_loop(), asyncio.Queue[RunStep](), self.service.runs

        def observe(record: Record | None, run: Run) -> None:
            with contextlib.suppress(RuntimeError):  # the server's loop may end before the run does
                loop.call_soon_threadsafe(steps.put_nowait, RunStep(record, run, is_last=record is None))

        # Not in a thread: a client that disconnects meanwhile would leave a run without a follower.
        run_id = runs.start(question, knobs, self.access, observer=observe, user=self.owner, **options)
        turn, client = options.get("turn"), options.get("client")
        run = Run(
            id=run_id, question=question, knobs=knobs, turn=turn, client=client, status=RunStatus.QUEUED
        )
        step = RunStep(None, run)
        try:
            yield step
            while not step.is_last:
                try:
                    async with asyncio.timeout(KEEP_ALIVE_SECONDS):
                        step = await steps.get()
                except TimeoutError:
                    step = RunStep(None, step.run)
                yield step
        finally:
            if not step.is_last:
                # Not awaited: the caller that closes this may itself be cancelled.
                loop.run_in_executor(None, runs.stop, run_id)

    async def condensed(self, client: ClientRequest, knobs: Knobs) -> tuple[str, ClientRequest]:
        """Return the question of a client's message that asks none, and the request with its token usage.

        Raises:
            LimitReached: when a quota of the caller is used up.
        """
        condensing = self.service.runs.conversations.condense(client, knobs, self.access)
        return await asyncio.wrap_future(condensing)

    async def _draft(
        self, conversation: Conversation, question: str, knobs: Knobs, budget: TimeBudget
    ) -> FollowUpDraft:
        """Return the question as a follow-up of its conversation."""
        drafting = await asyncio.to_thread(
            self.service.runs.conversations.draft_after,
            conversation.exchanges,
            question,
            knobs,
            self.access,
            follows=conversation.run,
            budget=budget,
        )
        return await asyncio.wrap_future(drafting)

    @property
    def access(self) -> Access:
        """The servers and keys of the session, and the quotas of the caller."""
        return replace(self.session.access, quota_subject=self.owner)

    async def finished(self, steps: AsyncGenerator[RunStep]) -> Run:
        """The finished run of the steps.

        Raises:
            BadInput, LimitReached: when `steps` raises them.
            Refusal: when the run failed before any text of an answer, or was stopped.
        """
        run = await self.ended(steps)
        if refusal := refusal_of(run, self.alternatives(run)):
            raise refusal
        return run

    async def ended(self, steps: AsyncGenerator[RunStep]) -> Run:
        """The run at the last of its steps, done or failed.

        Raises:
            Refusal: when the run was stopped, also because the client went away.
        """
        work = asyncio.ensure_future(_last_run(steps))
        disconnected = asyncio.ensure_future(self._disconnected())
        try:
            await asyncio.wait({work, disconnected}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise Refusal(CLIENT_GONE, "The client went away, so the run was stopped.")
            run = work.result()
        finally:
            disconnected.cancel()
            work.cancel()
        if run.status is RunStatus.STOPPED:
            raise _stopped(run)
        return run

    def alternatives(self, run: Run) -> tuple[Backend, ...]:
        """Return search backends to offer after a failed search, else none."""
        if run.error is None or run.error.part != "search":
            return ()
        return self.service.runs.engine.searches.alternative_backends(run, self.session.access)

    async def unsaved(self, run: Run) -> str:
        """Return why the run is not stored, or ""."""
        return await self.service.unsaved(run.id)


def _follower(request: Request, service: ServiceOf, session: SessionOf) -> RunFollower:
    return RunFollower(
        service, session, request.scope["openquery.owner"], partial(_disconnected, request.receive)
    )


FollowerOf = Annotated[RunFollower, Depends(_follower)]


def refusal_of(run: Run, backends: Sequence[Backend] = ()) -> Refusal | None:
    """Return the refusal for an ended run without any answer, or None for a partial answer.

    `backends` are offered to the caller, to be searched instead.
    """
    if run.status is RunStatus.STOPPED:
        return _stopped(run)
    if run.error and not run.text and not nothing_found(run):
        refusal = Refusal.of(run.error, run.id, backends)
        refusal.hint = f"{refusal.hint} {QUOTE_HINT}".strip() if can_quote(run) else refusal.hint
        return refusal
    return None


def _stopped(run: Run) -> Refusal:
    return Refusal(409, "The run was stopped before it had an answer.", run=run.id)


async def streamed(steps: AsyncGenerator[RunStep], body: AsyncGenerator[bytes]) -> EventSourceResponse:
    """Stream `body`, which follows the steps. Raises the errors that forbid the run before it begins."""
    await anext(steps)
    return EventSourceResponse(body, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})


async def _last_run(steps: AsyncGenerator[RunStep]) -> Run:
    run = Run()
    async with aclosing(steps):
        async for step in steps:
            run = step.run
    return run


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
