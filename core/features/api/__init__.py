"""The HTTP service: the same runs as the pages', for programs.

uvicorn core.features.api:app        alone, at the root of its address
streamlit run server.py     beside the pages, under /api
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastapi import FastAPI

    from core.config.settings import Settings
    from core.runtime.registry import RunRegistry


def create_app(
    runs: RunRegistry | Callable[[], RunRegistry] | None = None,
    settings: Callable[[], Settings] | None = None,
    *,
    warm: bool = True,
) -> FastAPI:
    """Return the service over a registry of runs.

    Args:
        runs: the registry, or a function that makes it when it is first needed. Without any the service makes its own
            when it starts, and closes it when it ends. The process is then its own too, and is hardened
            (`core.runtime.hardening`). A caller that gives runs hardens its own process.
        settings: a function that returns the settings of `runs` without making them, so that requests can be
            authorized before. By default they are read from the registry, or from the environment.
        warm: whether workers and models are started with the application. Else the first question waits for them.
    """
    from core.features.api.application import application

    return application(runs, settings, warm=warm)


@functools.cache
def _app() -> FastAPI:
    return create_app()


def __getattr__(name: str) -> Any:
    """`app` is made when a server first asks for it, so that importing this package does nothing."""
    if name == "app":
        return _app()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
