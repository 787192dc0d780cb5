"""Two rankings of the same pages side by side: figures, and a table of every passage's move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.analysis.rankings.ranking_comparison import Comparison, Move
from core.model import Place
from core.run.state import Run
from pages.parts import markup
from pages.parts.passage_reader import reader

MOST = 2000


def told(found: Comparison, *first: str) -> str:
    """The comparison in figures, after those that are given."""
    entered, left = _changed(found)
    depths = " · ".join(f"{k}" for k in found.at)
    nearest = " · ".join(f"{share:.2f}" for share in found.at.values())
    difference = found.after.context_tokens - found.before.context_tokens
    return markup.facts(
        *first,
        markup.fact(f"{found.overlap:.2f}", "rank-biased overlap", OVERLAP),
        markup.fact(f"{found.contexts:.2f}", "Jaccard of the contexts", JACCARD),
        markup.fact(nearest, f"Jaccard at {depths}", JACCARD),
        markup.fact(
            _signed(entered), "entered", "Passages of the second context only", "good" if entered else ""
        ),
        markup.fact(_signed(-left), "left", "Passages of the first context only", "bad" if left else ""),
        markup.fact(_signed(difference), "tokens of context", "Estimated: four characters a token"),
        markup.fact(f"{found.before.passages:,} → {found.after.passages:,}", "passages"),
    )


def _signed(count: int) -> str:
    return f"{count:+,}".replace("-", "−") if count else "0"


OVERLAP = "1: the same order, 0: nothing in common. The first ten ranks make 86 % of it."
JACCARD = "What both have, as a share of what either has: 1 is the same, 0 is nothing in common."


def _changed(found: Comparison) -> tuple[int, int]:
    return sum(move.entered for move in found.moves), sum(move.left for move in found.moves)


def table(found: Comparison, key: str, names: tuple[str, str] = ("before", "now")) -> Move | None:
    """Every move, searchable; the one whose row is selected."""
    before, after = names
    moves = _foremost(found.moves)
    if len(moves) < len(found.moves):
        st.caption(
            f"The first {len(moves):,} of {len(found.moves):,} passages, those in a context before all others."
        )
    columns: dict[str, Any] = {
        "rank": st.column_config.NumberColumn(after, width=62, help="Place in the second ranking"),
        "was": st.column_config.NumberColumn(before, width=62, help="Place in the first ranking"),
        "moved": st.column_config.NumberColumn("moved", width=62, format="%+d", help="Ranks that it rose by"),
        "context": st.column_config.TextColumn(
            "context", width=92, help="Number in the first context → number in the second"
        ),
        "passage": st.column_config.TextColumn("passage", width="large"),
        "source": st.column_config.TextColumn("source", width=170),
    }
    picked = st.dataframe(
        pd.DataFrame([_cells(move) for move in moves], columns=list(columns)),
        key=markup.table_key(f"{key}_{st.session_state.get(f'{key}_closed', 0)}", moves),
        hide_index=True,
        height=min(10, max(len(moves), 2)) * 33 + 36,
        row_height=33,
        column_config=columns,
        on_select="rerun",
        selection_mode="single-row",
        placeholder="",
        alt="Moves of the passages between the two rankings",
    )
    chosen = picked.selection.rows
    return moves[chosen[0]] if chosen else None


def _foremost(moves: Sequence[Move]) -> list[Move]:
    """What is in either context first, in the order of the second and then of the first ranking."""
    inside = [move for move in moves if move.after_number or move.before_number]
    return [*inside, *(move for move in moves if not (move.after_number or move.before_number))][:MOST]


def _cells(move: Move) -> dict[str, Any]:
    numbers = (move.before_number, move.after_number)
    return {
        "rank": move.after,
        "was": move.before,
        "moved": move.steps or None,
        "context": " → ".join(f"[{one}]" if one else "–" for one in numbers) if any(numbers) else "",
        "passage": move.label,
        "source": move.site,
    }


def opened(move: Move, before: Run, after: Run, key: str) -> None:
    """The passage of a move in its article. `key` is that of the table; closing takes its selection away."""
    run, row = (after, move.after_row) if move.after_row is not None else (before, move.before_row)
    if run.index is None or row is None:
        return
    place: Place = run.index.passages[row].place
    if place.page not in run.pages:
        return
    was = "–" if move.before is None else f"{move.before:,}"
    now = "–" if move.after is None else f"{move.after:,}"
    reader(
        run.pages[place.page],
        place,
        label=f"Rank {was} → {now}",
        told=(markup.fact(move.site, ""),),
        key=f"reader_{key}",
        close=lambda: st.session_state.update(
            {f"{key}_closed": st.session_state.get(f"{key}_closed", 0) + 1}
        ),
    )
