"""Routes of stored runs: list, view, continue, export, share and delete."""

import asyncio
import base64
import binascii
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import Annotated

import orjson
from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, Field

from core.analysis.history import matching_runs
from core.config.access import Access
from core.config.permissions import Action, Caller
from core.errors import BadInput
from core.features.api.responses.agent_messages import AgentResponse, agent_response
from core.features.api.responses.run_view import Conversation, RunView, WholeRun, run_view
from core.features.api.service import CallerOf, Service, ServiceOf, SessionOf
from core.features.api.sessions import Session
from core.features.api.strict_json import Strict, StrictRoute, copied
from core.features.share.answer_export import export_name
from core.features.share.conversation_export import conversation_document, conversation_json
from core.features.share.formats import FORMATS, export
from core.run.codec import run_to_json
from core.run.conversation import turns_up_to
from core.run.run_ids import is_link, refuse_link
from core.run.run_summary import RunSummary
from core.run.state import Run, RunStatus
from core.serving.conditional import NOT_MODIFIED, conditional
from core.serving.problems import Fault, Refusal, documented
from core.text.http_headers import attachment
from core.text.sanitize import json_without_surrogates

_VERSION = 1
_CHUNK = 500
"""Runs that are read at once after the first time, when filters left too few."""


def run_page(
    read: Callable[..., tuple[RunSummary, ...]],
    wanted: Callable[[Iterable[RunSummary]], tuple[RunSummary, ...]],
    limit: int,
    cursor: str,
) -> tuple[list[RunSummary], str]:
    """Return at most `limit` wanted runs after the cursor, and the next cursor, which is empty at the end.

    `read` takes a limit and `before`, the start and id of a run, and returns older runs, newest first.

    Raises:
        Refusal: when the cursor is none of this version.
    """
    before, page, size = _read_cursor(cursor), list[RunSummary](), limit + 1
    while True:
        runs = read(size, before=before)
        page += wanted(runs)
        if len(page) > limit:
            last = orjson.dumps([_VERSION, page[limit - 1].started, page[limit - 1].id])
            return page[:limit], base64.urlsafe_b64encode(last).decode().rstrip("=")
        if len(runs) < size:
            return page, ""
        before, size = (runs[-1].started, runs[-1].id), max(size, _CHUNK)


def _read_cursor(cursor: str) -> tuple[str, str] | None:
    if not cursor:
        return None
    try:
        match orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))):
            case [version, str(started), str(name)] if version == _VERSION:
                return started, name
    except (ValueError, binascii.Error):
        pass
    fault = Fault(field="cursor", message="It is none of this version.")
    raise Refusal(404, "There is no such page of runs.", "Begin again without a cursor.", errors=[fault])


router = APIRouter(route_class=StrictRoute, tags=["runs"])

JSON, MARKDOWN = "application/json", "text/markdown; charset=utf-8"

