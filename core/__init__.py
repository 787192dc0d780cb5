"""OpenQuery's core: a question becomes a cited answer, and every step of it is data.

from core import Engine, Knobs, Settings, research

async with Engine(Settings.read()) as engine:
    knobs = Knobs()
    run = await research("How does chunk overlap affect retrieval?", knobs, await engine.ports(knobs))
    print(run.text, run.sources)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.access import Access
    from core.bootstrap import Engine
    from core.errors import OpenQueryError
    from core.further import answer_again, read_more, retune
    from core.knobs import Knobs
    from core.pipeline import research
    from core.run import Run
    from core.runs import Runs
    from core.settings import Settings

_HOMES = {
    "Access": "core.access",
    "Engine": "core.bootstrap",
    "Knobs": "core.knobs",
    "OpenQueryError": "core.errors",
    "Run": "core.run",
    "Runs": "core.runs",
    "Settings": "core.settings",
    "answer_again": "core.further",
    "read_more": "core.further",
    "research": "core.pipeline",
    "retune": "core.further",
}

__all__ = [
    "Access",
    "Engine",
    "Knobs",
    "OpenQueryError",
    "Run",
    "Runs",
    "Settings",
    "answer_again",
    "read_more",
    "research",
    "retune",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import core` stays light."""
    if name not in _HOMES:
        raise AttributeError(f"module 'core' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
