"""The entry of the HTTP API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from core.cli.shared_arguments import add_address
from core.runtime.features import Command, Feature, Mounted

if TYPE_CHECKING:
    from core.config.settings import Settings
    from core.runtime.registry import RunRegistry


COMMANDS: Mapping[str, Command] = {
    "serve": Command(
        "features.api.command.serve_api",
        "serve the HTTP API alone, without the pages",
        lambda serve: add_address(serve, "8000"),
    ),
}


def _mounted(settings: Callable[[], Settings], runs: Callable[[], RunRegistry]) -> Mounted:
    from starlette.responses import RedirectResponse
    from starlette.routing import Mount, Route

    from core.features.api import create_app

    app = create_app(runs, settings)
    # Not at the root, because /runs is a page.
    routes = [Route("/api", lambda _request: RedirectResponse("api/")), Mount("/api", app=app)]
    # The metrics count the pages' runs from the first on.
    return Mounted(routes=routes, start=app.state.service.open)


FEATURE = Feature(name="api", uses=("library", "share"), commands=COMMANDS, mount=_mounted)
