"""The demo library as one finished run, for benchmarks that ask it many questions."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from core.config.knobs import Backend, EmbedKnobs, Knobs, ReadKnobs, SearchKnobs
from core.config.settings import Settings
from core.pipeline import retrieve
from core.ports import Ports
from core.run.state import Run
from core.runtime.engine import Engine

QUESTION = "How are pages fetched, texts retrieved and results ranked for a question?"
"""Every article shares a word with it."""
KNOBS = Knobs(
    search=SearchKnobs(backend=Backend.DEMO, results=50),
    read=ReadKnobs(early_cut_percent=0),
    embed=EmbedKnobs(everything_first=True),
)


@asynccontextmanager
async def demo_library(data: Path) -> AsyncIterator[tuple[Run, Ports]]:
    """A run that has read, embedded and indexed every article of the handbook, and its ports. `data` is a data folder."""
    async with Engine(Settings(data=data, ollama_url="", chat_model="")) as engine:
        ports = await engine.ports(KNOBS)
        run = await retrieve(QUESTION, KNOBS, ports)
        if run.index is None or run.ranking is None:
            raise RuntimeError(f"The demo library could not be read: {run.error}")
        yield run, ports
