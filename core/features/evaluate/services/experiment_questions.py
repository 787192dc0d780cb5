"""Questions of experiments as runs, ranked on the data set."""

import asyncio
from collections.abc import Callable, Sequence

from core.errors import BadInput
from core.features.evaluate.data_sets.available import AvailableDataSets
from core.features.evaluate.data_sets.data_set import Question
from core.features.evaluate.experiment_state import Experiment
from core.features.evaluate.question_runs import QuestionRuns
from core.features.evaluate.services.sweep_workers import data_embedder
from core.run.recorded_run import RecordedRun
from core.runtime.engine import Engine
from core.runtime.event_loop import BackgroundLoop


class ExperimentQuestions:
    """Ranks questions again under settings of their experiment. Any thread may call.

    The data set of the latest experiment is kept, with its passages and vectors.
    """

    def __init__(
        self,
        loop: BackgroundLoop,
        engine: Engine,
        get: Callable[[str], Experiment | None],
        data: AvailableDataSets,
    ) -> None:
        self._loop, self._engine = loop, engine
        self._get, self._data = get, data
        self._latest: tuple[str, QuestionRuns] | None = None

    def runs(
        self, experiment: str, question: str, settings: Sequence[str]
    ) -> tuple[Question, tuple[RecordedRun, ...]]:
        """Return a question of an experiment, and its run under each setting.

        `experiment` and `question` are ids, and `settings` are names.

        Raises:
            BadInput: when the data set is gone, lacks the question, cannot be used, or is too large.
            EmbedFailed: when a text has no vector.
        """
        return self._loop.call(self._ranked(experiment, question, settings))

    async def _ranked(
        self, experiment: str, question: str, settings: Sequence[str]
    ) -> tuple[Question, tuple[RecordedRun, ...]]:
        latest = self._latest
        if latest is None or latest[0] != experiment:
            latest = self._latest = experiment, await self._opened(experiment)
        runs = await latest[1].runs(question, settings)
        return latest[1].questions[question], runs

    async def _opened(self, experiment: str) -> QuestionRuns:
        plan = self._get(experiment)
        if plan is None:
            raise BadInput("There is no such experiment any more.", hint="Choose another one.")
        data = await asyncio.to_thread(self._data.loader(plan.data, plan.user))
        embed = await data_embedder(self._engine, data)
        return QuestionRuns(data, embed, self._engine.models.reranker())
