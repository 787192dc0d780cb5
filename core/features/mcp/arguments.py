"""The command `openquery mcp` and its arguments."""

from collections.abc import Mapping

from core.cli.shared_arguments import add_connections
from core.runtime.features import Command

COMMANDS: Mapping[str, Command] = {
    "mcp": Command(
        "features.mcp.command.serve_stdio",
        "serve the tools of an MCP client over stdin and stdout",
        add_connections,
        "Serve search, answers and explanations as tools of an MCP client, which starts this command itself. "
        "docs/programs.md has configurations to copy. `openquery serve` has the same tools at /mcp.",
    ),
}
