"""Is retrieval worse than it was? Figures of now against kept ones, as a test in continuous integration."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass

from core.errors import BadInput
from core.evaluation.experiment import Result
from core.evaluation.statistics.significance import (
    SIGNIFICANT,
    Interval,
    Verdict,
    difference_interval,
    p_text,
    randomization_test,
    smallest_p_value,
)

TOLERANCE = 0.02
"""A mean loss up to this is no failure, however certain it is."""
UNWRITABLE = dict.fromkeys((*(set(range(32)) - set(b"\t\n\r")), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF))
"""Characters that XML cannot hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedQuestion:
    id: str
    text: str
    before: float
    now: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionCheck:
    """One metric of the same questions, before and now."""

    metric: str
    questions: tuple[CheckedQuestion, ...]
    missing: Mapping[str, str]
    """Why questions that had a figure have none now, by their text."""
    difference: Interval | None
    """The mean of now minus before, with its 95 % interval; None when no question has both."""
    p_value: float
    """Of the paired randomization test, two-sided."""
    tolerance: float = TOLERANCE

    @property
    def worse(self) -> bool:
        """Whether the test tells the two apart and the mean loss is larger than the tolerance."""
        found = self.difference
        return found is None or (self.p_value <= SIGNIFICANT and found.mean < -self.tolerance)

    @property
    def verdict(self) -> str:
        """The difference with its interval and p-value, in words, and whether there are too few questions to tell."""
        if not self.difference:
            return "no question in common"
        too_few = smallest_p_value(len(self.questions)) > SIGNIFICANT
        return f"{self.difference}, {p_text(self.p_value)}{f', {Verdict.TOO_FEW}' if too_few else ''}"

    @property
    def passed(self) -> bool:
        """False when the setting is worse, or when a question has no figure any more."""
        return not self.worse and not self.missing


def check(
    before: Result, now: Result, metric: str, texts: Mapping[str, str], *, tolerance: float = TOLERANCE
) -> RegressionCheck:
    """Compare two results of the same questions.

    Where rankings vary from run to run, which OpenQuery's do not, at most 2.5 % of checks fail by chance: the test is
    exact when a question's two values could be swapped, and half of its 5 % are gains.

    Args:
        before: what was kept.
        now: what was measured now.
        metric: the metric to compare.
        texts: the text of each question, by its id.
        tolerance: the largest mean loss that passes.

    Raises:
        BadInput: when the kept result has no such metric.
    """
    kept = {name: values[metric] for name, values in before.values.items() if metric in values}
    if not kept:
        raise BadInput(f"The kept results have no {metric}.", hint="Name a metric of eval compare.")
    found = {name: values[metric] for name, values in now.values.items() if metric in values}
    questions = tuple(
        CheckedQuestion(id=name, text=texts.get(name, name), before=value, now=found[name])
        for name, value in kept.items()
        if name in found
    )
    before_values, now_values = [one.before for one in questions], [one.now for one in questions]
    return RegressionCheck(
        metric=metric,
        questions=questions,
        missing={
            texts.get(name, name): now.failed.get(name, "It is not among the questions any more.")
            for name in kept
            if name not in found
        },
        difference=difference_interval(before_values, now_values) if questions else None,
        p_value=randomization_test(before_values, now_values) if questions else 1.0,
        tolerance=tolerance,
    )


def junit_xml(found: RegressionCheck, name: str) -> bytes:
    """The check as a JUnit report: a test for each question, which fails only when it has no figure, and one for the
    mean, which fails with the check.
    """
    suite = ET.Element("testsuite", name=_xml(f"{name}: {found.metric}"))
    for one in found.questions:
        case = ET.SubElement(suite, "testcase", name=_xml(one.text), classname=found.metric)
        ET.SubElement(case, "system-out").text = f"{one.before:.3f} -> {one.now:.3f}"
    for text, why in found.missing.items():
        case = ET.SubElement(suite, "testcase", name=_xml(text), classname=found.metric)
        ET.SubElement(case, "error", message=_xml(why))
    mean = ET.SubElement(suite, "testcase", name="mean difference", classname=found.metric)
    if found.worse:
        ET.SubElement(mean, "failure", message=f"{found.metric} changed by {found.verdict}")
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", str(len(found.missing)))
    return bytes(ET.tostring(suite, encoding="utf-8", xml_declaration=True))


def _xml(text: str) -> str:
    return text.translate(UNWRITABLE)
