"""The tool that measures settings on questions with known answers: evaluate."""

import asyncio
from contextlib import suppress
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from core.config.permissions import Action
from core.config.schema import nested
from core.errors import BadInput, OpenQueryError
from core.features.api.strict_json import Strict
from core.features.evaluate.data_sets.available import HANDBOOK_NAME
from core.features.evaluate.experiment import Result as MeasuredResult
from core.features.evaluate.experiment_state import Experiment
from core.features.evaluate.labels.passage_labels import LABELS_NAME
from core.features.evaluate.metrics.ranking_metrics import DOCUMENT_METRICS
from core.features.evaluate.metrics.retrieval_metrics import CONTEXT_TOKENS
from core.features.evaluate.results import Results
from core.features.evaluate.services.experiments import Experiments
from core.features.evaluate.statistics.significance import Interval
from core.features.mcp.calls import Call, Result, tool
from core.runtime.event_loop import TaskStatus
from core.text.sanitize import pluralize

POLL_SECONDS = 0.1
MOST_SETTINGS = 100
"""The most settings of one call."""
METRIC = next(iter(DOCUMENT_METRICS))


class EvaluateArguments(Strict):
    """The arguments of evaluate."""

    data: Annotated[str, Field(min_length=1, max_length=200)] = HANDBOOK_NAME
    """A data set of the Evaluate page: handbook, the name of an uploaded one, or the labelled passages."""
    settings: Annotated[dict[str, Any], Field(default_factory=dict, max_length=20)]
    """Settings of passages and ranking by path, such as rank.strategy. A list holds values to try; all combinations are
    measured. Settings that are not named have their defaults."""
    metric: Annotated[str, Field(max_length=40)] = METRIC
    """The metric of the comparison, such as nDCG@10, recall@10, MRR@10 or excerpt recall (of the context)."""


class MetricFigure(BaseModel):
    """The mean of a metric over the questions, with a 95 % interval for metrics from 0 to 1."""

    mean: float
    low: float | None
    high: float | None


class MeasuredSetting(BaseModel):
    """A setting with its metrics, compared with the first setting."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    setting: str
    """What differs from the defaults, or `defaults`."""
    metrics: dict[str, MetricFigure]
    passages: int
    failed: int
    """Questions without metrics, which are in no mean."""
    difference: float | None
    """The mean difference of `metric` to the first setting; null for the first."""
    p_value: float | None
    """Of the paired randomization test, corrected for all comparisons."""
    verdict: str


class EvaluateResult(Result):
    """Settings measured on a data set, the baseline first."""

    experiment: str
    data: str
    questions: int
    metric: str
    settings: list[MeasuredSetting]
    best: str
    """The setting with the highest mean of `metric`."""
    link: str


@tool("Measure settings", reads_only=False)
async def evaluate(call: Call, arguments: EvaluateArguments) -> EvaluateResult:
    """Measure settings of passages and ranking on a data set with known answers, such as the handbook, and compare
    them: metrics with intervals, and a test against the first setting. The experiment stays on the Evaluate page.
    """
    labelled = arguments.data == LABELS_NAME
    call.caller.require(Action.EVALUATE_LABELS if labelled else Action.EVALUATE_DATA_SETS)
    experiments = call.service.runs.service(Experiments)
    swept = nested(arguments.settings)
    tried = await asyncio.to_thread(experiments.settings, swept)
    if len(tried) > MOST_SETTINGS:
        raise BadInput(
            f"These are {pluralize(len(tried), 'setting')}; {MOST_SETTINGS} can be measured in one call.",
            hint="Try fewer values at once.",
        )
    user = call.caller.name if call.service.settings().shared else ""
    name = await asyncio.to_thread(experiments.start, arguments.data, swept, user)
    try:
        experiment = await _ended(call, experiments, name)
    except BaseException:
        with suppress(OpenQueryError):
            await asyncio.shield(asyncio.to_thread(experiments.stop, name))
        raise
    results = await asyncio.to_thread(experiments.results, name)
    if results is None or experiment.status is not TaskStatus.DONE:
        raise BadInput(experiment.error or "The experiment was stopped.", hint="Call the tool again.")
    return await asyncio.to_thread(_measured, call, name, results, arguments.metric)


async def _ended(call: Call, experiments: Experiments, name: str) -> Experiment:
    done = -1
    while True:
        experiment = await asyncio.to_thread(experiments.get, name)
        if experiment is None:
            raise BadInput("The experiment was deleted meanwhile.", hint="Call the tool again.")
        if not experiment.live:
            return experiment
        if experiment.done > done:
            done = experiment.done
            await call.report(
                done, experiment.settings, f"{done:,} of {pluralize(experiment.settings, 'setting')}"
            )
        await asyncio.sleep(POLL_SECONDS)


def _measured(call: Call, name: str, results: Results, metric: str) -> EvaluateResult:
    if metric not in results.metrics:
        raise BadInput(f"There is no metric {metric}.", hint=f"There are: {', '.join(results.metrics)}.")
    baseline = results.results[0].setting
    several = len(results.with_metric(metric).results) > 1
    tests = {test.setting: test for test in results.compare(baseline, metric)} if several else {}
    measured = []
    for result in results.results:
        test = tests.get(result.setting)
        measured.append(
            MeasuredSetting(
                setting=result.setting,
                metrics={
                    each: MetricFigure(
                        mean=mean,
                        low=interval.low if (interval := _interval(results, result, each)) else None,
                        high=interval.high if interval else None,
                    )
                    for each in results.metrics
                    if (mean := results.mean(result, each)) is not None
                },
                passages=result.passages,
                failed=len(result.failed),
                difference=test.difference.mean if test else None,
                p_value=test.p_value if test else None,
                verdict=str(test.verdict) if test else "baseline",
            )
        )
    return EvaluateResult(
        experiment=name,
        data=results.data,
        questions=len(results.questions),
        metric=metric,
        settings=measured,
        best=max(
            (each for each in measured if metric in each.metrics), key=lambda each: each.metrics[metric].mean
        ).setting,
        link=call.link("evaluate", view="results", experiment=name),
    )


def _interval(results: Results, result: MeasuredResult, metric: str) -> Interval | None:
    return None if metric == CONTEXT_TOKENS else results.interval(result, metric)


TOOLS = (evaluate,)
