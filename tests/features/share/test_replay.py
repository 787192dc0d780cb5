"""A run that happens again: at its own times, faster or slower, halting where it is told to."""

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from core.errors import BadInput
from core.features.share.replay import Playhead, Replay, phase_starts, replay
from core.model import Phase
from core.run.codec import run_to_json
from core.run.events import PhaseStarted, Record, RunDone, RunResumed
from core.run.recorded_run import RecordedRun
from tests.run.test_importer import DONE
from tests.services.command_line import openquery
from tests.storage.test_bundle import BUNDLE, RECORDED


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


@pytest.mark.parametrize("speed", [0.25, 1.0, 8.0])
async def test_every_event_happens_at_its_time_by_the_speed(speed: float) -> None:
    clock = Clock()
    happened = [
        (record, run, clock.now)
        async for record, run in replay(RECORDED, Playhead(speed=speed, clock=clock), clock.sleep)
    ]
    assert tuple(record for record, _, _ in happened) == RECORDED.records
    assert all(abs(now - 100 - record.at / speed) < 0.001 for record, _, now in happened)
    assert run_to_json(happened[-1][1], vectors=True) == run_to_json(RECORDED.run, vectors=True)


async def test_events_are_within_50_ms_of_their_real_times() -> None:
    recorded = RecordedRun.folded(RECORDED.records[:12])
    began = time.monotonic()
    late = [time.monotonic() - began - record.at async for record, _ in replay(recorded, Playhead())]
    assert len(late) == 12
    # The first quarter: other processes may hold this one up. `bench/sharing.py` measures all.
    assert min(late) > -0.001 and sorted(late)[3] < 0.05


async def test_replay_halts_when_a_phase_began_until_continued() -> None:
    clock = Clock()
    (halt,) = phase_starts(RECORDED, [Phase.EMBED])
    playhead = Playhead(halts=[halt], clock=clock)
    waited = 0

    async def sleep(seconds: float) -> None:
        nonlocal waited
        await clock.sleep(seconds)
        waited += playhead.halted
        if waited == 100:
            playhead.play()

    times = {id(record): clock.now async for record, _ in replay(RECORDED, playhead, sleep)}
    begun = next(n for n, r in enumerate(RECORDED.records) if r.event == PhaseStarted(Phase.EMBED))
    delays = [times[id(record)] - 100 - record.at for record in RECORDED.records]
    assert delays[: begun + 1] == pytest.approx([0.0] * (begun + 1), abs=0.001)
    assert all(4.5 < delay < 5.5 for delay in delays[begun + 1 :])


def test_replay_is_paused_and_resumes_at_another_speed() -> None:
    clock = Clock()
    replayed = Replay(RECORDED, playhead := Playhead(speed=2, clock=clock))
    last = RECORDED.records[-1].at
    clock.now += last / 4
    assert replayed.current().live and playhead.position == pytest.approx(last / 2)
    playhead.pause()
    clock.now += 1000
    playhead.change(speed=4, halts=phase_starts(RECORDED, [Phase.ANSWER]))
    assert playhead.halted and playhead.position == pytest.approx(last / 2)
    assert replayed.seconds_until_next == float("inf")
    playhead.play()
    clock.now += 1000
    assert playhead.halted and Phase.ANSWER in replayed.current().timeline.phases and not replayed.ended
    playhead.change(halts=())
    assert playhead.halted, "other halts do not set it going"
    playhead.play()
    clock.now += last / 4
    assert not replayed.current().live and replayed.ended
    assert run_to_json(replayed.current()) == run_to_json(RECORDED.run)


def test_events_after_an_import_without_events_replay_at_once() -> None:
    clock = Clock()
    recorded = RecordedRun.folded(
        [Record(DONE.seconds, RunResumed(DONE.knobs)), Record(DONE.seconds + 2, RunDone())], DONE
    )
    replayed = Replay(recorded, Playhead(clock=clock))
    assert replayed.current().live
    clock.now += 2
    assert not replayed.current().live and replayed.ended


async def test_a_run_without_events_cannot_be_replayed() -> None:
    with pytest.raises(BadInput, match="no events"):
        await anext(replay(RecordedRun(run=DONE, base=DONE), Playhead()))


@pytest.mark.slow
def test_bundle_is_replayed_in_the_terminal_and_waits_for_enter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "run.zip"
    file.write_bytes(BUNDLE)
    reading, writing = os.pipe()
    os.write(writing, b"\n")
    with os.fdopen(reading) as keys:
        monkeypatch.setattr(sys, "stdin", keys)
        done = openquery(tmp_path, "replay", str(file), "--speed", "50", "--pause-at", "answer", "-v")
    os.close(writing)
    assert done.code == 0
    assert done.out.startswith(f"{DONE.text}\n")
    assert "Sources" in done.out
    assert done.err.count("Paused.") == 1 and "query    overlap of passages" in done.err
    assert openquery(tmp_path, "replay", str(file), "--speed", "0").code == 2
