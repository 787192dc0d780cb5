"""OpenQuery's core: a question becomes a cited answer, and every step of it is data.

from core import Engine, Knobs, Settings, research

async def main():
    async with Engine(Settings.read()) as engine:
        knobs = Knobs()
        run = await research("How does chunk overlap affect retrieval?", knobs, await engine.ports(knobs))
        print(run.text, run.sources)

asyncio.run(main())
"""

from typing import TYPE_CHECKING, Any

from core.config.version import __version__ as __version__

if TYPE_CHECKING:
    from core.analysis.answers.source_cards import source_context
    from core.config.access import Access
    from core.config.knobs import Knobs
    from core.config.settings import Settings
    from core.errors import OpenQueryError
    from core.features.notebook.notebook_run import NotebookRun
    from core.features.notebook.session import open_run, research
    from core.followups import answer_again, read_more, retune
    from core.pipeline import retrieve
    from core.run.state import Run
    from core.runtime.engine import Engine
    from core.runtime.registry import RunRegistry

_HOMES = {
    "Access": ".config.access",
    "Engine": ".runtime.engine",
    "Knobs": ".config.knobs",
    "NotebookRun": ".features.notebook.notebook_run",
    "OpenQueryError": ".errors",
    "Run": ".run.state",
    "RunRegistry": ".runtime.registry",
    "Settings": ".config.settings",
    "answer_again": ".followups",
    "open_run": ".features.notebook.session",
    "read_more": ".followups",
    "research": ".features.notebook.session",
    "retrieve": ".pipeline",
    "retune": ".followups",
    "source_context": ".analysis.answers.source_cards",
}

__all__ = [
    "Access",
    "Engine",
    "Knobs",
    "NotebookRun",
    "OpenQueryError",
    "Run",
    "RunRegistry",
    "Settings",
    "answer_again",
    "open_run",
    "read_more",
    "research",
    "retrieve",
    "retune",
    "source_context",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import core` stays light."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name], __name__), name)
