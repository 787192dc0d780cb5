"""The runs of a notebook's process: one registry, made when it is first needed and closed with the process."""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401 - so that its own end is registered before ours
import threading
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.runtime.registry import RunRegistry


_LOCK = threading.Lock()


def registry() -> RunRegistry:
    """The registry of this process, with the settings of its environment. Its work is done on a loop of its own, so
    that synchronous cells can wait for it. Any thread may call."""
    with _LOCK:  # two questions that are asked at once share it
        return _registry()


@cache
def _registry() -> RunRegistry:
    from core.config.settings import Settings
    from core.runtime.registry import RunRegistry

    runs = RunRegistry(Settings.read())
    # `atexit` comes after the thread pools, which closing needs: they would refuse work. The last registered is first.
    threading._register_atexit(runs.close)  # type: ignore[attr-defined]
    return runs
