"""Evaluations of answers in the background: answer, measure and judge the questions of a data set."""

import asyncio
import json
import secrets
from contextlib import aclosing, closing
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from core.analysis.answers.llm_judge import Judge
from core.config.access import NO_ACCESS, Access
from core.config.knob_changes import changes
from core.config.knobs import Backend, Knobs
from core.errors import BadInput
from core.features.evaluate.answers.answering import CHANGED, answer_questions
from core.features.evaluate.answers.answers_folder import (
    FILE,
    JUDGED,
    AnswerEvaluation,
    AnswerPlan,
    Answers,
    AnswersFolder,
    has_answers,
    read_answers,
)
from core.features.evaluate.answers.judged_answers import read_labels
from core.features.evaluate.data_sets.available import AvailableDataSets
from core.features.evaluate.data_sets.corpus import data_needs_multilingual
from core.features.evaluate.data_sets.data_set import DataSet
from core.features.evaluate.services.sweep_workers import sweep_reranker
from core.features.evaluate.services.task_store import PLAN, TaskStore
from core.features.evaluate.sweep import name_of
from core.model import Phase
from core.ports import Ports
from core.runtime.engine import Engine
from core.runtime.event_loop import BackgroundLoop, Task, TaskStatus
from core.runtime.quotas import Quotas, Work
from core.stages.metered_models import MeteredChat
from core.storage.atomic_write import atomic_write

LABELS = "labels.csv"
"""The file with labelled claims in an evaluation's folder."""
MOST_REPEATS = 20
"""The most times that a claim can be judged."""


class AnswerEvaluations(TaskStore[AnswerEvaluation]):
    """Start, stop, continue and look up evaluations of answers. Every method may be called from any thread."""

    def __init__(self, loop: BackgroundLoop, engine: Engine, data: AvailableDataSets, quotas: Quotas) -> None:
        """Keep evaluations in the engine's data folder. The engine's models are used."""
        super().__init__(loop, engine.settings.folder / "answers")
        self._engine, self._data, self._quotas = engine, data, quotas

    def start(
        self,
        data: str,
        knobs: Knobs | None = None,
        access: Access = NO_ACCESS,
        *,
        repeats: int = 0,
        labels: bytes = b"",
    ) -> str:
        """Start an evaluation, and return its id.

        Args:
            data: the name of the data set.
            knobs: the setting, reduced to the groups `CHANGED`. If None, the defaults.
            access: the chat model, key and quotas of the person who starts it. They are not stored.
            repeats: the number of times that the chat model judges each sentence, 0 for no judging.
            labels: a CSV file of labelled claims for `read_labels`, or empty.

        Raises:
            BadInput: when the data set is missing, or the labels cannot be used.
            LimitReached: when the quota subject has used up its budget.
            OSError: when the evaluation cannot be written.
        """
        self._quotas.require_budget(access.quota_subject)
        default, chosen = Knobs(), knobs or Knobs()
        setting = replace(default, **{group: getattr(chosen, group) for group in CHANGED})
        plan = AnswerPlan(
            data=data,
            changes=tuple(changes(default, setting)),
            started=datetime.now(UTC).isoformat(),
            questions=len(self._data.loader(data)().questions),
            repeats=repeats,
        )
        name = secrets.token_urlsafe(9)
        _keep(self._folder / name, plan, labels)
        self.resume(name, access)
        return name

    def judge(self, name: str, access: Access = NO_ACCESS, *, repeats: int, labels: bytes = b"") -> None:
        """Judge the answers of an ended evaluation.

        The answers stay, and earlier labels stay if none are given. Takes the arguments and raises the errors of
        `start`.
        """
        evaluation = self.get(name)
        if evaluation and not evaluation.live:
            self._quotas.require_budget(access.quota_subject)
            _keep(self._folder / name, replace(evaluation.plan, repeats=repeats), labels)
            self.resume(name, access)

    def resume(self, name: str, access: Access = NO_ACCESS) -> None:
        """Continue a stopped or interrupted evaluation, and repeat failed questions. Existing answers stay.

        Raises:
            LimitReached: when the quota subject has used up its budget.
        """
        evaluation = self.get(name)
        if evaluation and not evaluation.live:
            self._quotas.require_budget(access.quota_subject)
            self._launch(name, lambda task: self._run(task, self._folder / name, evaluation.plan, access))

    def get(self, name: str) -> AnswerEvaluation | None:
        """Return the evaluation of this id, or None.

        Raises:
            BadInput: when its answers are damaged.
        """
        work = self._work.get(name)
        # Read the status before the answers, which the work may still extend.
        status = work.status if work else self._status_elsewhere(name, FILE) or TaskStatus.STOPPED
        stored, file = self.path(name), self.path(name, FILE)
        answers = _latest(file.parent) if file else None
        if stored:
            read = json.loads(stored.read_text("utf-8"))
            plan = AnswerPlan(**(read | {"changes": tuple(read["changes"])}))
        elif answers and file:  # written by openquery eval answers --out
            plan = AnswerPlan.of(answers, datetime.fromtimestamp(file.stat().st_mtime, UTC))
        else:
            return None
        evaluation = AnswerEvaluation(
            id=name,
            started=plan.started,
            plan=plan,
            answers=answers,
            status=status,
            error=work.error if work else "",
            seconds_left=work.seconds_left(len(answers.answers) if answers else 0, plan.questions)
            if work
            else None,
        )
        all_answered = evaluation.done >= plan.questions
        if (
            status is TaskStatus.STOPPED
            and work is None
            and all_answered
            and (not plan.repeats or evaluation.judged >= evaluation.to_judge)
        ):
            return replace(evaluation, status=TaskStatus.DONE)
        return evaluation

    async def _run(self, task: Task, path: Path, plan: AnswerPlan, access: Access) -> None:
        async with self._turn:
            with self._quotas.work(access.quota_subject) as spending:
                await self._answered(task, path, plan, access, spending)

    async def _answered(
        self, task: Task, path: Path, plan: AnswerPlan, access: Access, spending: Work
    ) -> None:
        task.begin()
        data = await asyncio.to_thread(self._data.loader(plan.data))
        ports = await answering_ports(self._engine, plan.knobs, data, access)
        chat = ports.chat
        if chat:
            chat = MeteredChat(chat, Phase.ANSWER, spending.charge)
        ports = replace(ports, chat=chat)
        with closing(await asyncio.to_thread(answers_folder, path, data, plan.knobs, ports)) as folder:
            done = {answer.id for answer in folder.answers.answered}
            task.begin(len(folder.answers.answers))
            async with aclosing(answer_questions(data, plan.knobs, ports, done=done)) as answers:
                async for answer in answers:
                    await asyncio.to_thread(folder.add, answer)
                    self._quotas.require_budget(access.quota_subject)
            if plan.repeats and chat:
                labelled = read_labels(path / LABELS) if (path / LABELS).exists() else ()
                judge = Judge(chat, plan.repeats, self._engine.cache)
                await folder.judge(judge, labelled)


