"""Evaluations of answers in the background, one after another: a data set's questions answered, measured and judged."""

import asyncio
import json
import secrets
import time
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
from core.evaluation.answers.answering import CHANGED, answer_questions
from core.evaluation.answers.answers_folder import (
    FILE,
    JUDGED,
    AnswerEvaluation,
    AnswerPlan,
    Answers,
    AnswersFolder,
    has_answers,
    read_answers,
)
from core.evaluation.answers.judged_answers import read_labels
from core.evaluation.data_sets.available import AvailableDataSets
from core.evaluation.data_sets.corpus import reads_data_across
from core.evaluation.data_sets.data_set import DataSet
from core.evaluation.experiment_state import ExperimentStatus
from core.evaluation.sweep import name_of
from core.model import Phase
from core.ports import Ports
from core.runtime.choices.sweep_workers import sweep_reranker
from core.runtime.engine import Engine
from core.runtime.event_loop import BackgroundLoop
from core.runtime.quotas import Quotas
from core.runtime.quotas import Work as Spending
from core.runtime.side_jobs.work_folders import PLAN, Work, WorkFolders
from core.stages.metered_models import MeteredChat
from core.storage.atomic_write import atomic_write

LABELS = "labels.csv"
"""The claims that people have labelled, in the folder of an evaluation."""
MOST_REPEATS = 20
"""How often a claim can be judged."""


class AnswerEvaluations(WorkFolders[AnswerEvaluation]):
    """Start, stop, continue and look up evaluations of answers. Every method may be called from any thread."""

    def __init__(self, loop: BackgroundLoop, engine: Engine, data: AvailableDataSets, quotas: Quotas) -> None:
        """Evaluations are kept in the data folder of the engine, whose models are used."""
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
            knobs: the setting, of which the groups `CHANGED` count; None: the defaults.
            access: the chat model, key and quotas of whoever starts it, which are not stored.
            repeats: how often the chat model judges each sentence; 0: not at all.
            labels: a CSV file of labelled claims, as `read_labels` takes it; empty: there are none.

        Raises:
            BadInput: when there is no such data set, or the labels cannot be used.
            LimitReached: when the quota subject has used up its budget.
            OSError: when it cannot be written.
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
        """Have the answers of an evaluation that has ended judged; they stay. The arguments and errors are those of
        `start`; labels of before stay where none are given."""
        evaluation = self.get(name)
        if evaluation and not evaluation.live:
            self._quotas.require_budget(access.quota_subject)
            _keep(self._folder / name, replace(evaluation.plan, repeats=repeats), labels)
            self.resume(name, access)

    def resume(self, name: str, access: Access = NO_ACCESS) -> None:
        """Continue an evaluation that was stopped or interrupted, and ask again what failed; what is answered stays.

        Raises:
            LimitReached: when the quota subject has used up its budget.
        """
        evaluation = self.get(name)
        if evaluation and not evaluation.live:
            self._quotas.require_budget(access.quota_subject)
            self._launch(name, lambda work: self._run(work, self._folder / name, evaluation.plan, access))

    def get(self, name: str) -> AnswerEvaluation | None:
        """The evaluation of this id; None when there is none.

        Raises:
            BadInput: when its answers are damaged.
        """
        work = self._work.get(name)
        # Before what it may still write.
        status = work.status if work else self._status_elsewhere(name, FILE) or ExperimentStatus.STOPPED
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
            status is ExperimentStatus.STOPPED
            and work is None
            and all_answered
            and (not plan.repeats or evaluation.judged >= evaluation.to_judge)
        ):
            return replace(evaluation, status=ExperimentStatus.DONE)
        return evaluation

    async def _run(self, work: Work, path: Path, plan: AnswerPlan, access: Access) -> None:
        async with self._turn:
            with self._quotas.work(access.quota_subject) as spending:
                await self._answered(work, path, plan, access, spending)

    async def _answered(
        self, work: Work, path: Path, plan: AnswerPlan, access: Access, spending: Spending
    ) -> None:
        work.status = ExperimentStatus.RUNNING
        data = await asyncio.to_thread(self._data.loader(plan.data))
        ports = await answering_ports(self._engine, plan.knobs, data, access)
        chat = ports.chat
        if chat:
            chat = MeteredChat(chat, Phase.ANSWER, spending.charge)
        ports = replace(ports, chat=chat)
        with closing(await asyncio.to_thread(answers_folder, path, data, plan.knobs, ports)) as folder:
            done = {answer.id for answer in folder.answers.answered}
            work.began, work.done_before = time.monotonic(), len(folder.answers.answers)
            async with aclosing(answer_questions(data, plan.knobs, ports, done=done)) as answers:
                async for answer in answers:
                    await asyncio.to_thread(folder.add, answer)
                    self._quotas.require_budget(access.quota_subject)
            if plan.repeats and chat:
                labelled = read_labels(path / LABELS) if (path / LABELS).exists() else ()
                judge = Judge(chat, plan.repeats, self._engine.cache)
                await folder.judge(judge, labelled)


async def answering_ports(engine: Engine, setting: Knobs, data: DataSet, access: Access = NO_ACCESS) -> Ports:
    """The models that answer the questions of a data set. Nothing is searched, so no search engine is looked for.

    Raises:
        BadInput: as `Engine.ports`; also when the setting needs a reranking model and there is none, or the egress
            policy withholds the data set from a model.
        ChatFailed: as `Engine.ports`.
        EmbedFailed: as `Engine.ports`.
    """
    sweep_reranker(engine, [setting], data)
    knobs = replace(setting, search=replace(setting.search, backend=Backend.DEMO))
    ports = await engine.ports(knobs, access, origins=data.origins)
    if ports.chat:
        engine.egress.require(ports.chat.identity, ports.chat.host, data.origins)
    is_across = await asyncio.to_thread(reads_data_across, data, ports.across)
    return replace(ports, embed=ports.across) if ports.across and is_across else ports


def answers_folder(folder: Path, data: DataSet, setting: Knobs, ports: Ports) -> AnswersFolder:
    """The folder of the answers that these models give, as `AnswersFolder` begins or continues it."""
    return AnswersFolder(
        folder,
        data,
        setting=name_of(setting),
        embedder=ports.embed.identity,
        chat=ports.chat.identity if ports.chat else "",
    )


def _keep(folder: Path, plan: AnswerPlan, labels: bytes) -> None:
    """Write a plan into its folder, and labels if they can be used; else nothing is changed."""
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
    """The answers in a folder; None before the first."""
    states = tuple(
        (path.stat().st_size, path.stat().st_mtime_ns) if path.exists() else (0, 0)
        for path in (folder / FILE, folder / JUDGED)
    )
    return _answers(folder, states) if has_answers(folder) else None


@lru_cache(maxsize=32)
def _answers(folder: Path, _states: tuple[tuple[int, int], ...]) -> Answers:
    """The answers in files of these sizes, written at these times."""
    return read_answers(folder)
