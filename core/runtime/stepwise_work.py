"""Runs of the methods that work step by step: a plan is approved, and an unfinished run goes on at its step."""

import asyncio
from collections.abc import Sequence
from functools import partial

from core import followups
from core.config.access import NO_ACCESS, Access
from core.errors import BadInput
from core.methods.deep import approved_sub_questions
from core.run.state import Run
from core.runtime.stored_work import FollowUp, StoredWork


class StepwiseWork(StoredWork):
    """What the registry can do with runs of the methods deep and agent. Any thread may call."""

    _slots: asyncio.Semaphore

    def approve_plan(
        self,
        run_id: str,
        sub_questions: Sequence[str],
        access: Access = NO_ACCESS,
        *,
        quota_subject: str = "",
    ) -> None:
        """Research these sub-questions of a planned run, once a slot is free.

        Raises:
            BadInput: as `approved_sub_questions` does, also when another tab has just approved them.
            LimitReached: when the quota subject has used up its budget.
        """

        def bind(run: Run) -> FollowUp:
            approved = approved_sub_questions(run, sub_questions)
            self.quotas.require_budget(quota_subject)
            return partial(followups.research_plan, run, approved)

        if not self._follow_up(run_id, bind, access, quota_subject, queue=self._slots):
            raise BadInput(
                "The plan of this run was approved just now.", hint="Watch it, or stop it and go on later."
            )

    def go_on(self, run_id: str, access: Access = NO_ACCESS, *, quota_subject: str = "") -> None:
        """Go on with an unfinished run at its step, once a slot is free.

        Raises:
            BadInput: when there is nothing to go on with.
            LimitReached: when the quota subject has used up its budget.
        """

        def bind(run: Run) -> FollowUp:
            followups.require_unfinished(run)
            self.quotas.require_budget(quota_subject)
            return partial(followups.go_on, run)

        self._follow_up(run_id, bind, access, quota_subject, queue=self._slots)
