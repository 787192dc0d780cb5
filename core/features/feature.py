"""What a feature adds to the spine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.cli.shared_arguments import Command


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A part of OpenQuery that the spine works without.

    Everything is imported when it is used, so that a feature costs a command nothing that does not use it.
    """

    name: str
    """The name of its folder."""
    uses: tuple[str, ...] = ()
    """The features that it imports."""
    commands: Mapping[str, Command] = field(default_factory=dict)
    """Commands of the command line, by name."""
