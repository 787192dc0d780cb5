"""`openquery watch FILE`: scheduled questions, with reports of changes beyond their noise."""

import argparse
import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from core.analysis.change_document import change_document, change_lines
from core.analysis.run_changes import ChangeScores, RunChanges, run_changes
from core.cli.ask_since import print_json
from core.cli.printing import print_text
from core.cli.shared_arguments import settings_of
from core.config.knobs import Knobs
from core.config.schema import nested, parameters
from core.config.settings import Settings
from core.errors import BadInput, OpenQueryError, StoreFailed
from core.features.watch.change_noise import FEWEST_REPEATS, MOST_REPEATS, exceeding, noise_rule
from core.features.watch.watch_state import QuestionState, WatchedQuestion, read_states, write_states
from core.pipeline import research
from core.run.events import Record
from core.run.recorded_run import RecordedRun
from core.run.repeat import Repeat, repeat
from core.run.state import Run
from core.runtime.engine import Engine
from core.storage.run_schema import RUNS
from core.storage.run_store import RunStore
from core.text.lenient_json import valid_json
from core.text.questions import checked_question
from core.text.sanitize import one_line

STATE_SUFFIX = ".state.json"
IN_THE_FUTURE = "asked now: the clock was set back, since the last ask is dated after it"
Ask = Callable[[Repeat], Awaitable[RecordedRun]]
"""Asks a question. Raises `OpenQueryError` for a failed run."""
FILE_LIMIT, MOST_LINES = 1_000_000, 1_000
"""The most bytes and lines of a file."""
_FORM = 'Write {"question": "What is BM25?", "knobs": {"rank.top_k": 3}}, or the question alone.'


class Clock:
    """The clock of the machine."""

    def now(self) -> datetime:
        """Return the time in UTC."""
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        """Wait `seconds`."""
        await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of a question: failure, noise, or changes in the scores that `exceeded` it."""

    question: str
    message: str
    failed: bool = False
    changes: RunChanges | None = None
    exceeded: frozenset[str] = frozenset()

    @property
    def lines(self) -> tuple[str, ...]:
        """The report for a terminal."""
        news = change_lines(self.changes, self.exceeded) if self.changes else ()
        return (f"{one_line(self.question, 120)}: {self.message}", *(f"  {line}" for line in news))

    @property
    def document(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {
            "question": self.question,
            "message": self.message,
            "failed": self.failed,
            "exceeded": sorted(self.exceeded),
            "changes": change_document(self.changes) if self.changes else None,
        }


class Watch:
    """Asks questions again, with the state of all questions in a file.

    The state has the run to compare with, and the noise of each question. Runs without news are not stored.
    """

    def __init__(self, state: Path, store: RunStore, ask: Ask, clock: Clock, repeats: int) -> None:
        """Raises the errors of `read_states`."""
        self._path, self._store, self._ask, self._clock = state, store, ask, clock
        self._repeats = repeats
        self._states = read_states(state)

    def asked(self, watched: WatchedQuestion) -> datetime | None:
        """Return when the question last succeeded, or None."""
        state = self._states.get(watched)
        return state.asked if state else None

    async def look(self, watched: WatchedQuestion) -> AsyncGenerator[Report]:
        """Ask the question, and report changes beyond its noise.

        A failed run leaves the state unchanged. The first time, and after each change, the question is repeated until
        its noise is known.

        Raises:
            StoreFailed: when the history cannot be read or written.
            OSError: when the state cannot be written.
        """
        try:
            state = self._states.get(watched)
            before = self._store.load(state.run) if state else None
            if state is None or before is None:
                first = await self._ask(Repeat(question=watched.question, knobs=watched.knobs, queries=()))
                before = first.run
                state = self._keep(first, QuestionState(watched=watched, run=before.id))
            elif len(state.noise) >= self._repeats:
                changed = await self._compare(state, before)
                if changed is None:
                    return
                report, latest = changed
                before = latest.run
                state = self._keep(latest, QuestionState(watched=watched, run=before.id, earlier=state.run))
                yield report
            yield await self._measure(state, before)
        except StoreFailed:
            raise
        except OpenQueryError as error:
            yield Report(question=watched.question, message=f"failed: {error}", failed=True)

    async def _compare(self, state: QuestionState, before: Run) -> tuple[Report, RecordedRun] | None:
        """Return the changes beyond the noise, with the latest run, or None."""
        noise = [ChangeScores(*scores) for scores in state.noise]
        exceeded = frozenset(ChangeScores._fields)
        scores: list[ChangeScores] = []
        for _ in range(noise_rule(len(noise)).asks):
            latest = await self._ask(repeat(before))
            changes = run_changes(before, latest.run)
            scores.append(changes.scores)
            exceeded &= exceeding(noise, changes.scores)
            if not exceeded:
                self._write(replace(state, noise=(*noise, *scores)[-MOST_REPEATS:]))
                return None
        report = Report(
            question=state.watched.question,
            message=f"changed in {' and '.join(sorted(exceeded))} from run {before.id} to {changes.after.id}",
            changes=changes,
            exceeded=exceeded,
        )
        return report, latest

    async def _measure(self, state: QuestionState, before: Run) -> Report:
        while len(state.noise) < self._repeats:
            changes = run_changes(before, (await self._ask(repeat(before))).run)
            state = self._write(replace(state, noise=(*state.noise, changes.scores)))
        noisiest = ChangeScores(*map(max, zip(*state.noise, strict=True)))
        figures = ", ".join(f"{name} {score:.2f}" for name, score in noisiest._asdict().items())
        return Report(
            question=state.watched.question,
            message=f"watched from run {before.id} on; unchanged it differs from itself by up to: {figures}",
        )

    def _keep(self, recorded: RecordedRun, state: QuestionState) -> QuestionState:
        self._store.save_recorded(recorded)
        self._store.flush()
        if problem := self._store.unsaved(recorded.run.id):
            raise StoreFailed(problem)
        return self._write(state)

    def _write(self, state: QuestionState) -> QuestionState:
        state = replace(state, asked=self._clock.now())
        states = {**self._states, state.watched: state}
        write_states(self._path, states)
        self._states = states
        return state


async def watch_in_terminal(options: argparse.Namespace) -> int:
    """Ask the questions of a file once or repeatedly, and print reports. Returns the exit code.

    `every` is the time between repetitions.

    Raises:
        BadInput: when the file or its state cannot be read, or `repeats` is out of bounds.
        StoreFailed: when the history cannot be read or written.
        OSError: when the state cannot be written.
    """
    file, repeats, settings = options.file, options.repeats, settings_of(options)
    if not FEWEST_REPEATS <= repeats <= MOST_REPEATS:
        raise BadInput(
            f"--repeats is {repeats}; it must be {FEWEST_REPEATS} to {MOST_REPEATS}.",
            hint="The default is 5.",
        )
    questions = read_questions(file, settings)
    clock = Clock()
    with closing(RunStore(settings.folder / RUNS)) as store:
        async with Engine(settings) as engine:
            watch = Watch(file.with_name(file.name + STATE_SUFFIX), store, asker(engine), clock, repeats)
            return await follow(
                watch, questions, options.every, clock, _print_json if options.as_json else _print
            )


def asker(engine: Engine) -> Ask:
    """Return a function that asks by the pipeline, with an engine's connections."""

    async def ask(asking: Repeat) -> RecordedRun:
        ports = await engine.ports(asking.knobs)
        records: list[Record] = []
        run = await research(
            asking.question,
            asking.knobs,
            ports,
            lambda record, _: records.append(record),
            queries=asking.queries,
        )
        if run.error:
            raise OpenQueryError(run.error.message, hint=run.error.hint)
        return RecordedRun(run=run, records=tuple(records))

    return ask


