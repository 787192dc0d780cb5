"""The entry of the document library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from core.features.library.commands.arguments import COMMANDS
from core.runtime.features import Feature, Page

if TYPE_CHECKING:
    from core.config.access import Access
    from core.runtime.engine import Engine
    from core.runtime.engine_parts import Check, EnginePart
    from core.storage.migrations import Schema


def _connect(engine: Engine) -> EnginePart:
    from core.features.library.services.connections import LibraryConnections

    return LibraryConnections(engine)


def _probes(engine: Engine, access: Access, chosen: Sequence[str]) -> Iterable[tuple[str, Check]]:
    from core.features.library.probes import library_probes

    return library_probes(engine, access, chosen)


def _databases() -> Mapping[str, Schema]:
    from core.features.library.catalogue_schema import LIBRARY, SCHEMA

    return {LIBRARY: SCHEMA}


FEATURE = Feature(
    name="library",
    commands=COMMANDS,
    connect=_connect,
    probes=_probes,
    databases=_databases,
    page=Page(file="pages/library.py", title="Library"),
)
