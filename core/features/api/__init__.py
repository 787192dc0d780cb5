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

    from core.runtime.registry import RunRegistry


def create_app(runs: RunRegistry | Callable[[], RunRegistry] | None = None, *, warm: bool = True) -> FastAPI:
    """The service over `runs`, which may also be given as a function that makes them when first needed.

    Without any it makes its own from the settings when it starts, and closes them when it ends; the process is then
    its own too, and is hardened (`core.runtime.hardening`). A caller that gives runs hardens its own process.
    With `warm`, workers and models are started with the application; else the first question waits for them.
    """
    from core.features.api.application import application

    return application(runs, warm=warm)


@functools.cache
def _app() -> FastAPI:
    return create_app()


def __getattr__(name: str) -> Any:
    """`app` is made when a server first asks for it, so that importing this package does nothing."""
    if name == "app":
        return _app()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
