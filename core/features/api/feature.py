"""The entry of the HTTP API."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from core.features.api.arguments import COMMANDS
from core.runtime.features import Feature, Mounted

if TYPE_CHECKING:
    from core.config.settings import Settings
    from core.runtime.registry import RunRegistry


def _mounted(settings: Callable[[], Settings], runs: Callable[[], RunRegistry]) -> Mounted:
    from starlette.responses import RedirectResponse
    from starlette.routing import Mount, Route

    from core.features.api import create_app

    app = create_app(runs, settings)
    # Not at the root, because /runs is a page.
    routes = [Route("/api", lambda _request: RedirectResponse("/api/")), Mount("/api", app=app)]
    # The metrics count the pages' runs from the first on.
    return Mounted(routes=routes, start=app.state.service.open)


FEATURE = Feature(name="api", uses=("library", "share"), commands=COMMANDS, mount=_mounted)
