"""The steps of an agent, as a table with expandable rows. A row has the tool's argument and result."""

from htpy import Element, Node, b, code, details, div, li, ol, span, summary

from core.analysis.steps import StepRow, step_rows
from core.run.state import Run
from core.text.sanitize import pluralize
from pages.parts import markup

ICONS = {
    "search": "travel_explore",
    "open": "article",
    "find": "find_in_page",
    "library": "library_books",
}
"""The symbols of the tools."""


def steps(run: Run) -> None:
    """Draw the steps of the run, if any."""
    if not run.steps:
        return
    heads = ("", "tool", "argument", "result", "time", "tokens")
    markup.show(
        markup.section_heading(
            "Steps", f"{len(run.steps)} of {pluralize(run.knobs.run.max_steps, 'step')} at most"
        ),
        div(".oq-tool-calls")[
            div(".head", aria_hidden="true")[(span[head] for head in heads)],
            ol[(li(class_={"bad": row.error})[_step(row)] for row in step_rows(run))],
        ],
    )


def _step(row: StepRow) -> Element:
    return details[
        summary[
            b[row.number],
            span(".tool")[markup.icon(ICONS.get(row.tool, "build")), row.tool],
            span(".argument", dir="auto", title=row.argument)[row.argument],
            span(".outcome")[row.outcome],
            span[markup.duration(row.seconds) if row.ended else "…"],
            span[f"{row.tokens:,}" if row.tokens else "–"],
        ],
        div(".opened")[
            _part("Arguments", code(dir="auto")[row.arguments]),
            row.reason and _part("Why", span(dir="auto")[row.reason]),
            row.ended and _part("Result, as data", _result(row)),
        ],
    ]


def _part(name: str, content: Node) -> Element:
    return div[span(".name")[name], content]


def _result(row: StepRow) -> Element:
    """Return the result that the model got. In its prompt, delimiters mark it as data."""
    return markup.region("result", f"Result of step {row.number}")[row.result]
