"""Read-only links to a run: `GET /runs/{id}/links`, `POST /runs/{id}/links`, `DELETE /runs/{id}/links/{link}`."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict

from core.api.problems import Refusal, documented
from core.api.routes.history import RunId, stored_run
from core.api.service import CallerOf, Service, ServiceOf
from core.api.strict_json import StrictRoute
from core.config.permissions import Action, Caller

router = APIRouter(route_class=StrictRoute, tags=["runs"])


class LinkLine(BaseModel):
    """A link in the list. The link itself is not stored, so it is not in it."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    """Takes the link back."""
    made: str


class NewLink(LinkLine):
    """A new link. Its text is told this once."""

    link: str
    """Stands where the id of the run does: `GET /runs/{link}`, and `?run={link}` on the pages."""


class LinkList(BaseModel):
    """The links to a run, oldest first."""

    links: list[LinkLine]


@router.get("/runs/{id}/links", responses=documented(403, 404, 422, 503))
async def list_links(run_id: RunId, service: ServiceOf, caller: CallerOf) -> LinkList:
    """The links to a run that have not been taken back; on a shared server to one of the caller's own."""
    await _require(service, caller, run_id)
    links = await asyncio.to_thread(service.runs.links.of, run_id)
    return LinkList(links=[LinkLine.model_validate(link) for link in links])


@router.post("/runs/{id}/links", status_code=201, responses=documented(403, 404, 422, 503))
async def make_link(run_id: RunId, service: ServiceOf, caller: CallerOf) -> NewLink:
    """Make a link by which others may look at a run and tune a copy of it, until it is taken back."""
    await _require(service, caller, run_id)
    link, entry = await asyncio.to_thread(service.runs.links.make, run_id)
    return NewLink(id=entry.id, made=entry.made, link=link)


@router.delete("/runs/{id}/links/{link}", status_code=204, responses=documented(403, 404, 422, 503))
async def take_link_back(
    run_id: RunId,
    link_id: Annotated[str, Path(alias="link", pattern="^[0-9a-f]{16}$")],
    service: ServiceOf,
    caller: CallerOf,
) -> None:
    """Take a link back, by its `id`. Whoever has it open is refused from then on."""
    await _require(service, caller, run_id)
    if not await asyncio.to_thread(service.runs.links.take_back, run_id, link_id):
        raise Refusal(404, "This run has no link of this id.", "See GET /runs/{id}/links.")


async def _require(service: Service, caller: Caller, run_id: str) -> None:
    await stored_run(service, run_id)
    await asyncio.to_thread(service.runs.require, caller, Action.SHARE_RUN, run_id)
