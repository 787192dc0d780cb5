"""A tool, and a call of it: its caller, the service behind it, its progress, and links to the pages."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar, get_type_hints
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict

from core.analysis.progress import PhaseState, phase_progress
from core.config.permissions import Caller
from core.errors import BadInput
from core.features.api.run_following import RunFollower, RunStep
from core.features.api.service import Service
from core.features.api.sessions import Session
from core.features.api.strict_json import Strict
from core.run.run_ids import refuse_link
from core.run.state import Run
from core.text.sanitize import one_line

PAGES = "http://127.0.0.1:8501"
"""The default address of the pages that `openquery` serves."""

CLIENT = "mcp"
"""The model behind a client, among the hosts of the egress policy. It is hosted unless the operator names it."""

REPORT_SECONDS = 0.5
"""Seconds between two reports of the progress of one phase."""

Report = Callable[[float, float, str], Awaitable[None]]
"""Sends progress to the client: the amount so far, the whole amount, and a message."""

Identify = Callable[[Any], tuple[Caller, Session, str]]
"""Returns the caller of a request, its session, and the address of the pages for its links."""


@dataclass(frozen=True, slots=True)
class Callers:
    """The service, and a function that identifies the caller of each request."""

    service: Service
    identify: Identify


class Call:
    """One call of a tool."""

    def __init__(
        self, service: Service, caller: Caller, session: Session, pages: str, report: Report
    ) -> None:
        self.service, self.caller = service, caller
        self.follower = RunFollower(service, session, caller.name)
        self._pages = pages
        self._report = report

    def link(self, page: str, **query: str | list[str]) -> str:
        """Return the address of a page of the app."""
        return f"{self._pages}/{page}?{urlencode(query, doseq=True)}"

    async def run(self, run_id: str) -> Run:
        """Return a stored run.

        Raises:
            BadInput: when there is none, or a text of it must not reach a hosted model.
            NotAllowed: when the id is a read-only link.
        """
        refuse_link(run_id)
        run = await asyncio.to_thread(self.service.runs.get, run_id)
        if run is None:
            raise BadInput("There is no run of this id.", hint="The tool runs lists those there are.")
        self.require_origins(run.origins)
        return run

    def require_origins(self, origins: Iterable[str]) -> None:
        """Refuse texts of these origins that must not reach the model of the client.

        Raises:
            BadInput: when the egress policy withholds an origin from hosted models.
        """
        self.service.runs.engine.egress.require("the model of an MCP client", CLIENT, origins)

    async def ranked_run(self, run_id: str) -> Run:
        """Return an ended run with ranked passages.

        Raises:
            BadInput: when there is none.
            NotAllowed: when the id is a read-only link.
        """
        run = await self.run(run_id)
        if run.live:
            raise BadInput("This run is under way.", hint="Call this tool when it has ended.")
        if run.index is None or run.ranking is None:
            raise BadInput("This run has no ranked passages.", hint="Ask the question again.")
        return run

    async def finished(self, steps: AsyncGenerator[RunStep]) -> Run:
        """Report the progress of a run until it has ended, and return it. Cancellation stops the run."""
        progress, run = _Progress(self._report), Run()
        async with aclosing(steps):
            async for step in steps:
                run = step.run
                await progress.update(run)
        self.require_origins(run.origins)
        return run

    async def report(self, done: float, total: float, message: str) -> None:
        """Send progress to the client, if it asked for progress."""
        await self._report(done, total, message)


class _Progress:
    """Reports each phase as it begins, and its count at most every `REPORT_SECONDS`."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._phase, self._reports, self._message = -1, 0, ""
        self._latest = 0.0

    async def update(self, run: Run) -> None:
        """Report what is new in a run."""
        phases = phase_progress(run, run.seconds)
        begun = [place for place, phase in enumerate(phases) if phase.state is not PhaseState.WAITING]
        if not begun:
            return
        phase, now = phases[begun[-1]], time.monotonic()
        message = one_line(f"{phase.title}: {phase.count} {phase.unit}").rstrip(": ")
        is_next = begun[-1] > self._phase
        if message == self._message or not (is_next or now - self._latest >= REPORT_SECONDS):
            return
        self._reports = 0 if is_next else self._reports + 1
        self._phase, self._message, self._latest = begun[-1], message, now
        # Every report must be larger than the one before, also within a phase of unknown length.
        within = self._reports / (self._reports + 1)
        await self._report(self._phase + within, len(phases), message)


def texts(values: Mapping[str, object]) -> dict[str, str]:
    """Return the values that are not empty as texts."""
    return {name: str(value) for name, value in values.items() if value not in (None, "")}


class Result(BaseModel):
    """The result of a tool."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as clients list it, and the work of a call."""

    name: str
    title: str
    description: str
    arguments: type[Strict]
    result: type[Result]
    work: Callable[[Call, Any], Awaitable[Result]]
    reads_only: bool
    """Whether a call changes nothing but the history, to which every question is added."""
    reaches_out: bool
    """Whether a call may search the web, fetch pages or ask a model server."""


A = TypeVar("A", bound=Strict)


def tool(
    title: str, *, name: str = "", reads_only: bool = True, reaches_out: bool = False
) -> Callable[[Callable[[Call, A], Awaitable[Result]]], Tool]:
    """Make a tool of its work, which gives its name, arguments and result. Its docstring is the description for clients."""

    def made(work: Callable[[Call, A], Awaitable[Result]]) -> Tool:
        types = get_type_hints(work)
        return Tool(
            name=name or work.__name__,
            title=title,
            description=" ".join((work.__doc__ or "").split()),
            arguments=types["arguments"],
            result=types["return"],
            work=work,
            reads_only=reads_only,
            reaches_out=reaches_out,
        )

    return made