async def follow(
    watch: Watch,
    questions: Sequence[WatchedQuestion],
    every: timedelta | None,
    clock: Clock,
    tell: Callable[[Report], object],
) -> int:
    """Ask all due questions once, or again after `every` without an end.

    Returns 1 if a question failed, else 0. Raises the errors of `Watch.look`.
    """
    failed = False
    due = {}
    for watched in questions:
        last, now = watch.asked(watched), clock.now()
        if last and last > now:
            tell(Report(question=watched.question, message=f"{IN_THE_FUTURE} ({last:%Y-%m-%d %H:%M} UTC)."))
            last = None
        due[watched] = last + every if last and every else now
    while True:
        for watched in questions:
            if due[watched] > clock.now():
                continue
            async for report in watch.look(watched):
                tell(report)
                failed |= report.failed
            due[watched] = clock.now() + (every or timedelta())
        if every is None:
            return int(failed)
        await clock.sleep(max((min(due.values()) - clock.now()).total_seconds(), 0.0))


def _print(report: Report) -> None:
    print_text("\n".join(report.lines))


def _print_json(report: Report) -> None:
    print_json(report.document)


def read_questions(file: Path, settings: Settings) -> tuple[WatchedQuestion, ...]:
    """Read the distinct questions of a file.

    A line is a question, or an object with `question` and `knobs` by path. Empty lines and lines that begin with # are
    ignored.

    Raises:
        BadInput: when the file is too large or has no question, or a line is wrong, with its number.
        OSError: when the file cannot be read.
    """
    if not file.exists():
        raise BadInput(f"There is no file {file}.", hint="Name a text file with a question a line.")
    if not file.is_file():
        raise BadInput(f"{file} is not a file.", hint="Name a text file with a question a line.")
    with file.open("rb") as body:
        text = body.read(FILE_LIMIT + 1)
    lines = [line.strip() for line in text.decode("utf-8-sig", "replace").splitlines()]
    if len(text) > FILE_LIMIT or len(lines) > MOST_LINES:
        raise BadInput(
            f"{file} has more than {MOST_LINES:,} lines or {FILE_LIMIT:,} bytes.",
            hint="Watch fewer questions.",
        )
    questions: dict[WatchedQuestion, None] = {}
    for number, line in enumerate(lines, 1):
        if line and not line.startswith("#"):
            try:
                questions[_watched(line, settings)] = None
            except BadInput as error:
                raise BadInput(f"{file}, line {number}: {error.message}", hint=error.hint) from error
    if not questions:
        raise BadInput(f"{file} has no question.", hint="Write one a line.")
    return tuple(questions)


def _watched(line: str, settings: Settings) -> WatchedQuestion:
    question: Any = line
    knob_fields: Any = {}
    if line.startswith("{"):
        try:
            fields = valid_json(line.encode())
        except ValueError as error:
            raise BadInput("This is not JSON.", hint=_FORM) from error
        question, knob_fields = fields.get("question"), fields.get("knobs", {})
        if (
            not isinstance(question, str)
            or not isinstance(knob_fields, dict)
            or fields.keys() - {"question", "knobs"}
        ):
            raise BadInput("This is not a question with its knobs.", hint=_FORM)
    if unknown := knob_fields.keys() - {parameter.path for parameter in parameters()}:
        raise BadInput(f"There is no knob {one_line(min(unknown), 60)}.", hint=_FORM)
    return WatchedQuestion(
        question=checked_question(question), knobs=Knobs.parse(nested({**settings.knobs, **knob_fields}))
    )
