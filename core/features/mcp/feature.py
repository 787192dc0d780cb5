"""The entry of the MCP server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.features.mcp.arguments import COMMANDS
from core.runtime.features import Feature

if TYPE_CHECKING:
    from fastapi import FastAPI


def _extend_api(app: FastAPI) -> None:
    from core.features.mcp.http_endpoint import add_endpoint

    add_endpoint(app)


FEATURE = Feature(name="mcp", uses=("api", "evaluate"), commands=COMMANDS, extend_api=_extend_api)
