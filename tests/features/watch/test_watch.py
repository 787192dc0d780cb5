"""`openquery watch`: the real pipeline on loopback, over a small web that is noisy by a seed, and a clock of the test."""

import json
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from core.config.knobs import Knobs, PlanKnobs, RankKnobs, ReadKnobs, SearchKnobs
from core.config.settings import Settings
from core.errors import BadInput
from core.features.watch.command import Report, Watch, asker, follow, read_questions
from core.features.watch.watch_state import WatchedQuestion, read_states
from core.runtime.engine import Engine
from core.storage.run_schema import RUNS
from core.storage.run_store import RunStore
from tests.services.command_line import openquery
from tests.services.loopback import Loopback, Reply, Request, html_reply, json_reply

pytestmark = pytest.mark.slow

QUESTION = WatchedQuestion(
    question="How long does a kettle boil?",
    knobs=Knobs(
        plan=PlanKnobs(queries=1),
        search=SearchKnobs(backend="searxng", results=8),
        read=ReadKnobs(early_cut_percent=0, robots=False),
        rank=RankKnobs(top_k=4),
    ),
)
KETTLES = ("copper", "iron", "glass", "steel", "clay", "brass", "tin", "silver")
FACTS = [f"The {name} kettle boils for {n + 2} minutes, as its maker says." for n, name in enumerate(KETTLES)]
REPEATS = 5


class NoisyWeb(Loopback):
    """A SearXNG over eight pages. With noise, each search has another order, and some of its pages fail, by chance."""

    def __init__(self, seed: int, noise: float) -> None:
        super().__init__(self._reply)
        self.draw, self.noise = random.Random(seed), noise
        self.facts = dict(enumerate(FACTS))
        self.failed: set[int] = set()
        self.down = False

    async def _reply(self, request: Request) -> Reply:
        if request.path == "/search":
            if self.down:
                return json_reply({}, status=500)
            numbers = sorted(self.facts)
            if self.noise:
                self.draw.shuffle(numbers)
            self.failed = {n for n in numbers if self.draw.random() < self.noise}
            return json_reply(
                {"results": [{"url": f"{self.url}/{n}", "title": f"Kettle {n}"} for n in numbers]}
            )
        number = int(request.path[1:])
        if number in self.failed:
            return html_reply(status=503)
        body = f"<h1>Kettles of {KETTLES[number]}</h1><p>{self.facts[number]}</p><p>Catalogue, page {number}.</p>"
        return html_reply(
            f"<html><title>Kettle {number}</title><body><article>{body}</article></body></html>"
        )


@dataclass
class ScriptedClock:
    """Moves only when somebody waits."""

    time: datetime = datetime(2026, 3, 1, tzinfo=UTC)
    ends: datetime | None = None
    waits: list[float] = field(default_factory=list)

    def now(self) -> datetime:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += timedelta(seconds=seconds)
        if self.ends and self.time >= self.ends:
            raise TimeoutError


@dataclass
class Watching:
    web: NoisyWeb
    engine: Engine
    store: RunStore
    state: Path
    clock: ScriptedClock = field(default_factory=ScriptedClock)

    def watch(self) -> Watch:
        return Watch(self.state, self.store, asker(self.engine), self.clock, REPEATS)

    async def look(self, watch: Watch | None = None) -> list[Report]:
        return [report async for report in (watch or self.watch()).look(QUESTION)]


@asynccontextmanager
async def watching(folder: Path, seed: int = 0, noise: float = 0.0) -> AsyncIterator[Watching]:
    with NoisyWeb(seed, noise) as web:
        settings = Settings(
            data=folder,
            searxng_url=web.url,
            fetch_allowlist=f"127.0.0.1:{web.port}",
            ollama_url="",
            workers=1,
        )
        store = RunStore(folder / RUNS)
        try:
            async with Engine(settings) as engine:
                yield Watching(web, engine, store, folder / "questions.state.json")
        finally:
            store.close()


@pytest.mark.thorough
async def test_hundred_unchanged_pairs_have_at_most_five_false_alarms(tmp_path: Path) -> None:
    alarms = 0
    for seed in range(5):
        async with watching(tmp_path / str(seed), seed, noise=0.2) as world:
            (measured,) = await world.look()
            assert "by up to: sources 0.00" not in measured.message, "the web is noisy"
            watch = world.watch()
            for _ in range(20):
                alarms += any(report.changes for report in await world.look(watch))
    assert alarms <= 5


async def test_a_fact_that_changed_is_told_and_measured_anew(tmp_path: Path) -> None:
    async with watching(tmp_path) as world:
        assert [report.changes for report in await world.look()] == [None]
        before = read_states(world.state)[QUESTION]
        assert [report.message for report in await world.look()] == []
        cited = world.store.load(before.run)
        assert cited is not None
        number = int(cited.sources[0].url.rpartition("/")[2])
        world.web.facts[number] = FACTS[number].replace("minutes", "hours")
        changed, measured = await world.look()
        assert "texts" in changed.exceeded
        assert f"+ The {KETTLES[number]} kettle boils for {number + 2} hours" in "\n".join(changed.lines)
        assert changed.document["changes"]["before"]["id"] == before.run
        assert not measured.failed
        after = read_states(world.state)[QUESTION]
        assert (after.earlier, len(after.noise)) == (before.run, REPEATS)
        assert world.store.load(after.run) is not None
        assert [report.message for report in await world.look()] == []
        assert len(world.store.history(100)) == 2, "runs that show nothing new are not stored"


