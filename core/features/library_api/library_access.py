"""The library for HTTP routes: calls on the engine's loop, and names in addresses."""

import asyncio
from collections.abc import Coroutine
from typing import Annotated, TypeVar

from fastapi import Depends, Path

from core.config.access import Access
from core.config.permissions import Action
from core.errors import BadInput, CollectionMissing
from core.features.api.service import CallerOf, ServiceOf, SessionOf
from core.features.library.ingests import Ingest
from core.features.library.library import Library
from core.features.library.services.connections import LibraryConnections
from core.runtime.registry import RunRegistry
from core.serving.problems import Refusal

T = TypeVar("T")

CollectionName = Annotated[
    str,
    Path(alias="name", pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$", description="The collection's name."),
]


class LibraryAccess:
    """The library with a caller's servers and keys."""

    def __init__(self, runs: RunRegistry, access: Access) -> None:
        self._runs, self.access = runs, access

    @property
    def library(self) -> Library:
        """The library of this process. The first access opens its database."""
        return self._runs.engine.part(LibraryConnections).library

    async def call(self, work: Coroutine[object, object, T]) -> T:
        """Return the result of a coroutine of the library, which runs on the engine's loop.

        Raises:
            Refusal: when it needs a collection that is missing.
        """
        try:
            return await asyncio.to_thread(self._runs.call, work)
        except CollectionMissing as error:
            raise Refusal(404, error.message, "See GET /collections.") from error

    async def change(self, work: Coroutine[object, object, T]) -> T:
        """Return the result of a coroutine that changes a collection. Raises as `call`.

        Raises:
            Refusal: while other work on the collection excludes it.
        """
        try:
            return await self.call(work)
        except BadInput as error:
            raise Refusal(409, error.message, error.hint) from error

    async def ingest(self, ingest_id: str) -> Ingest:
        """Return an ingest of any process.

        Raises:
            Refusal: when there is none of this id.
        """
        if (ingest := await self.call(self.library.ingests.get(ingest_id))) is None:
            raise Refusal(404, "There is no ingest of this id.", "The latest 50 that have ended are kept.")
        return ingest


def _reading(service: ServiceOf, caller: CallerOf, session: SessionOf) -> LibraryAccess:
    caller.require(Action.READ_LIBRARY)
    return LibraryAccess(service.runs, session.access)


def _changing(service: ServiceOf, caller: CallerOf, session: SessionOf) -> LibraryAccess:
    caller.require(Action.CHANGE_LIBRARY)
    return LibraryAccess(service.runs, session.access)


ReadingOf = Annotated[LibraryAccess, Depends(_reading)]
"""The library for a caller who may read it."""
ChangingOf = Annotated[LibraryAccess, Depends(_changing)]
"""The library for a caller who may change it."""
