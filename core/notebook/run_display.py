"""Displays of a run and its parts: answer, ranking, source, phases, comparison, trace, metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import htpy
from htpy import Node, b, blockquote, div, h3, li, mark, p, span, ul

from core.analysis.answers.source_cards import passages_of_documents, source_cards
from core.analysis.change_document import change_lines
from core.analysis.progress import phase_progress, spoken_state
from core.analysis.rankings.ranked_passages import SCORES, passage_in_context, ranked_passages
from core.analysis.retrieval.trace import Trace
from core.analysis.retrieval.trace_steps import StepState, trace_steps
from core.analysis.run_changes import RunChanges
from core.evaluation.labels.graded_ranking import DEPTH, GradedRanking
from core.model import AnswerKind, Ranking, Source, source_numbers
from core.notebook.display import Display, bar, empty, facts, rows_table, text_table
from core.run.state import Run
from core.text.display import decimal, duration
from core.text.markdown.elements import elements
from core.text.sanitize import one_line, pluralize

SHOWN_PASSAGES = 10
"""Passages that a ranking shows when nothing else is said."""
AROUND = 400
"""Characters of the page on either side of a passage."""
SIGNS = {StepState.PASSED: "✓", StepState.ENDED: "✗", StepState.NOT_REACHED: "–", StepState.UNKNOWN: "?"}


def run_display(run: Run) -> Display[Run]:
    """Question, state, answer, sources and notices."""
    cards = source_cards(run)
    head = (
        (duration(run.seconds), "in total"),
        *([(f"{run.full_pages:,} of {len(run.hits):,}", "pages read")] if run.hits else []),
        *([(passages_of_documents(cards), "as sources")] if cards else []),
    )
    shown = answer_display(run)
    losses = [*([str(run.error)] if run.error else []), *map(str, run.notices)]
    lines = [
        run.question,
        spoken_state(run),
        " · ".join(f"{value} {label}" for value, label in head),
        "",
        shown.text,
    ]
    return Display(
        value=run,
        content=(
            h3(dir="auto")[run.question],
            p[spoken_state(run)],
            facts(*head),
            shown.content,
            bool(losses) and ul(".quiet")[(li[line] for line in losses)],
        ),
        text="\n".join([*lines, *losses]).strip(),
    )


def answer_display(run: Run) -> Display[str]:
    """The answer with its citations, and the sources by their numbers."""
    titles = {source.number: one_line(source.title, 100) for source in run.sources}
    cards = source_cards(run)
    none = "The run has no answer." if run.answer is None and not run.text else ""
    kind = (
        "Extractive: sentences quoted from the sources."
        if run.answer and run.answer.kind is AnswerKind.EXTRACTIVE
        else ""
    )
    return Display(
        value=run.text,
        content=(
            none and p(".quiet")[none],
            div(dir="auto")[_markdown(elements(run.text, source_numbers(run.sources)), titles)],
            kind and p(".quiet")[kind],
            bool(cards)
            and rows_table(
                ("", "source", "passage", "cited"),
                (
                    (
                        b[card.number],
                        (card.title, div(".quiet")[card.site]),
                        card.snippet,
                        f"{card.citations}×",
                    )
                    for card in cards
                ),
                numbers=("", "cited"),
            ),
        ),
        text="\n".join([none or run.text, *(f"[{card.number}] {card.title} · {card.url}" for card in cards)]),
    )


def _markdown(tree: Iterable[Any], titles: Mapping[int, str]) -> Iterator[Node]:
    """Elements of `core.text.markdown.elements` as elements of a display."""
    for element in tree:
        if isinstance(element, str):
            yield element
        elif number := element.get("cite"):
            yield span(".cite", title=titles.get(number, ""))[f"[{number}]"]
        else:
            made = getattr(htpy, element["tag"])(start=element.get("start"))
            yield made[_markdown(element["in"], titles)] if element["in"] else made


def progress_display(run: Run) -> Display[Run]:
    """The phases so far, with their counts and times."""
    rows = [
        (step.title, str(step.state), f"{step.count} {step.unit}".strip(), _seconds(step.seconds))
        for step in phase_progress(run, run.seconds)
    ]
    head = ("phase", "state", "count", "time")
    return Display(
        value=run,
        content=(div(".quiet")[spoken_state(run)], rows_table(head, rows, numbers=("count", "time"))),
        text=text_table(head, rows),
    )


def ranking_display(run: Run, first: int = SHOWN_PASSAGES) -> Display[Ranking | None]:
    """The best passages with their scores, and all of the context."""
    if run.ranking is None:
        return empty(None, "The run has no ranking.")
    rows = ranked_passages(run)
    shown = [row for row in rows if row.rank <= first or row.number]
    scores = [name for name in SCORES if getattr(run.ranking, name) is not None]
    name, deciding = run.ranking.deciding
    best = max((float(deciding[row.row]) for row in shown[:1]), default=0.0) if deciding is not None else 0.0
    head = ("rank", "source", "", *scores, "passage", "site")

    def cells(row: Any) -> list[str]:
        values = [getattr(row, score) for score in scores]
        return ["" if value is None else decimal(value, 3) for value in values]

    note = f"{pluralize(len(rows), 'passage')} by {name}, {len(run.ranking.context)} in the context"
    return Display(
        value=run.ranking,
        content=(
            div(".quiet")[note],
            rows_table(
                head,
                (
                    (
                        str(row.rank),
                        row.number and b[f"[{row.number}]"],
                        deciding is not None and best > 0 and bar(float(deciding[row.row]) / best),
                        *cells(row),
                        row.snippet,
                        row.site,
                    )
                    for row in shown
                ),
                numbers=("rank", "source", *scores),
            ),
        ),
        text=note
        + "\n"
        + text_table(
            ("rank", "source", *scores, "passage"),
            (
                (str(row.rank), f"[{row.number}]" if row.number else "", *cells(row), one_line(row.text, 70))
                for row in shown
            ),
        ),
    )


def source_display(run: Run, source: Source) -> Display[Source]:
    """A source's passage, marked in the text around it."""
    page = run.pages.get(source.passage.place.page)
    shown = passage_in_context(page, source.passage.place, AROUND) if page else None
    before, after = (shown.before, shown.after) if shown else (source.before, source.after)
    return Display(
        value=source,
        content=(
            b[f"[{source.number}] {source.title}"],
            div(".quiet")[source.url],
            blockquote(dir="auto")[before, mark[source.passage.text], after],
        ),
        text=f"[{source.number}] {source.title} · {source.url}\n{source.text}",
    )


