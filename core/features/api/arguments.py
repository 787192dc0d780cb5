"""The command `openquery serve` and its arguments."""

from collections.abc import Mapping

from core.cli.shared_arguments import add_address
from core.runtime.features import Command

COMMANDS: Mapping[str, Command] = {
    "serve": Command(
        "features.api.command.serve_api",
        "serve the HTTP API alone, without the pages",
        lambda serve: add_address(serve, "8000"),
    ),
}
