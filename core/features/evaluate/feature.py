"""The entry of evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.features.evaluate.commands.arguments import COMMANDS
from core.runtime.features import Feature, Page

if TYPE_CHECKING:
    from core.runtime.registry import RunRegistry


def _services(runs: RunRegistry) -> tuple[object, ...]:
    from core.features.evaluate.services.answer_evaluations import AnswerEvaluations
    from core.features.evaluate.services.experiments import Experiments
    from core.features.evaluate.services.question_drafting import QuestionDrafting
    from core.features.evaluate.services.run_comparisons import RunComparisons

    experiments = Experiments(runs.loop, runs.engine, runs.settings.folder, runs.store, runs.labels)
    return (
        experiments,
        AnswerEvaluations(runs.loop, runs.engine, experiments.data, runs.quotas),
        QuestionDrafting(runs.loop, runs.engine, runs.quotas, runs.get, experiments),
        RunComparisons(runs.get, runs.labels),
    )


FEATURE = Feature(
    name="evaluate",
    uses=("library",),
    commands=COMMANDS,
    services=_services,
    page=Page(file="pages/evaluate.py", title="Evaluate"),
)
