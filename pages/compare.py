"""Compare: two settings, two models or two runs. Nothing is fetched; only new passages are embedded."""

import streamlit as st

from core.analysis.rankings.passage_rows import Row, rows
from core.analysis.rankings.ranking_comparison import compare
from core.run.state import Run
from pages.parts import answer_pair, chart_clicks, charts, citation_clicks, markup, page_frame
from pages.parts.answer_diff import pick as pick_told
from pages.parts.compare import compare_config, compare_controls, rank_changes
from pages.parts.compare.compare_config import SIDES

DEPTHS = (10, 20, 40)
MOST = 1000


def ranking(run: Run, side: str) -> None:
    """One side's ranking as a table."""
    table = rows(run)
    context = len(run.ranking.context) if run.ranking else 0
    told = f"{len(table):,} passages, {context} in the context"
    told += f"; the first {MOST:,} are listed" if len(table) > MOST else ""
    st.html(markup.kicker(f"Ranking {SIDES[side]}", told))
    scores = [name for name in ("cosine", "bm25", "fused", "rerank") if _has(table, name)]
    page_frame.table(
        [
            (row.rank, row.number, *(getattr(row, name) for name in scores), row.snippet, row.site)
            for row in table[:MOST]
        ],
        ("rank", "ctx", *scores, "passage", "source"),
        f"ranking_{side}",
        config={
            "rank": st.column_config.NumberColumn("rank", width=44),
            "ctx": st.column_config.NumberColumn("ctx", width=40, help="Number in the context"),
            **{name: st.column_config.NumberColumn(name, width=64, format="%.3f") for name in scores},
            "passage": st.column_config.TextColumn("passage", width="medium"),
        },
        alt=f"Ranking {SIDES[side]}",
    )


def _has(table: tuple[Row, ...], name: str) -> bool:
    return any(getattr(row, name) is not None for row in table[:MOST])


def pick(name: str) -> None:
    kind, _, rest = name.partition("/")
    if kind == "told":
        pick_told(rest)


page_frame.style()
run = page_frame.chosen_run(
    "Compare",
    "Two settings, models or runs: what moves, what enters the context, and what each answer says.",
    page_frame.COMPARE,
)
if run.index is None or run.ranking is None:
    page_frame.nothing(
        "This run has no ranking: it ended before its passages were compared with the question.",
        "leaderboard",
    )
    st.stop()
compare_config.adopt(run)
page_frame.reading(
    "A line is a passage: the steeper, the further it moved; green entered the context, red left it.",
    "hybrid-search",
    "Hybrid search",
)
with st.container(key="panels"):
    for column, side in zip(st.columns(2, gap="medium"), SIDES, strict=True):
        with column:
            compare_controls.panel(run, side)
both = {side: compare_config.of(run, side) for side in SIDES}
for one in both.values():
    compare_config.write(run, one)
first, second = (compare_controls.ranked(one) for one in both.values())
found = compare(first, second) if first and second else None
if first is None or second is None or found is None:
    st.stop()
with st.container(key="compared"):
    st.html(rank_changes.told(found))
with st.container(key="duel"):
    answer_pair.answer_pair(both, {"a": first, "b": second})
with st.container(horizontal=True, vertical_alignment="center", gap="small"):
    st.html(
        markup.kicker("How passages move", "numbers in brackets are places in the context"), width="stretch"
    )
    st.button("Swap", key="swap", icon=":material/swap_horiz:", on_click=compare_config.swap, args=(run,))
    depth = st.segmented_control(
        "First ranks",
        DEPTHS,
        key="bump_depth",
        default=20,
        required=True,
        format_func=lambda one: f"first {one}",
        label_visibility="collapsed",
    )
with st.container(key="bump_frame"):
    depth = min(depth or DEPTHS[0], max(found.before.passages, found.after.passages, 1))
    st.plotly_chart(
        charts.bump(found.bump(depth), depth, ("A", "B"), dark=page_frame.dark()),
        key="bump",
        config=page_frame.CONFIG,
        theme=None,
        alt="Ranks of the passages under A and under B, joined by lines",
    )
for column, (side, one) in zip(st.columns(2, gap="medium"), (("a", first), ("b", second)), strict=True):
    with column:
        ranking(one, side)
st.html(markup.kicker("Every move", "select a row to see the passage in its article"))
if picked := rank_changes.table(found, "moves", ("A", "B")):
    rank_changes.opened(picked, first, second, "moves")
chart_clicks.chart_clicks(pick)
citation_clicks.citation_clicks(None, lambda: None)
