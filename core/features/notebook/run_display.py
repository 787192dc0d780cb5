"""Displays of a run and its parts: answer, ranking, source, phases, comparison, trace, metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import htpy
from htpy import Node, b, blockquote, div, h3, li, mark, p, span, ul

from core.analysis.answers.source_cards import SNIPPET_ONLY, passages_of_documents, source_cards
from core.analysis.change_document import change_lines
from core.analysis.progress import phase_progress, spoken_state
from core.analysis.rankings.ranked_passages import SCORES, RankedPassage, passage_in_context, ranked_passages
from core.analysis.retrieval.trace import StepState, Trace
from core.analysis.run_changes import RunChanges
from core.features.evaluate.labels.graded_ranking import DEPTH, GradedRanking
from core.features.evaluate.metrics.metric_help import with_unit
from core.features.notebook.display import Display, bar, empty, facts, rows_table
from core.model import (
    TEXT_LEFT_OUT,
    AnswerKind,
    Ranking,
    Source,
    is_left_out,
    readable,
    snippet_numbers,
    source_numbers,
)
from core.run.state import Run
from core.text.display import decimal, duration
from core.text.markdown.elements import elements
from core.text.sanitize import one_line, pluralize

SHOWN_PASSAGES = 10
"""The number of displayed passages of a ranking, besides those of the context."""
AROUND = 400
"""Characters of the page on either side of a passage."""
SIGNS = {StepState.PASSED: "✓", StepState.ENDED: "✗", StepState.NOT_REACHED: "–", StepState.UNKNOWN: "?"}
TONES = {StepState.PASSED: "good", StepState.ENDED: "bad"}


def run_display(run: Run) -> Display[Run]:
    """Display question, state, answer, sources and notices."""
    cards = source_cards(run)
    figures = (
        (duration(run.seconds), "in total"),
        *([(f"{run.full_pages:,} of {len(run.hits):,}", "pages read")] if run.hits else []),
        *([(passages_of_documents(cards), "as sources")] if cards else []),
    )
    losses = [*([str(run.error)] if run.error else []), *map(str, run.notices)]
    return Display(
        value=run,
        content=(
            h3(dir="auto")[run.question],
            p[spoken_state(run)],
            facts(*figures),
            answer_display(run).content,
            bool(losses) and ul(".quiet")[(li[line] for line in losses)],
        ),
    )


def answer_display(run: Run) -> Display[str]:
    """Display the answer with citations and sources."""
    if run.answer is None and not run.text:
        return empty("", "The run has no answer.")
    titles = {source.number: one_line(source.title, 100) for source in run.sources}
    is_extractive = run.answer is not None and run.answer.kind is AnswerKind.EXTRACTIVE
    rows = [
        (
            b[f"[{card.number}]"],
            (card.title, div(".quiet")[card.site, card.snippet_only and f" · {SNIPPET_ONLY}"]),
            card.snippet,
            f"{card.citations}×",
        )
        for card in source_cards(run)
    ]
    return Display(
        value=run.text,
        content=(
            [p[b[str(notice)]] for notice in run.notices if notice.is_caveat],
            div(dir="auto")[
                _markdown(
                    elements(readable(run.text), source_numbers(run.sources), snippet_numbers(run.sources)),
                    titles,
                )
            ],
            is_extractive and p(".quiet")["Extractive: sentences quoted from the sources."],
            bool(rows) and rows_table(("", "source", "passage", "cited"), rows, numbers=("cited",)),
        ),
    )


def _markdown(tree: Iterable[Any], titles: Mapping[int, str]) -> Iterator[Node]:
    """Yield display elements for elements of `core.text.markdown.elements`."""
    for element in tree:
        if isinstance(element, str):
            yield element
        elif number := element.get("cite"):
            yield span(".cite", title=titles.get(number, ""))[
                f"[{number} · snippet]" if element.get("snippet") else f"[{number}]"
            ]
        else:
            tag = getattr(htpy, element["tag"])(start=element.get("start"))
            yield tag[_markdown(element["in"], titles)] if element["in"] else tag


def progress_display(run: Run) -> Display[Run]:
    """Display the phases with their counts and times."""
    rows = (
        (
            step.title,
            str(step.state),
            f"{step.count} {step.unit}",
            "" if step.seconds is None else duration(step.seconds),
        )
        for step in phase_progress(run, run.seconds)
    )
    table = rows_table(("phase", "state", "count", "time"), rows, numbers=("count", "time"))
    return Display(value=run, content=(div(".quiet")[spoken_state(run)], table))


def ranking_display(run: Run) -> Display[Ranking | None]:
    """Display the best passages and the context, with scores."""
    if run.ranking is None:
        return empty(None, "The run has no ranking.")
    rows = ranked_passages(run)
    scores = [name for name in SCORES if getattr(run.ranking, name) is not None]
    name, deciding = run.ranking.deciding
    best = float(deciding[rows[0].row]) if deciding is not None and rows else 0.0

    def cells(row: RankedPassage) -> Iterator[Node]:
        yield str(row.rank)
        yield row.number and b[f"[{row.number}]"]
        yield deciding is not None and best > 0 and bar(float(deciding[row.row]) / best)
        values = (getattr(row, score) for score in scores)
        yield from ("" if value is None else decimal(value, 3) for value in values)
        yield from (row.snippet, row.site)

    shown = ([*cells(row)] for row in rows if row.rank <= SHOWN_PASSAGES or row.number)
    head = ("rank", "source", "", *scores, "passage", "site")
    note = f"{pluralize(len(rows), 'passage')} by {name}, {len(run.ranking.context)} in the context"
    table = rows_table(head, shown, numbers=("rank", "source", *scores))
    return Display(value=run.ranking, content=(div(".quiet")[note], table))


def source_display(run: Run, source: Source) -> Display[Source]:
    """Display a source's passage, marked in its surrounding text."""
    page = run.pages.get(source.passage.place.page)
    shown = passage_in_context(page, source.passage.place, AROUND) if page else None
    before, after = (shown.before, shown.after) if shown else (source.before, source.after)
    return Display(
        value=source,
        content=(
            b[f"[{source.number}] {source.title}"],
            div(".quiet")[source.url],
            blockquote(dir="auto")[TEXT_LEFT_OUT]
            if is_left_out(source.passage.text)
            else blockquote(dir="auto")[before, mark[source.passage.text], after],
        ),
    )


