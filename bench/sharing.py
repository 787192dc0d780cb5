"""What it takes to hand a run on as a file, to open it, and to replay it: `python -m bench.sharing`.

The run is made up: its passages are words of the handbook, its vectors random, so that no part compresses better than a
real one.
"""

import argparse
import asyncio
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from statistics import median

from core.features.share.formats import export
from core.features.share.replay import Playhead, replay
from core.run.recorded_run import RecordedRun
from core.storage.bundle import recorded_run
from tests.features.share.large_run import large_run

FORMATS = (".zip", ".offsets.zip", ".json", ".html", ".parquet")
OPENED = (".zip", ".offsets.zip", ".json")


def seconds(work: Callable[[], object], repeats: int) -> float:
    """The median time of the work."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return median(times)


def compressed(recorded: RecordedRun) -> int:
    """Bytes of the page texts and vectors of a run, each compressed by itself."""
    run = recorded.run
    assert run.index is not None and run.index.vectors is not None
    parts = [*(page.text.encode() for page in run.pages.values()), run.index.vectors.tobytes()]
    return sum(len(zlib.compress(part)) for part in parts)


async def lateness(recorded: RecordedRun, speed: float) -> list[float]:
    """Milliseconds by which each event came after its time."""
    began = time.monotonic()
    playhead = Playhead(speed=speed)
    return [
        (time.monotonic() - began - record.at / speed) * 1000
        async for record, _ in replay(recorded, playhead)
    ]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=2_400)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--replayed", type=int, default=100, help="events that are replayed, ten a second")
    options = parser.parse_args()
    recorded = RecordedRun.folded(large_run(options.passages))
    print(f"{options.passages:,} passages, {len(recorded.records):,} events, medians of {options.repeats}")
    for ending in FORMATS:
        file = export(recorded, ending)
        written = seconds(lambda ending=ending: export(recorded, ending), options.repeats)  # type: ignore[misc]
        line = f"{ending:13} {len(file) / 1e6:6.2f} MB   written in {written:5.2f} s"
        if ending in OPENED:
            line += f"   opened in {seconds(lambda file=file: recorded_run(file), options.repeats):5.2f} s"  # type: ignore[misc]
        print(line)
    ratio = len(export(recorded, ".zip")) / compressed(recorded)
    print(f"bundle: {ratio:.2f} times its page texts and vectors, each compressed by itself")
    first = replace(recorded, records=recorded.records[: options.replayed])
    for speed in (1.0, 4.0):
        late = asyncio.run(lateness(first, speed))
        print(f"replay at {speed:g}x: events late by {median(late):.1f} ms, at most {max(late):.1f} ms")


if __name__ == "__main__":
    main()