async def answering_ports(engine: Engine, setting: Knobs, data: DataSet, access: Access = NO_ACCESS) -> Ports:
    """Return the models that answer a data set's questions. Nothing is searched, so no search engine is looked for.

    Raises:
        BadInput: when `Engine.ports` raises it, a needed reranking model is missing, or the egress policy withholds
            the data set from a model.
        ChatFailed: when `Engine.ports` raises it.
        EmbedFailed: when `Engine.ports` raises it.
    """
    sweep_reranker(engine, [setting], data)
    knobs = replace(setting, search=replace(setting.search, backend=Backend.DEMO))
    ports = await engine.ports(knobs, access, origins=data.origins)
    if ports.chat:
        engine.egress.require(ports.chat.identity, ports.chat.host, data.origins)
    is_multilingual = await asyncio.to_thread(data_needs_multilingual, data, ports.multilingual)
    return replace(ports, embed=ports.multilingual) if ports.multilingual and is_multilingual else ports


def answers_folder(folder: Path, data: DataSet, setting: Knobs, ports: Ports) -> AnswersFolder:
    """Begin or continue the folder of these models' answers."""
    return AnswersFolder(
        folder,
        data,
        setting=name_of(setting),
        embedder=ports.embed.identity,
        chat=ports.chat.identity if ports.chat else "",
    )


def _keep(folder: Path, plan: AnswerPlan, labels: bytes) -> None:
    """Write a plan and valid labels into its folder. Unusable labels change nothing."""
    if not 0 <= plan.repeats <= MOST_REPEATS:
        raise BadInput(f"A claim can be judged 1 to {MOST_REPEATS} times.", hint="Choose another number.")
    if labels:
        draft = folder / f"new-{LABELS}"
        atomic_write(draft, labels)
        try:
            read_labels(draft)
        except BadInput:
            draft.unlink()
            if not (folder / PLAN).exists():
                folder.rmdir()
            raise
        draft.replace(folder / LABELS)
    atomic_write(folder / PLAN, json.dumps(asdict(plan)).encode())


def _latest(folder: Path) -> Answers | None:
    states = tuple(
        (path.stat().st_size, path.stat().st_mtime_ns) if path.exists() else (0, 0)
        for path in (folder / FILE, folder / JUDGED)
    )
    return _answers(folder, states) if has_answers(folder) else None


@lru_cache(maxsize=32)
def _answers(folder: Path, _states: tuple[tuple[int, int], ...]) -> Answers:
    """Return answers of files with these sizes and times."""
    return read_answers(folder)
