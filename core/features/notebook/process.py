"""The registry of a notebook's process."""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401 - so that its own end is registered before ours
import threading
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # imported on use: a cell that imports OpenQuery returns at once
    from core.runtime.registry import RunRegistry

_LOCK = threading.Lock()


def registry() -> RunRegistry:
    """Return the registry of this process.

    Its work runs on its own loop, so that synchronous cells can wait for it. Any thread may call.
    """
    with _LOCK:  # concurrent first questions share it
        return _registry()


@cache
def _registry() -> RunRegistry:
    from core.config.settings import Settings
    from core.runtime.registry import RunRegistry

    runs = RunRegistry(Settings.read())
    # `atexit` runs after the end of the thread pools, which closing needs: they would refuse work. The last registered
    # function runs first.
    threading._register_atexit(runs.close)  # type: ignore[attr-defined]
    return runs
