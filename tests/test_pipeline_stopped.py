"""A run that a person stops says nothing of searches that were still out: nobody waited for them any more."""

import asyncio
from pathlib import Path

import pytest

from core.config.knobs import Knobs, PlanKnobs, SearchKnobs
from core.config.settings import Settings
from core.model import Phase
from core.pipeline import research
from core.run.state import Run, RunStatus
from core.runtime.engine import Engine
from tests.faults.world import QUESTION, Site
from tests.services.loopback import Gate, Reply


async def test_search_under_way_at_the_stop_is_no_fault(tmp_path: Path) -> None:
    gate = Gate()
    knobs = Knobs(plan=PlanKnobs(queries=1), search=SearchKnobs(backend="searxng"))
    seen: list[Run] = []
    with Site() as site:
        site.searches.append(Reply((gate,)))
        async with Engine(Settings(data=tmp_path, ollama_url="", searxng_url=site.url, workers=1)) as engine:
            ports = await engine.ports(knobs)
            going = asyncio.create_task(research(QUESTION, knobs, ports, lambda _, run: seen.append(run)))
            await gate.reached()
            going.cancel()
            with pytest.raises(asyncio.CancelledError):
                await going
            gate.open()
    run = seen[-1]
    assert run.status is RunStatus.STOPPED
    assert run.search_faults == {}
    assert all(span.end is not None for span in run.timeline.phases.values())
    assert Phase.SEARCH in run.timeline.phases
