"""A tool: its arguments and result as models, and the work of a call."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from core.features.api.strict_json import Strict
from core.features.mcp.calls import Call


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
    reads_only: bool = True
    """Whether a call changes nothing but the history, to which every question is added."""
    reaches_out: bool = False
    """Whether a call may search the web, fetch pages or ask a model server."""
