"""`openquery check`: the state of connections and parts, one line each."""

import argparse
from contextlib import closing

from core.cli.printing import print_text
from core.cli.shared_arguments import settings_of
from core.runtime.engine import Engine
from core.runtime.engine_parts import ProbeState
from core.runtime.health import probes
from core.storage.run_schema import RUNS
from core.storage.run_store import RunStore


async def check_in_terminal(options: argparse.Namespace) -> int:
    """Print the result of every probe. Returns 0 if every configured part works, else 1."""
    settings = settings_of(options)
    with closing(RunStore(settings.folder / RUNS)) as store:
        async with Engine(settings) as engine:
            results = await probes(engine, store)
    width = max(len(probe.part) for probe in results)
    for probe in results:
        print_text(f"{probe.part:<{width}}  {probe.state:<6}  {probe.detail}")
        if probe.hint:
            print_text(f"{'':<{width}}          {probe.hint}")
    return int(any(probe.state in (ProbeState.BROKEN, ProbeState.PARTLY) for probe in results))