RunId = Annotated[str, Path(alias="id", min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]


class Form(StrEnum):
    """The form of a run in a reply.

    `short` is the reply of POST /research, `full` the whole run, and `agent` has a message for each step of a model.
    `conversation` has the questions and answers up to this run, `conversation_markdown` the same as Markdown.
    """

    SHORT = "short"
    FULL = "full"
    AGENT = "agent"
    CONVERSATION = "conversation"
    CONVERSATION_MARKDOWN = "conversation_markdown"


class RunLine(BaseModel):
    """A run in the list."""

    id: str
    question: str
    started: str
    status: RunStatus
    seconds: float
    elsewhere: bool
    """Whether the run is live in another process with the same data folder."""
    conversation: str
    """The id of the first run of its conversation, or its own."""
    tags: tuple[str, ...]


class RunList(BaseModel):
    """The reply of `GET /runs`."""

    runs: list[RunLine]
    next: str | None
    """The `cursor` of the next page, or null after the last run."""


@router.get("/runs", responses=documented(404, 422, 503))
async def list_runs(
    service: ServiceOf,
    caller: CallerOf,
    *,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Annotated[
        str, Query(max_length=200, description="`next` of the page before. Other parameters stay.")
    ] = "",
    words: Annotated[str, Query(max_length=1000, description="Each of them is in the question.")] = "",
    status: Annotated[list[RunStatus] | None, Query(max_length=10, description="Any of these.")] = None,
    tag: Annotated[list[str] | None, Query(max_length=50, description="Any of these.")] = None,
) -> RunList:
    """List stored runs, newest first, with the filters of the History page. A shared server lists only the caller's runs."""
    page = partial(service.runs.history, user=caller.owner_to_list)
    wanted = partial(matching_runs, words=words, statuses=status or (), tags=tag or ())
    lines, cursor = await asyncio.to_thread(run_page, page, wanted, limit, cursor)
    return RunList(runs=[copied(RunLine, line) for line in lines], next=cursor or None)


@router.get(
    "/runs/{id}",
    response_model=RunView | AgentResponse | WholeRun | Conversation,
    responses={
        **NOT_MODIFIED,
        **documented(403, 404, 422, 503),
        200: {
            "content": {"text/markdown": {"schema": {"type": "string"}}},
            "description": "The run in the form.",
        },
    },
)
async def get_run(
    run_id: RunId, request: Request, service: ServiceOf, form: Annotated[Form, Query()] = Form.SHORT
) -> Response:
    """Return a run, live or ended. A read-only link gives only the forms `short` and `agent`."""
    run = await stored_run(service, run_id)
    if form not in (Form.SHORT, Form.AGENT):
        refuse_link(run_id)
    body, media_type = await _in_form(service, run, form)
    return conditional(request, body, media_type)


async def _in_form(service: Service, run: Run, form: Form) -> tuple[bytes, str]:
    """Return the run in a form as bytes, and their media type."""
    match form:
        case Form.SHORT:
            return (await _view(service, run)).model_dump_json().encode(), JSON
        case Form.AGENT:
            return agent_response(run, await service.unsaved(run.id)).model_dump_json().encode(), JSON
        case Form.FULL:
            return await asyncio.to_thread(run_to_json, run), JSON
        case Form.CONVERSATION:
            turns = await asyncio.to_thread(turns_up_to, run, service.runs.get)
            return orjson.dumps(json_without_surrogates(conversation_json(turns))), JSON
        case Form.CONVERSATION_MARKDOWN:
            turns = await asyncio.to_thread(turns_up_to, run, service.runs.get)
            return (await asyncio.to_thread(conversation_document, turns)).encode(), MARKDOWN


class Approval(Strict):
    """The body of `POST /runs/{id}/plan`."""

    sub_questions: Annotated[list[str], Field(min_length=1, max_length=1000)]
    """The sub-questions to research, in this order: those of the plan, or others."""


@router.post("/runs/{id}/plan", status_code=202, responses=documented(403, 404, 409, 413, 422, 429, 503))
async def approve_plan(
    run_id: RunId, body: Approval, service: ServiceOf, caller: CallerOf, session: SessionOf
) -> RunView:
    """Approve a plan of the method deep, and start its research. `GET /runs/{id}` returns its progress.

    On a shared server the plans of the caller's own runs alone.
    """
    run = await _require(service, caller, run_id, Action.CHANGE_RUN)
    if not run.waits_for_approval:
        raise Refusal(409, "No plan of this run waits for approval.", "See GET /runs/{id}.", run=run_id)
    access = replace(session.access, quota_subject=caller.name)
    await asyncio.to_thread(service.runs.approve_plan, run_id, body.sub_questions, access)
    return await _view(service, await stored_run(service, run_id))


@router.post("/runs/{id}/stop", responses=documented(403, 404, 409, 422, 503))
async def stop_run(run_id: RunId, service: ServiceOf, caller: CallerOf) -> RunView:
    """Stop a waiting or running run, and keep it.

    Its embedded passages are ranked, and its text stays. An ended run does not change. On a shared server, callers
    can stop only their own runs.
    """
    await _require(service, caller, run_id, Action.CHANGE_RUN)
    await asyncio.to_thread(service.runs.stop, run_id)
    run = await stored_run(service, run_id)
    if run.live and service.runs.clock(run) is None:
        raise Refusal(
            409, "This run is under way in another process.", "Stop it where it was asked.", run=run_id
        )
    return await _view(service, run)


@router.post("/runs/{id}/resume", status_code=202, responses=documented(403, 404, 409, 413, 422, 429, 503))
async def resume_run(run_id: RunId, service: ServiceOf, caller: CallerOf, session: SessionOf) -> RunView:
    """Continue a stopped or failed run of the method agent or deep. `GET /runs/{id}` returns its progress.

    Finished steps are not repeated. On a shared server, callers can continue only their own runs.
    """
    return await _continued(service, caller, session, run_id, service.runs.resume)


@router.post("/runs/{id}/quote", status_code=202, responses=documented(403, 404, 409, 422, 429, 503))
async def quote_sources(run_id: RunId, service: ServiceOf, caller: CallerOf, session: SessionOf) -> RunView:
    """Quote sentences of the sources instead of waiting for the chat model, or in place of an answer that it has failed to write.

    `GET /runs/{id}` has the answer. On a shared server the caller's own runs alone.
    """
    return await _continued(service, caller, session, run_id, service.runs.quote)


async def _continued(
    service: Service, caller: Caller, session: Session, run_id: str, work: Callable[[str, Access], object]
) -> RunView:
    """Start more work on a run of the caller, and return the run. Refuses with 409 if there is no work to do."""
    await _require(service, caller, run_id, Action.CHANGE_RUN)
    try:
        await asyncio.to_thread(work, run_id, replace(session.access, quota_subject=caller.name))
    except BadInput as error:
        raise Refusal(409, error.message, error.hint, run=run_id) from error
    return await _view(service, await stored_run(service, run_id))


async def _view(service: Service, run: Run) -> RunView:
    return run_view(run, service.prices, await service.unsaved(run.id), service.runs.clock(run))


@router.get(
    "/runs/{id}/export",
    response_class=Response,
    responses={
        **documented(403, 404, 422, 503),
        200: {"content": {form.media_type: {} for form in FORMATS.values()}, "description": "The file."},
    },
)
async def export_run(
    run_id: RunId,
    service: ServiceOf,
    caller: CallerOf,
    ending: Annotated[str, Query(pattern=f"^({'|'.join(map(re.escape, FORMATS))})$")] = ".zip",
) -> Response:
    """Export a run as a file. Formats with labels have the caller's labels."""
    recorded = await asyncio.to_thread(service.runs.recorded, run_id, caller.name)
    if recorded is None:
        raise _no_run(run_id)
    return Response(
        await asyncio.to_thread(export, recorded, ending, service.prices),
        media_type=FORMATS[ending].media_type,
        headers=attachment(export_name(recorded.run.question, ending)),
    )


@router.delete("/runs/{id}", status_code=204, responses=documented(403, 404, 422, 503))
async def delete_run(run_id: RunId, service: ServiceOf, caller: CallerOf) -> None:
    """Stop and delete a run. On a shared server, callers can delete only their own runs."""
    await _require(service, caller, run_id, Action.CHANGE_RUN)
    await asyncio.to_thread(service.runs.delete, run_id)


async def stored_run(service: Service, run_id: str) -> Run:
    """Return the run of an id or a read-only link.

    Raises:
        Refusal: when there is no such run.
    """
    run = await asyncio.to_thread(service.runs.get, run_id)
    if run is None:
        raise _no_run(run_id)
    return run


def _no_run(run_id: str) -> Refusal:
    if is_link(run_id):
        return Refusal(404, "This link does not lead to a run any more.", "Its owner has taken it back.")
    return Refusal(404, "There is no run of this id.", "It may have been deleted; see GET /runs.")


class LinkLine(BaseModel):
    """A link in the list. The link itself is not stored, so it is not in it."""

    id: str
    """The id for deleting the link."""
    made: str


class NewLink(LinkLine):
    """A new link. Only this reply has its text."""

    link: str
    """Replaces the id of the run: `GET /runs/{link}`, and `?run={link}` on the pages."""


class LinkList(BaseModel):
    """The links to a run, oldest first."""

    links: list[LinkLine]


@router.get("/runs/{id}/links", responses=documented(403, 404, 422, 503))
async def list_links(run_id: RunId, service: ServiceOf, caller: CallerOf) -> LinkList:
    """List the valid links to a run. On a shared server, callers see only links to their own runs."""
    await _require(service, caller, run_id)
    links = await asyncio.to_thread(service.runs.links.of, run_id)
    return LinkList(links=[copied(LinkLine, link) for link in links])


@router.post("/runs/{id}/links", status_code=201, responses=documented(403, 404, 422, 503))
async def make_link(run_id: RunId, service: ServiceOf, caller: CallerOf) -> NewLink:
    """Make a link to a run. Until it is deleted, others can view the run and tune a copy."""
    await _require(service, caller, run_id)
    link, entry = await asyncio.to_thread(service.runs.links.make, run_id)
    return copied(NewLink, entry, link=link)


@router.delete("/runs/{id}/links/{link}", status_code=204, responses=documented(403, 404, 422, 503))
async def take_link_back(
    run_id: RunId,
    link_id: Annotated[str, Path(alias="link", pattern="^[0-9a-f]{16}$")],
    service: ServiceOf,
    caller: CallerOf,
) -> None:
    """Delete a link by its `id`. Its holders are refused from then on."""
    await _require(service, caller, run_id)
    if not await asyncio.to_thread(service.runs.links.take_back, run_id, link_id):
        raise Refusal(404, "This run has no link of this id.", "See GET /runs/{id}/links.")


async def _require(service: Service, caller: Caller, run_id: str, action: Action = Action.SHARE_RUN) -> Run:
    """Return the run, or refuse an action that the caller may not do with it."""
    run = await stored_run(service, run_id)
    await asyncio.to_thread(service.runs.require, caller, action, run_id)
    return run
