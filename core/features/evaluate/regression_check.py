"""Regression check of retrieval: new results against stored results, for continuous integration."""

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass

from core.errors import BadInput
from core.features.evaluate.experiment import Result
from core.features.evaluate.statistics.significance import (
    SIGNIFICANT,
    Interval,
    Verdict,
    difference_interval,
    p_text,
    randomization_test,
    smallest_p_value,
)

TOLERANCE = 0.02
"""The largest mean loss that passes, even if significant."""
UNWRITABLE = dict.fromkeys((*(set(range(32)) - set(b"\t\n\r")), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF))
"""Characters that XML cannot hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedQuestion:
    """The two values of a question."""

    id: str
    text: str
    before: float
    after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionCheck:
    """One metric for the same questions, before and after a change."""

    metric: str
    questions: tuple[CheckedQuestion, ...]
    missing: Mapping[str, str]
    """The reasons why questions lost their figure, by text."""
    difference: Interval | None
    """The mean of after minus before with its 95 % interval, or None without a common question."""
    p_value: float
    """The two-sided p-value of the paired randomization test."""
    tolerance: float = TOLERANCE

    @property
    def worse(self) -> bool:
        """Whether the loss is significant and above the tolerance."""
        difference = self.difference
        return difference is None or (self.p_value <= SIGNIFICANT and difference.mean < -self.tolerance)

    @property
    def verdict(self) -> str:
        """The difference with its interval and p-value as text, with a note about too few questions."""
        if not self.difference:
            return "no question in common"
        too_few = smallest_p_value(len(self.questions)) > SIGNIFICANT
        return f"{self.difference}, {p_text(self.p_value)}{f', {Verdict.TOO_FEW}' if too_few else ''}"

    @property
    def passed(self) -> bool:
        """Whether the setting is not worse and no question lost its figure."""
        return not self.worse and not self.missing


def check(
    before: Result, after: Result, metric: str, texts: Mapping[str, str], *, tolerance: float = TOLERANCE
) -> RegressionCheck:
    """Compare a stored result with a new result for the same questions.

    `texts` are the questions by id, `tolerance` is the largest mean loss that passes. For rankings that vary from run
    to run, unlike OpenQuery's, at most 2.5 % of checks fail by chance: the test is exact if a question's two values
    could be swapped, and half of its 5 % are gains.

    Raises:
        BadInput: when the stored result has no such metric.
    """
    earlier = {name: values[metric] for name, values in before.values.items() if metric in values}
    if not earlier:
        raise BadInput(f"The kept results have no {metric}.", hint="Name a metric of eval compare.")
    later = {name: values[metric] for name, values in after.values.items() if metric in values}
    questions = tuple(
        CheckedQuestion(id=name, text=texts.get(name, name), before=value, after=later[name])
        for name, value in earlier.items()
        if name in later
    )
    pairs = [question.before for question in questions], [question.after for question in questions]
    return RegressionCheck(
        metric=metric,
        questions=questions,
        missing={
            texts.get(name, name): after.failed.get(name, "It is not among the questions any more.")
            for name in earlier
            if name not in later
        },
        difference=difference_interval(*pairs) if questions else None,
        p_value=randomization_test(*pairs) if questions else 1.0,
        tolerance=tolerance,
    )


def junit_xml(checked: RegressionCheck, name: str) -> bytes:
    """Return the check as a JUnit report.

    Each question is a test, which fails only without a figure. The mean is a test that fails with the check.
    """
    suite = ET.Element("testsuite", name=_xml(f"{name}: {checked.metric}"))
    for question in checked.questions:
        case = ET.SubElement(suite, "testcase", name=_xml(question.text), classname=checked.metric)
        ET.SubElement(case, "system-out").text = f"{question.before:.3f} -> {question.after:.3f}"
    for text, why in checked.missing.items():
        case = ET.SubElement(suite, "testcase", name=_xml(text), classname=checked.metric)
        ET.SubElement(case, "error", message=_xml(why))
    mean = ET.SubElement(suite, "testcase", name="mean difference", classname=checked.metric)
    if checked.worse:
        ET.SubElement(mean, "failure", message=f"{checked.metric} changed by {checked.verdict}")
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", str(len(checked.missing)))
    return bytes(ET.tostring(suite, encoding="utf-8", xml_declaration=True))


def _xml(text: str) -> str:
    return text.translate(UNWRITABLE)
