"""What a feature adds to the spine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from core.cli.shared_arguments import Command
    from core.config.access import Access
    from core.runtime.engine import Engine
    from core.runtime.engine_parts import EnginePart
    from core.runtime.health import Check
    from core.runtime.registry import RunRegistry
    from core.storage.migrations import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounted:
    """What a feature serves beside the pages."""

    routes: Sequence[BaseRoute]
    start: Callable[[], object]
    """Called once after the server has started, in a thread of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of the navigation, which shows it between Compare and History."""

    file: str
    """Its script, such as `pages/evaluate.py`."""
    title: str
    icon: str
    """A name of Material Symbols, such as `science`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A part of OpenQuery that the spine works without.

    Its functions import what they need when they are called, because every command imports the features.
    """

    name: str
    """The name of its folder."""
    uses: tuple[str, ...] = ()
    """The features that it imports."""
    commands: Mapping[str, Command] = field(default_factory=dict)
    """Commands of the command line, by name."""
    services: Callable[[RunRegistry], Iterable[object]] | None = None
    """Makes the services that `RunRegistry.service` returns. Each has a class of its own."""
    connect: Callable[[Engine], EnginePart] | None = None
    """Makes what `Engine.part` returns: connections, and the sources of a run beside the web."""
    probes: Callable[[Engine, Access, Sequence[str]], Iterable[tuple[str, Check]]] | None = None
    """Makes health probes by part, for a visitor and the default collections."""
    databases: Callable[[], Mapping[str, Schema]] | None = None
    """Returns the schemas of its files in the data folder, by name."""
    mount: Callable[[Callable[[], RunRegistry]], Mounted] | None = None
    """Makes what is served beside the pages, from the function that returns their registry."""
    page: Page | None = None
