"""The event loop that OpenQuery's work runs on."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

if sys.platform == "win32":  # which uvloop does not support
    from asyncio import new_event_loop as new_loop
else:
    from uvloop import new_event_loop as new_loop

__all__ = ["new_loop", "run_async"]


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to its end on a loop of its own, as `asyncio.run` does."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(work)
