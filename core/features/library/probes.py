"""Health probes of the library: the database, and the collections that questions search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from core.config.access import Access
from core.config.knobs import SearchKnobs, SearchScope
from core.features.library.qdrant.server_collections import ServerCollections
from core.features.library.search_ports import LibrarySearch
from core.features.library.services.connections import LibraryConnections
from core.runtime.engine import Engine
from core.runtime.engine_parts import Check, ProbeReport, ProbeState


def library_probes(engine: Engine, access: Access, chosen: Sequence[str]) -> Iterable[tuple[str, Check]]:
    """Return the probes by part. `chosen` are the collections that questions search by default."""
    return (
        ("Qdrant", partial(_qdrant, engine)),
        ("Collections", partial(_collections, engine, access, chosen)),
    )


async def _qdrant(engine: Engine) -> ProbeReport:
    database = engine.part(LibraryConnections).database
    detail = await database.healthy()
    if not engine.settings.qdrant_url and not await database.names():
        return ProbeState.OFF, detail, "Add documents to the library, or set QDRANT_URL to a Qdrant server."
    if isinstance(database, ServerCollections) and database.exposed:
        return ProbeState.WORKS, detail, "Its API key is sent unencrypted: use an https address."
    return ProbeState.WORKS, detail, ""


async def _collections(engine: Engine, access: Access, chosen: Sequence[str]) -> ProbeReport:
    """Search the default collections of library questions. A collection may be missing, or have another embedder."""
    connections = engine.part(LibraryConnections)
    if not chosen and not await connections.database.names():
        return ProbeState.OFF, "the library is empty", "Add documents to it, to ask them."
    knobs = SearchKnobs(origin=SearchScope.LIBRARY, collections=tuple(chosen), passages=1)
    search = LibrarySearch(
        connections.searchable.operators,
        await engine.models.embedder(access, await engine.origins(knobs, access)),
    )
    reply = await search("health check", knobs)
    missing = "; ".join(f"{name}: {reason}" for name, reason in reply.unresponsive_engines)
    state = ProbeState.PARTLY if missing else ProbeState.WORKS
    return state, f"questions search {', '.join(chosen) or 'all of them'}", missing
