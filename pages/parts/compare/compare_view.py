"""What if: two settings, models or runs. Nothing is fetched. Only new passages are embedded."""

from operator import attrgetter

import streamlit as st

from core.analysis.rankings.ranked_passages import RankedPassage, ranked_passages
from core.analysis.rankings.ranking_comparison import RankingDiff, compare_rankings
from core.run.state import Run
from core.text.sanitize import pluralize
from pages.parts import charts, markup, page_frame, widgets
from pages.parts.answers import answer_pair
from pages.parts.compare import compare_config, compare_controls, rank_changes
from pages.parts.compare.compare_config import SIDES
from pages.parts.compare.what_is_new import what_is_new

DEPTHS = (10, 20, 40)
MAX_ROWS = 1000


def view(run: Run) -> None:
    """Draw two settings beside each other: their knobs, answers and ranks."""
    if run.index is None or run.ranking is None:
        markup.show_empty("This run has no ranking: it ended before its passages were ranked.", "leaderboard")
        return
    compare_config.adopt(run)
    with st.container(key="panels"):
        for column, side in zip(st.columns(2, gap="medium"), SIDES, strict=True):
            with column:
                compare_controls.panel(run, side)
    both = {side: compare_config.config_of(run, side) for side in SIDES}
    compare_config.keep_in_address(run, *both.values())
    first, second = (compare_controls.ranked(config) for config in both.values())
    difference = compare_rankings(first, second) if first and second else None
    if first is None or second is None or difference is None:
        return
    with st.container(key="compared"):
        markup.show(rank_changes.comparison_facts(difference))
    what_is_new(both["a"].run, both["b"].run)
    with st.container(key="answer_pair"):
        answer_pair.answer_pair(both, {"a": first, "b": second})
    _rank_changes(run, difference)
    for column, (side, ranked) in zip(
        st.columns(2, gap="medium"), (("a", first), ("b", second)), strict=True
    ):
        with column:
            _ranking(ranked, side)
    markup.show(markup.kicker("All rank changes", "select a row to see the passage in its article"))
    rank_changes.change_table(difference, first, second, "rank_changes", ("A", "B"))


def _rank_changes(run: Run, difference: RankingDiff) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        markup.show(
            markup.kicker("Rank changes", "numbers in brackets are positions in the context"), width="stretch"
        )
        widgets.button("Swap", "swap_horiz", compare_config.swap, run, key="swap")
        depth = widgets.choice(
            "First ranks", DEPTHS, key="bump_depth", default=20, format_func=lambda number: f"first {number}"
        )
    with st.container(key="bump_frame"):
        depth = min(depth or DEPTHS[0], max(difference.before.passages, difference.after.passages, 1))
        widgets.chart(
            charts.bump_chart(
                difference.bump_rows(depth),
                depth,
                ("A", "B"),
                dark=page_frame.dark(),
                label_length=charts.label_length(),
            ),
            key="bump",
            alt="Ranks of the passages under A and under B, joined by lines",
        )


def _ranking(run: Run, side: str) -> None:
    """One side's ranking as a table."""
    table = ranked_passages(run)
    context = len(run.ranking.context) if run.ranking else 0
    note = f"{pluralize(len(table), 'passage')}, {context} in the context"
    note += f"; the first {MAX_ROWS:,} are listed" if len(table) > MAX_ROWS else ""
    markup.show(markup.kicker(f"Ranking {SIDES[side]}", note))
    scores = [name for name in ("cosine", "bm25", "fused", "rerank") if _has(table, name)]
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    columns = {
        "rank": (number("rank", width=44), attrgetter("rank")),
        "context #": (
            number("context #", width=76, help="Position in the context; empty when not in it"),
            attrgetter("number"),
        ),
        **{name: (number(name, width=64, format="%.3f"), attrgetter(name)) for name in scores},
        "passage": (text("passage", width="medium"), attrgetter("snippet")),
        "source": (text("source"), attrgetter("site")),
    }
    page_frame.table(table[:MAX_ROWS], columns, f"ranking_{side}", alt=f"Ranking {SIDES[side]}")


def _has(table: tuple[RankedPassage, ...], name: str) -> bool:
    return any(getattr(row, name) is not None for row in table[:MAX_ROWS])
