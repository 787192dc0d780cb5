"""OpenQuery as the benchmarks run it: through its public API, in a loopback world, with a fresh data folder."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bench.schedule import ENOUGH, PAGE_TIMEOUT, QUIET, WARM_TIMEOUT, question
from bench.world import CHAT, EMBEDDER
from core import Engine, Knobs, Settings, research
from core.config.settings import LOCAL


@asynccontextmanager
async def warmed(
    search_url: str, models_url: str, *, warm_run: int, extractor: str, shipped: bool = False
) -> AsyncIterator[Engine]:
    """An engine that has answered a small question, `warm_run` of the world, as a server in use has.

    It embeds with the world's model server, or with the `shipped` model on this machine.
    """
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.read(
            searxng_url=search_url,
            base_url=models_url,
            chat_model=CHAT,
            embedding_model=LOCAL if shipped else EMBEDDER,
            embedding_base_url="" if shipped else models_url,
            fetch_allowlist="127.0.0.0/8",
            data=Path(folder),
        )
        async with Engine(settings) as engine:
            await engine.warm()
            small = knobs(2, 1, extractor=extractor, timeout=WARM_TIMEOUT)
            await research(question(warm_run), small, await engine.ports(small))
            yield engine


def knobs(
    queries: int,
    results: int,
    *,
    extractor: str = "accurate",
    cut: bool = False,
    timeout: float = PAGE_TIMEOUT,
) -> Knobs:
    """Full coverage unless `cut`: every page is read or given up at its own timeout."""
    return Knobs.parse(
        {
            "plan": {"queries": queries},
            "search": {"results": results},
            "read": {
                "page_timeout": timeout,
                "deadline": 0,
                "early_cut_percent": ENOUGH if cut else 0,
                "early_cut_idle": QUIET,
                "extractor": extractor,
            },
        }
    )