def comparison_display(changes: RunChanges) -> Display[RunChanges]:
    """Display the differences between two runs.

    These are changes of the context, the agreement of the rankings, and other changes.
    """
    ranks, ranking = changes.ranks, changes.ranking
    moved = [change for change in ranks if change.entered or change.left]
    rows = (
        (
            span(class_="good" if change.entered else "bad")["+" if change.entered else "−"],
            str(change.before or ""),
            str(change.after or ""),
            change.label,
            change.site,
        )
        for change in moved
    )
    agreement = (
        f"Context: {sum(change.entered for change in moved)} entered, {sum(change.left for change in moved)} left, "
        f"{len(ranks) - len(moved)} reordered. Rank-biased overlap {ranking.overlap:.2f}."
        if ranking
        else "One of the runs has no ranking."
    )
    others = [*change_lines(changes)] if changes.before.id != changes.after.id else []
    head = ("", "rank before", "rank after", "passage", "site")
    return Display(
        value=changes,
        content=(
            p[agreement],
            bool(moved) and rows_table(head, rows, numbers=head[1:3]),
            bool(others) and ul[(li[line] for line in others)],
        ),
    )


def trace_display(trace: Trace) -> Display[Trace]:
    """Display how far a text or an address came towards the answer."""
    steps = (
        span(class_=TONES.get(state, "quiet"))[f"{SIGNS[state]} {title}   "] for title, state in trace.steps
    )
    return Display(value=trace, content=(p[steps], p[b[trace.message]]))


def metrics_display(ranking: GradedRanking) -> Display[GradedRanking]:
    """Display the metrics of a ranking by its labels.

    A range covers all possible grades of the unlabelled passages.
    """
    labelled = (f"{ranking.labelled} of {len(ranking.order[:DEPTH])}", "labelled")
    pairs = [labelled, *((value, with_unit(name, "passages")) for name, value in ranking.figures.items())]
    note = "" if ranking.figures else "No passage is labelled relevant yet."
    return Display(value=ranking, content=(facts(*pairs), note and p(".quiet")[note]))
