"""The conclusion of an experiment in one sentence, for the page, the command line and exports."""

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

from core.features.evaluate.experiment_state import Experiment
from core.features.evaluate.metrics.metric_help import with_unit
from core.features.evaluate.results import POWER, Confirmation, Results, SettingTest
from core.features.evaluate.setting_table import SettingRow, setting_table
from core.features.evaluate.statistics.significance import SIGNIFICANT, least_questions, p_text
from core.features.evaluate.sweep import is_plural, words
from core.runtime.event_loop import TaskStatus
from core.text.display import metric_text
from core.text.sanitize import pluralize


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """The best setting, its difference, and its confirmation on held-out questions."""

    setting: str
    """The setting of the conclusion, which is the baseline if no other setting is better."""
    subject: str
    """The displayed name of the setting, which begins the sentence."""
    predicate: str
    """The rest of the sentence."""
    note: str = ""
    """A sentence about the confirmation, if it chose another setting."""
    whole: SettingTest | None = None
    """The test of the setting against the baseline on all questions, or None for the baseline itself."""
    confirmation: Confirmation | None = None
    """The test on each half of the questions, or None with too few questions."""
    is_verdict: bool = True
    """Whether every setting was measured, so that the best setting is known."""

    @property
    def is_difference(self) -> bool:
        """Whether the difference outlasts the correction for all comparisons."""
        return self.whole is not None and self.whole.p_value <= SIGNIFICANT

    def __str__(self) -> str:
        return f"{self.subject[:1].upper()}{self.subject[1:]} {self.predicate} {self.note}".rstrip()


def part_conclusion(experiment: Experiment, baseline: str) -> Conclusion | None:
    """Return the conclusion of an unfinished experiment, or None.

    A p-value that is read after each setting is not a p-value, and a missing setting may be the best one.
    """
    if experiment.status is TaskStatus.DONE:
        return None
    measured, planned = f"{experiment.done:,}", f"{experiment.settings:,}"
    if experiment.live:
        subject, predicate = f"{measured} of {planned}", "measured, no verdict yet."
    else:
        subject, predicate = (
            f"{str(experiment.status).capitalize()} at {measured} of {planned}:",
            "no verdict.",
        )
    note = ""
    if missing := experiment.settings - experiment.done:
        note = f"{pluralize(missing, 'setting')} may still be better."
        if not experiment.live:
            note += " Continue to measure what is missing."
    return Conclusion(setting=baseline, subject=subject, predicate=predicate, note=note, is_verdict=False)


def unfinished_conclusion(results: Results, baseline: str) -> Conclusion | None:
    """Return the conclusion of results that lack settings, or None if none are known to be missing."""
    if not results.is_part or results.planned is None:
        return None
    missing = results.planned - len(results.results)
    return Conclusion(
        setting=baseline,
        subject=f"{len(results.results):,} of {pluralize(results.planned, 'setting')} measured:",
        predicate="no verdict.",
        note=f"{pluralize(missing, 'setting')} may still be better.",
        is_verdict=False,
    )


@lru_cache(maxsize=64)
def conclude(results: Results, metric: str, baseline: str) -> Conclusion:
    """Return a sentence on the setting with the highest mean of a metric.

    Raises:
        BadInput: when there is no such setting.
    """
    table, against = setting_table(results, metric, baseline), words(baseline)
    if not table.comparisons:
        alone = len(results.results) == 1
        return Conclusion(
            setting=baseline,
            subject="One setting" if alone else "All settings",
            predicate="is measured: there is nothing to compare it with yet."
            if alone
            else f"reach the same {with_unit(metric)} for every question.",
        )
    best = table.rows[1]
    least = least_questions(table.comparisons)
    if best.test and best.test.questions < least:
        return Conclusion(
            setting=baseline,
            subject="Too few questions",
            predicate=f"to show a difference, however large: {pluralize(best.test.questions, 'question')} of at least "
            f"{least} for {pluralize(table.comparisons, 'comparison')}.",
        )
    if best.test is None or best.test.difference.mean <= 0:
        return Conclusion(
            setting=baseline,
            subject="No other setting",
            predicate=f"is ahead of {against}: {with_unit(metric)} {metric_text(table.rows[0].mean.mean)}.",
        )
    if not best.significant:
        return _no_difference(best, best.test, metric, table.comparisons)
    difference, confirmation = best.test.difference, results.confirm(baseline, metric)
    predicate = (
        f"{'beat' if is_plural(best.name) else 'beats'} {against} by {metric_text(difference.mean)} {with_unit(metric)} "
        f"[{metric_text(difference.low)}, {metric_text(difference.high)}], {p_text(best.test.p_value)}"
    )
    ending, note = _confirmed(confirmation, best)
    return Conclusion(
        setting=best.name,
        subject=words(best.name),
        predicate=f"{predicate}; {ending}.",
        note=note,
        whole=best.test,
        confirmation=confirmation,
    )


def _no_difference(best: SettingRow, test: SettingTest, metric: str, comparisons: int) -> Conclusion:
    """Return the conclusion without a significant difference.

    The smallest difference shown is that of a paired z-test (Cohen 1988) at the strictest level of Holm's correction.
    """
    difference = test.difference
    normal = NormalDist()
    quantiles = normal.inv_cdf(1 - SIGNIFICANT / (2 * comparisons)) + normal.inv_cdf(POWER)
    shown = quantiles * test.spread / math.sqrt(test.questions)
    return Conclusion(
        setting=best.name,
        subject="No difference shown:",
        predicate=f"best is {words(best.name)}, {metric_text(difference.mean, signed=True)} {with_unit(metric)} "
        f"[{metric_text(difference.low)}, {metric_text(difference.high)}].",
        note=f"A difference of about {metric_text(shown)} would show four times in five with "
        f"{pluralize(test.questions, 'question')}. This does not mean that the settings are equal.",
        whole=test,
    )


def _confirmed(confirmation: Confirmation | None, best: SettingRow) -> tuple[str, str]:
    """Return the end of the sentence and a note about the held-out half."""
    if confirmation is None:
        return "there are too few questions to hold half of them out", ""
    held_out = confirmation.held_out
    figures = (
        f"({metric_text(held_out.difference.mean, signed=True)}, {p_text(held_out.p_value)}, "
        f"{pluralize(held_out.questions, 'question')})"
    )
    ending = f"{'confirmed' if confirmation.confirmed else 'not confirmed'} on the held-out half"
    if confirmation.setting in best.settings:
        return f"{ending} {figures}", ""
    if held_out.spread == 0:
        return "not confirmed", "On the half that chooses, no setting won, so there was nothing to confirm."
    chosen = words(confirmation.setting)
    return "not confirmed", f"On half of the questions another setting is best, {chosen}: {ending} {figures}."
