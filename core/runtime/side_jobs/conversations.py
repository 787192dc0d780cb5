"""Draft follow-up questions of stored runs on the background loop."""

from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, TypeVar

from core.config.access import NO_ACCESS, Access
from core.config.knobs import Knobs
from core.errors import BadInput
from core.model import ClientRequest, Exchange, ModelUsage
from core.run.conversation import GetRun
from core.run.events import Emit, Event, ModelUsed
from core.run.run_ids import refuse_link
from core.run.state import Run
from core.runtime.engine import Engine
from core.runtime.event_loop import BackgroundLoop
from core.runtime.quotas import Quotas
from core.stages.conversation.condensed_question import condensed_question
from core.stages.conversation.follow_up import FollowUpDraft, draft_after, draft_follow_up
from core.stages.conversation.next_questions import written_next_questions
from core.stages.time_budget import UNLIMITED, TimeBudget
from core.text.questions import checked_question

T = TypeVar("T")


class Conversations:
    """Drafts of follow-up questions. Any thread may call.

    `registry.start(draft.question, knobs, turn=draft.turn)` asks a draft.
    """

    def __init__(self, loop: BackgroundLoop, engine: Engine, quotas: Quotas, get: GetRun) -> None:
        self._loop = loop
        self._engine = engine
        self._quotas = quotas
        self._get = get

    def followed(self, run_id: str) -> Run:
        """Return the run that a question follows.

        Raises:
            BadInput: when no run has that id.
            NotAllowed: when `run_id` is a read-only link.
        """
        refuse_link(run_id)
        if run := self._get(run_id):
            return run
        raise BadInput("The run that this question follows was deleted.", hint="Ask it as a new question.")

    def draft(self, run_id: str, written: str, access: Access = NO_ACCESS) -> Future[FollowUpDraft]:
        """Start to draft a follow-up of a run. Its result may be polled, or awaited with `asyncio.wrap_future`.

        The pages of that run can be used. The runs before it are the history of the question as it was `written`.

        Raises:
            BadInput: when the question is empty or too long, or the run is missing or live. The future raises it if
                the egress policy refuses a model.
            LimitReached: when the quota subject has no tokens left.
        """
        earlier = self.followed(run_id)
        if earlier.live:
            raise BadInput(
                "The question before this one is not answered yet.", hint="Wait for its answer, or stop it."
            )

        async def drafted(charge: Emit) -> FollowUpDraft:
            ports = await self._engine.ports(earlier.knobs, access, earlier)
            return await draft_follow_up(written, earlier, self._get, ports, charge)

        return self._submit(written, drafted, access)

    def draft_after(
        self,
        history: Sequence[Exchange],
        written: str,
        knobs: Knobs,
        access: Access = NO_ACCESS,
        *,
        follows: str = "",
        budget: TimeBudget = UNLIMITED,
    ) -> Future[FollowUpDraft]:
        """Draft a follow-up of exchanges that a client or session keeps.

        Args:
            history: the exchanges, oldest first.
            written, access: the same as for `draft`.
            knobs, budget: the knobs and time budget of the next run.
            follows: the run of the latest exchange. If it is gone or not named, no pages can be reused.

        Raises:
            BadInput, LimitReached: when `draft` would raise them.
        """
        earlier = self._get(follows) if follows else None

        async def drafted(charge: Emit) -> FollowUpDraft:
            ports = await self._engine.ports(knobs, access, earlier)
            return await draft_after(
                history, written, ports, charge, earlier=earlier, knobs=knobs, budget=budget
            )

        return self._submit(written, drafted, access)

    def condense(
        self, client: ClientRequest, knobs: Knobs, access: Access = NO_ACCESS
    ) -> Future[tuple[str, ClientRequest]]:
        """Start to condense a chat client's message into a question. The message itself asks none.

        Returns:
            The question, and the request with a note and its token usage.

        Raises:
            LimitReached: when the quota subject has no tokens left.
        """

        async def condensed(charge: Emit) -> tuple[str, ClientRequest]:
            usage: list[ModelUsage] = []

            def collect(event: Event) -> None:
                if isinstance(event, ModelUsed):
                    usage.append(event.usage)
                charge(event)

            ports = await self._engine.ports(knobs, access)
            question = await condensed_question(client.message, ports.chat, collect)
            notes = (*client.notes, question.note)
            return question.text, replace(client, notes=notes, usage=(*client.usage, *usage))

        return self._charged(condensed, access)

    def write_next_questions(self, run_id: str, access: Access = NO_ACCESS) -> Future[tuple[str, ...]]:
        """Start to write next questions with the chat model. It uses only pages of the run.

        Raises:
            BadInput: when the run is missing, or has no ranking. The future raises it if the egress policy refuses.
            LimitReached: when the quota subject has no tokens left.
        """
        run = self.followed(run_id)
        if run.index is None or run.ranking is None:
            raise BadInput("This run has no passages to ask about.", hint="Ask another question.")
        index, ranking = run.index, run.ranking

        async def written(charge: Emit) -> tuple[str, ...]:
            ports = await self._engine.ports(run.knobs, access, run)
            earlier = [run.question, run.written]
            return await written_next_questions(index, ranking, run.pages, earlier, ports, charge)

        return self._charged(written, access)

    def _submit(
        self, written: str, drafted: Callable[[Emit], Coroutine[Any, Any, FollowUpDraft]], access: Access
    ) -> Future[FollowUpDraft]:
        checked_question(written)
        return self._charged(drafted, access)

    def _charged(self, work: Callable[[Emit], Coroutine[Any, Any, T]], access: Access) -> Future[T]:
        """Start work whose model calls count against a quota. The quota must have budget left."""
        self._quotas.require_budget(access.quota_subject)

        async def charged() -> T:
            with self._quotas.work(access.quota_subject) as spending:
                return await work(spending.charge)

        return self._loop.submit(charged())
