"""Figures of labels: one question, all questions, labelled passages."""

from collections.abc import Sequence

from htpy import Element, Node, b, div, i, li, ol, p, span, td, tr

from core.features.evaluate.answers.judged_answers import kappa_interval
from core.features.evaluate.labels.comparison_power import rounded_up
from core.features.evaluate.labels.graded_ranking import Bounds, GradedRanking, NdcgComparison
from core.features.evaluate.labels.label_samples import DEPTH
from core.features.evaluate.labels.label_verdict import LabelVerdict
from core.features.evaluate.metrics.metric_help import with_unit
from core.features.evaluate.statistics.significance import Interval, Verdict
from core.storage.label_store import LabelledTwice
from core.text.sanitize import one_line, plural, pluralize
from pages.parts import markup
from pages.parts.evaluate.settings_table import interval_bar
from pages.parts.research.label_view import NAMES

DIFFERENT = 50
"""Most passages to list with differing labels of two people."""


def question_card(
    title: str, compared: NdcgComparison, second: GradedRanking, before: NdcgComparison | None
) -> Element:
    """Return nDCG of both rankings, and the latest label's change.

    `second` is ranking B. `before` has the rankings without the latest label, or None before the first label.
    """
    first_range, second_range = compared.ranking, compared.other
    count = len(second.order[:DEPTH])
    return div(".oq-labelled")[
        markup.section_heading(
            title,
            f"{with_unit(f'nDCG@{DEPTH}', 'passages')}, {second.labelled} of the first {count} of B have a label",
        ),
        [
            div(".effect")[span(".a")[_range(first_range)], i["→"], span(".b")[_range(second_range)]],
            _bars(first_range, second_range),
        ]
        if first_range and second_range
        else p[b["No relevant passage yet."]],
        p[_decided(compared, count - second.labelled)],
        p(".quiet")[f"Before the latest label: {_range(before.ranking)} → {_range(before.other)}."]
        if before and before.ranking and (before.ranking, before.other) != (compared.ranking, compared.other)
        else None,
    ]


def _range(bounds: Bounds | None) -> str:
    return "none" if bounds is None else str(bounds).replace(" to ", "–")


def _bars(first: Bounds, second: Bounds) -> Node:
    low = min(first.low, second.low)
    extent = max(first.high, second.high) - low

    def place(value: float) -> str:
        return f"{4 + 92 * (value - low) / (extent or 1):.2f}%"

    def bar(bounds: Bounds, *, sure: bool) -> Element:
        interval = Interval((bounds.low + bounds.high) / 2, bounds.low, bounds.high)
        return span(".plot")[interval_bar(place, interval, sure=sure)]

    return div(".oq-evidence", style=f"--base:{place((first.low + first.high) / 2)}")[
        span["A"], bar(first, sure=False), span["B"], bar(second, sure=True)
    ]


def _decided(compared: NdcgComparison, missing: int) -> Node:
    match compared.verdict:
        case Verdict.BETTER | Verdict.WORSE:
            better = "A" if compared.verdict is Verdict.BETTER else "B"
            return [b[f"{better} is better"], ", whatever the labels that are missing will be."]
        case Verdict.EQUAL:
            return [b["Equal"], ": both rankings reach the same."]
    bounds = compared.other
    if not missing:
        return [b["Not decided"], ": passages of A have no label."]
    return [
        b["Not decided"],
        f": {pluralize(missing, 'passage')} of B {plural(missing, 'has', 'have')} no label.",
        f" B is at {bounds.low:.3f} if they turn out badly, and at {bounds.high:.3f} if well."
        if bounds
        else "",
    ]


def all_questions(comparison: LabelVerdict) -> Element:
    """Return the difference over all questions, and the distance to a verdict."""
    difference = comparison.difference
    return div(".oq-labelled")[
        markup.section_heading(
            "All questions",
            f"A minus B, {with_unit(f'DCG@{DEPTH}', 'passages')}: {difference}" if difference else "",
        ),
        markup.facts(
            markup.fact(
                f"{comparison.labels:,}",
                plural(comparison.labels, "label"),
                f"Labelling the first {DEPTH} passages of both rankings in every question would take {comparison.pool:,}.",
            ),
            markup.fact(
                f"{comparison.questions:,} of {comparison.of:,}",
                plural(comparison.of, "question"),
                "Those whose passages to label are labelled, in random order. Only these count.",
            ),
        ),
        _progress(comparison),
    ]


def _progress(comparison: LabelVerdict) -> Node:
    needed = comparison.needed
    if needed is None:
        return None
    missing = rounded_up(needed - comparison.questions)
    planned = f"{comparison.planned:.2f}" + (", as it is now" if comparison.difference else "")
    return [
        div(".way")[
            span[b[f"{comparison.questions:,}"], f" of about {needed:,} for a verdict"],
            markup.meter(comparison.questions / needed),
        ],
        p[
            f"{pluralize(comparison.of, 'question')} cannot decide a difference of {planned}; about {needed:,} can."
            if needed > comparison.of
            else f"About {pluralize(missing, 'more question')} would decide a difference of {planned}.",
        ],
    ]


def passages(rows: Sequence[tuple[str, str]], current: int) -> Element:
    """Return the list of a question's passages.

    `rows` has title and grade of each, with "" for no grade. `current` is the index of the open passage.
    """
    labelled = sum(bool(grade) for _, grade in rows)
    return div(".oq-labelled")[
        markup.section_heading(
            "Passages", f"of this question, in no ranking’s order; {labelled} of {len(rows)}"
        ),
        ol(".oq-queue")[
            (
                li(class_={"on": place == current}, aria_current="true" if place == current else None)[
                    span(dir="auto")[title],
                    grade_tag(grade or ("now" if place == current else "")),
                ]
                for place, (title, grade) in enumerate(rows)
            )
        ],
    ]


def grade_tag(grade: str) -> Node:
    """Return a grade in a rounded box, or "" without a grade."""
    return grade and span(class_=["oq-tag", "grade", grade])[grade]


def two_people(name: str, other: str, labelled: Sequence[LabelledTwice]) -> Node:
    """Return the differing labels of two people, and their agreement.

    The agreement is corrected for chance.
    """
    different = [twice for twice in labelled if twice.grades[0] is not twice.grades[1]]
    questions = len({twice.question for twice in labelled})
    rows = (
        tr[
            td(dir="auto")[one_line(twice.question, 80)],
            td(dir="auto")[one_line(twice.text, 80)],
            (td[grade_tag(NAMES[grade])] for grade in twice.grades),
        ]
        for twice in different[:DIFFERENT]
    )
    label = "Passages that two people labelled differently"
    return [
        markup.section_heading(
            "Two people, apart",
            f"{pluralize(len(labelled), 'passage')} of {pluralize(questions, 'question')} labelled by both; "
            f"they differ in {len(different):,}{_agreement(labelled)}",
        ),
        bool(different)
        and markup.data_table(label, ("question", "passage", name, other), rows, "oq-settings people"),
    ]


def _agreement(labelled: Sequence[LabelledTwice]) -> str:
    try:
        return f"; Cohen’s kappa {kappa_interval(*zip(*(twice.grades for twice in labelled), strict=True))}"
    except (TypeError, ValueError):  # no labels, or the same grade throughout
        return ""
