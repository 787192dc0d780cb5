"""The entry of the MCP server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from core.cli.shared_arguments import add_connections
from core.runtime.features import Command, Feature

if TYPE_CHECKING:
    from fastapi import FastAPI


COMMANDS: Mapping[str, Command] = {
    "mcp": Command(
        "features.mcp.command.serve_stdio",
        "serve the tools of an MCP client over stdin and stdout",
        add_connections,
        "Serve search, answers and explanations as tools of an MCP client, which starts this command itself. "
        "docs/programs.md has configurations to copy. `openquery serve` has the same tools at /mcp.",
    ),
}


def _extend_api(app: FastAPI) -> None:
    from core.features.mcp.http_endpoint import add_endpoint

    add_endpoint(app)


FEATURE = Feature(name="mcp", uses=("api", "evaluate"), commands=COMMANDS, extend_api=_extend_api)
