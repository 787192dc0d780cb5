"""The features, and the value by which each enters.

The spine is the core without `core.features`. It imports no feature: where the product is put together, it reads
`features()`. A feature imports the spine, and the features that it names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from fastapi import FastAPI
    from starlette.routing import BaseRoute

    from core.runtime.engine_parts import Check, EnginePart
    from core.storage.migrations import Schema


FEATURES = (
    "watch",
    "share",
    "evaluate",
    "library",
    "api",
    "library_api",
    "openai",
    "mcp",
    "notebook",
)
"""The folders of the features, in the order of their commands in the help. Without its folder and its line here, the
product answers questions as before."""
_CORE = __name__.removesuffix(".runtime.features")


class Command(NamedTuple):
    """A command of the command line."""

    runs: str
    """The function of the command, as `module.function` of `core`.

    The module is imported when the command runs.
    """
    help: str
    add_arguments: Callable[[ArgumentParser], object]
    description: str | None = None
    epilog: str = ""
    """The end of the help, by default the exit codes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounted:
    """Routes that a feature serves besides the pages."""

    routes: Sequence[BaseRoute]
    start: Callable[[], object]
    """Called once after the server has started, in a thread of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of the navigation, which shows it after Explain."""

    file: str
    """Its script, such as `pages/evaluate.py`."""
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A part of OpenQuery that the spine works without.

    Its functions import what they need when they are called, because every command imports the features. The types of
    their arguments are those of whoever calls them, which this module does not import.
    """

    name: str
    """The name of its folder."""
    uses: tuple[str, ...] = ()
    """The features that it imports."""
    commands: Mapping[str, Command] = field(default_factory=dict)
    """Commands of the command line, by name."""
    services: Callable[..., Iterable[object]] | None = None
    """Makes, from a `RunRegistry`, the services that `RunRegistry.service` returns. Each has a class of its own."""
    connect: Callable[..., EnginePart] | None = None
    """Makes the feature's part of an `Engine`: connections, and sources of a run besides the web."""
    probes: Callable[..., Iterable[tuple[str, Check]]] | None = None
    """Makes health probes by part, from an `Engine`, a visitor's `Access` and the default collections."""
    databases: Callable[[], Mapping[str, Schema]] | None = None
    """Returns the schemas of its files in the data folder, by name."""
    mount: Callable[..., Mounted] | None = None
    """Makes the routes besides the pages, from functions that return `Settings` and `RunRegistry`.

    The first call of the second one opens files, which takes a second.
    """
    extend_api: Callable[[FastAPI], object] | None = None
    """Adds paths to the HTTP API, which authorizes their callers and limits their bodies."""
    page: Page | None = None


@cache
def features() -> tuple[Feature, ...]:
    """Return the features, each the `FEATURE` of its module `feature`."""
    return tuple(_feature(name) for name in FEATURES)


def _feature(name: str) -> Feature:
    entered: Any = import_module(f"{_CORE}.features.{name}.feature")
    feature: Feature = entered.FEATURE
    return feature
