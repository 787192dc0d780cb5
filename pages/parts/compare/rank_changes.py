"""Rank changes between two rankings: metrics, table and passage."""

from typing import Any

import streamlit as st
from htpy import Element

from core.analysis.rankings.ranking_comparison import RankChange, RankingDiff, compare_rankings
from core.model import Place
from core.run.state import Run
from core.text.sanitize import plural
from pages.parts import markup, tables
from pages.parts.passage_reader import reader

OPENED = "rank_change"
"""Session key of the open passage."""
ESTIMATED = "Estimated: four characters a token"
OVERLAP = "1: same order, 0: nothing in common; the first ten ranks have 86 % of the weight."
JACCARD = "Intersection over union: 1 is the same set, 0 is nothing in common."


def comparison_facts(diff: RankingDiff, *first: Element) -> Element:
    """Return what the context gains and loses, after the given facts. What stays the same is left out."""
    entered = sum(change.entered for change in diff.changes)
    left = sum(change.left for change in diff.changes)
    shared = sum(bool(change.before_number and change.after_number) for change in diff.changes)
    difference = diff.after.context_tokens - diff.before.context_tokens
    passages = diff.before.passages, diff.after.passages
    return markup.facts(
        *first,
        markup.fact(f"{shared} of {shared + left}", plural(shared + left, "source") + " in both"),
        bool(entered)
        and markup.fact(_signed(entered), "entered", "Passages only in the second context", "good"),
        bool(left) and markup.fact(_signed(-left), "left", "Passages only in the first context", "bad"),
        bool(difference)
        and markup.fact(_signed(difference), plural(abs(difference), "context token"), ESTIMATED),
        passages[0] != passages[1]
        and markup.fact(f"{passages[0]:,} → {passages[1]:,}", plural(passages[1], "passage")),
    )


def measures(diff: RankingDiff) -> Element:
    """Return how alike the rankings are, in measures of the literature."""
    depths = " · ".join(f"{k}" for k in diff.at)
    nearest = " · ".join(f"{share:.2f}" for share in diff.at.values())
    return markup.facts(
        markup.fact(f"{diff.overlap:.2f}", "rank-biased overlap", OVERLAP),
        markup.fact(f"{diff.contexts:.2f}", "Jaccard of the contexts", JACCARD),
        markup.fact(nearest, f"Jaccard at {depths}", JACCARD),
    )


def changes_without(run: Run, rest: Run, key: str, nothing: str, *first: Element) -> bool:
    """Draw the changes from leaving out a part of a run.

    `rest` is the remaining run, ranked again. If it has no passages, `nothing` is shown. Returns whether a
    ranking was drawn.
    """
    diff = compare_rankings(run, rest)
    if diff is None or rest.index is None or not rest.index.passages:
        markup.show_empty(nothing, "playlist_remove")
        return False
    markup.show(comparison_facts(diff, *first))
    with st.expander("Measures", icon=":material/table_chart:", key=f"{key}_measures", type="compact"):
        markup.show(measures(diff))
    change_table(diff, run, rest, key)
    return True


def _signed(count: int) -> str:
    return f"{count:+,}".replace("-", "−") if count else "0"


def change_table(
    diff: RankingDiff, first: Run, second: Run, key: str, names: tuple[str, str] = ("before", "now")
) -> None:
    """Draw a table of all rank changes and the open passage."""
    columns: dict[str, Any] = {
        "rank": st.column_config.NumberColumn(names[1], width=62, help="Rank in the second ranking"),
        "was": st.column_config.NumberColumn(names[0], width=62, help="Rank in the first ranking"),
        "moved": st.column_config.NumberColumn("moved", width=62, format="%+d", help="Ranks gained"),
        "context": st.column_config.TextColumn(
            "context", width=92, help="Position in the first context → position in the second"
        ),
        "passage": st.column_config.TextColumn("passage", width="large"),
        "source": st.column_config.TextColumn("source", width=170),
    }
    tables.selectable_table(
        # Passages of either context first, in the order of the second ranking, then of the first.
        sorted(diff.changes, key=lambda change: not (change.after_number or change.before_number)),
        lambda change: change.id,
        _cells,
        columns,
        key=key,
        opened=OPENED,
        max_rows=10,
        alt="Rank changes of the passages between the two rankings",
    )
    opened = next((change for change in diff.changes if change.id == st.session_state.get(OPENED)), None)
    if opened:
        _open_passage(opened, first, second, key)


def _cells(change: RankChange) -> dict[str, Any]:
    numbers = (change.before_number, change.after_number)
    return {
        "rank": change.after,
        "was": change.before,
        "moved": change.rise or None,
        "context": " → ".join(f"[{number}]" if number else "–" for number in numbers) if any(numbers) else "",
        "passage": change.label,
        "source": change.site,
    }


def _open_passage(change: RankChange, before: Run, after: Run, key: str) -> None:
    run, row = (after, change.after_row) if change.after_row is not None else (before, change.before_row)
    if run.index is None or row is None:
        return
    place: Place = run.index.passages[row].place
    if place.page not in run.pages:
        return
    rank_before = "–" if change.before is None else f"{change.before:,}"
    rank_after = "–" if change.after is None else f"{change.after:,}"
    reader(
        run.pages[place.page],
        place,
        label=f"Rank {rank_before} → {rank_after}",
        facts=(markup.fact(change.site, ""),),
        key=f"reader_{key}",
        opened=OPENED,
    )