async def test_a_source_that_is_gone_is_told(tmp_path: Path) -> None:
    async with watching(tmp_path) as world:
        await world.look()
        run = world.store.load(read_states(world.state)[QUESTION].run)
        assert run is not None
        gone = int(run.sources[0].url.rpartition("/")[2])
        del world.web.facts[gone]
        changed, _ = await world.look()
        assert "sources" in changed.exceeded
        assert f"- [1] Kettle {gone}" in "\n".join(changed.lines)


async def test_failed_run_says_so_and_the_earlier_state_stays(tmp_path: Path) -> None:
    async with watching(tmp_path) as world:
        world.web.down = True
        (failed,) = await world.look()
        assert failed.failed and "failed: " in failed.message and not world.state.exists()
        world.web.down = False
        await world.look()
        kept = world.state.read_bytes()
        world.web.down = True
        (failed,) = await world.look()
        assert failed.failed and world.state.read_bytes() == kept


async def test_due_question_is_asked_by_a_process_started_later(tmp_path: Path) -> None:
    async with watching(tmp_path) as world:
        told: list[Report] = []
        world.clock.ends = world.clock.time + timedelta(hours=13)
        with pytest.raises(TimeoutError):
            await follow(world.watch(), [QUESTION], timedelta(hours=6), world.clock, told.append)
        assert world.clock.waits == [6 * 3600] * 3
        asked = world.clock.time - timedelta(hours=6)
        assert world.watch().asked(QUESTION) == asked
        world.clock.time -= timedelta(hours=2)
        with pytest.raises(TimeoutError):
            await follow(world.watch(), [QUESTION], timedelta(hours=6), world.clock, told.append)
        assert world.clock.waits[-1] == 2 * 3600
        assert len(told) == 1, "how noisy it is"


async def test_question_with_an_ask_in_the_future_is_asked_now(tmp_path: Path) -> None:
    async with watching(tmp_path) as world:
        await world.look()
        world.clock.time -= timedelta(days=30)
        world.clock.ends = world.clock.time + timedelta(hours=1)
        told: list[Report] = []
        with pytest.raises(TimeoutError):
            await follow(world.watch(), [QUESTION], timedelta(hours=6), world.clock, told.append)
        assert "the clock was set back" in told[0].message
        assert world.watch().asked(QUESTION) == world.clock.time - timedelta(hours=6)


@pytest.mark.parametrize("asked", ['"yesterday"', '"2026-01-02T03:04:05"'])
def test_state_with_a_wrong_time_is_refused(tmp_path: Path, asked: str) -> None:
    state = tmp_path / "state.json"
    question = '{"question": "What is BM25?", "knobs": {}}'
    state.write_text(f'[{{"watched": {question}, "run": "a", "asked": {asked}}}]')
    with pytest.raises(BadInput, match="Move it away"):
        read_states(state)


def test_pipe_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="is not a file"):
        read_questions(tmp_path / "pipe", Settings())
    with pytest.raises(BadInput, match="is not a file"):
        read_states(tmp_path / "pipe")


def test_a_file_has_questions_with_their_own_knobs(tmp_path: Path) -> None:
    file = tmp_path / "questions"
    file.write_text(
        '# kettles\n\nWhat is BM25?\nWhat is BM25?\n{"question": "Why?", "knobs": {"rank.top_k": 3}}\n',
        "utf-8",
    )
    first, second = read_questions(file, Settings())
    assert (first.question, second.question, second.knobs.rank.top_k) == ("What is BM25?", "Why?", 3)


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "{}",
        '{"question": 3}',
        '{"question": "Why?", "knobs": {"top_k": 3}}',
        '{"question": "Why?", "knobs": {"rank.top_k": 99}}',
        '{"question": "Why?", "since": "yesterday"}',
        "x" * 1001,
    ],
)
def test_line_that_is_no_question_is_named_by_number(tmp_path: Path, line: str) -> None:
    file = tmp_path / "questions"
    file.write_text(f"What is BM25?\n{line}\n", "utf-8")
    with pytest.raises(BadInput, match=r"questions, line 2: ") as refused:
        read_questions(file, Settings())
    assert refused.value.hint


def test_a_state_of_something_else_is_refused_and_stays(tmp_path: Path) -> None:
    (tmp_path / "questions").write_text("What is BM25?\n")
    state = tmp_path / "questions.state.json"
    state.write_text('{"version": 7}')
    done = openquery(tmp_path, "watch", str(tmp_path / "questions"), "--once")
    assert done.code == 2 and "Move it away" in done.err
    assert state.read_text() == '{"version": 7}'
    assert openquery(tmp_path, "watch", str(tmp_path / "questions")).code == 2, "neither --once nor --every"
    assert openquery(tmp_path, "watch", str(tmp_path / "none"), "--once").code == 2
    assert openquery(tmp_path, "watch", str(tmp_path / "questions"), "--once", "--repeats", "1").code == 2


def test_command_prints_json_lines_of_runs_that_can_be_repeated(tmp_path: Path) -> None:
    (tmp_path / "questions").write_text(
        '{"question": "How does chunk overlap affect retrieval?", "knobs": {"search.backend": "demo"}}\n'
    )
    command = ("watch", str(tmp_path / "questions"), "--once", "--json", "--repeats", "3")
    done = openquery(tmp_path, *command)
    (report,) = map(json.loads, done.out.splitlines())
    assert (done.code, report["failed"], report["changes"]) == (0, False, None)
    assert openquery(tmp_path, *command).out == "", "nothing changed"
    (state,) = json.loads((tmp_path / "questions.state.json").read_text())
    since = openquery(tmp_path, "ask", "--since", state["run"], "--json")
    changes = json.loads(since.out)
    assert changes["before"]["id"] == state["run"]
    assert changes["scores"] == {"sources": 0, "texts": 0, "answer": 0}