def comparison_display(changes: RunChanges) -> Display[RunChanges]:
    """What entered and left the context, how far the rankings agree, and what else differs between two runs."""
    ranks, ranking = changes.ranks, changes.ranking
    moved = [change for change in ranks if change.entered or change.left]
    rows = [
        (
            "+" if change.entered else "−",
            "" if change.before is None else str(change.before),
            "" if change.after is None else str(change.after),
            change.label,
            change.site,
        )
        for change in moved
    ]
    head = ("", "rank before", "rank after", "passage", "site")
    agreement = (
        f"Context: {sum(change.entered for change in moved)} entered, {sum(change.left for change in moved)} left, "
        f"{len(ranks) - len(moved)} reordered. Rank-biased overlap {ranking.overlap:.2f}."
        if ranking
        else "One of the runs has no ranking."
    )
    others = [*change_lines(changes)] if changes.before.id != changes.after.id else []
    return Display(
        value=changes,
        content=(
            p[agreement],
            bool(rows)
            and rows_table(
                head,
                ((span(class_="good" if row[0] == "+" else "bad")[row[0]], *row[1:]) for row in rows),
                numbers=head[1:3],
            ),
            ul[(li[line] for line in others)] if others else None,
        ),
        text="\n".join([agreement, *([text_table(head, rows)] if rows else []), *others]),
    )


def trace_display(trace: Trace) -> Display[Trace]:
    """How far a text or an address came on its way to the answer."""
    steps = [(SIGNS[step.state], step.title, str(step.state)) for step in trace_steps(trace)]
    tones = {SIGNS[StepState.PASSED]: "good", SIGNS[StepState.ENDED]: "bad"}
    return Display(
        value=trace,
        content=(
            p[
                (
                    span(class_=tones.get(sign, "quiet"), title=state)[f"{sign} {title}", "   "]
                    for sign, title, state in steps
                )
            ],
            p[b[trace.message]],
        ),
        text="\n".join([*(f"{sign} {title}" for sign, title, _ in steps), trace.message]),
    )


def metrics_display(ranking: GradedRanking) -> Display[GradedRanking]:
    """The metrics of a ranking by its labels. A range is what the labels that are missing can still make of it."""
    labelled = (f"{ranking.labelled} of {len(ranking.order[:DEPTH])}", "labelled")
    pairs = [labelled, *((value, name) for name, value in ranking.figures.items())]
    note = "" if ranking.figures else "No passage is labelled relevant yet."
    return Display(
        value=ranking,
        content=(facts(*pairs), note and p(".quiet")[note]),
        text=" · ".join(f"{value} {name}" for value, name in pairs) + (f". {note}" if note else ""),
    )


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else duration(seconds)
