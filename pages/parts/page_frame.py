"""What the views of the tuning bench share: the run they look at, how they are read, and work on the core's loop."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import streamlit as st

from core.errors import OpenQueryError
from core.ports import Embed
from core.run.state import Run
from core.text.safe_markdown import escape_html, markdown_label
from pages.parts import markup, runtime
from pages.parts.problems import problem, refusal

T = TypeVar("T")

EXPLAIN = "pages/explain.py"
COMPARE = "pages/compare.py"
HANDBOOK = "pages/handbook.py"
PATIENCE = 120.0
"""Seconds that a view waits for the embedder."""
LATEST = 8
ROW = 33
"""Pixels."""
OF_ONE_RUN = (
    "bench",
    "bench_band",
    "bench_cell",
    "bench_points",
    "queries_off",
    "left_out",
    "bench_told",
    "duel",
    "without_answer",
    "versions_seen",
    "xray_page",
    "xray_fetch",
    "xray_by",
)
"""What a person picked in a run, and what was computed for it: forgotten when another comes on screen."""
CONFIG = {"displayModeBar": False, "scrollZoom": False, "doubleClick": "reset", "responsive": True}


def dark() -> bool:
    return bool(st.context.theme.type == "dark")


def style() -> None:
    st.html(Path(__file__).with_name("page_frame.css"))


def chosen_run(title: str, lead: str, page: str) -> Run:
    """The run to look at. Without one, or while it is under way, the page says so and ends here."""
    try:
        run = runtime.current()
    except OpenQueryError as error:
        problem(error)
        st.stop()
    refusal()
    if run is None:
        st.html(f'<h1 class="oq-title">{escape_html(title)}</h1><p class="oq-lead">{escape_html(lead)}</p>')
        _latest(page)
        st.stop()
    if st.session_state.get("bench_run") != run.id:
        for name in OF_ONE_RUN:
            st.session_state.pop(name, None)
        st.session_state["bench_run"] = run.id
    head(title, run, page)
    if run.live:
        waiting(run.id)
        st.stop()
    return run


def head(title: str, run: Run, page: str) -> None:
    other, name, symbol = (
        (COMPARE, "Compare settings", "compare_arrows")
        if page == EXPLAIN
        else (EXPLAIN, "Explain", "troubleshoot")
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="bench_head"):
        st.html(
            f'<div class="oq-bench-head"><span>{escape_html(title)}</span><h1>{escape_html(run.question)}</h1></div>',
            width="stretch",
        )
        st.page_link(
            runtime.RESEARCH, label="Answer", icon=":material/arrow_back:", query_params={"run": run.id}
        )
        st.page_link(other, label=name, icon=f":material/{symbol}:", query_params={"run": run.id})


def _latest(page: str) -> None:
    try:
        runs = runtime.history(LATEST)
    except OpenQueryError as error:
        problem(error)
        return
    if not runs:
        st.html(
            markup.empty("There is no run yet. Ask a question, and come back with its answer.", "history")
        )
        st.page_link(runtime.RESEARCH, label="Ask a question", icon=":material/travel_explore:")
        return
    st.html(
        markup.kicker("Latest runs", "pick the one to look at, or ask something new on the Research page")
    )
    with st.container(key="bench_runs", gap="xsmall"):
        for one in runs:
            st.page_link(
                page,
                label=markdown_label(one.question, 160),
                icon=":material/arrow_forward:",
                query_params={"run": one.id},
            )


@st.fragment(run_every=0.5)
def waiting(run_id: str) -> None:
    """Drawn while the run is under way; then the whole page is."""
    run = runtime.runs().get(run_id)
    if run is None or not run.live:
        st.rerun()
    st.html(
        f'<div class="oq-tuned busy">{markup.icon("hourglass_empty")}'
        "<span>The run is under way. This page follows as soon as it has ended.</span></div>"
    )


def reading(sentence: str, article: str, title: str) -> None:
    """How a view is read, and the handbook's article behind it."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="reading"):
        st.html(f'<p class="oq-reading">{escape_html(sentence)}</p>')
        st.page_link(HANDBOOK, label=title, icon=":material/menu_book:", query_params={"article": article})


def nothing(text: str, symbol: str = "hourglass_empty") -> None:
    st.html(markup.empty(text, symbol))


def table(
    rows: Sequence[Any],
    columns: Sequence[str],
    key: str,
    *,
    config: Mapping[str, Any],
    alt: str,
    most: int = 10,
    order: Sequence[str] | None = None,
) -> None:
    """A table to read, search and download, `most` rows high. `rows` are tuples or mappings by column."""
    with st.container(key=key):  # a table that nobody selects from gets no class of its own
        st.dataframe(
            pd.DataFrame(rows, columns=list(columns)),
            hide_index=True,
            height=min(most, max(len(rows), 2)) * ROW + ROW + 3,
            row_height=ROW,
            column_order=order,
            column_config=dict(config),
            placeholder="",
            alt=alt,
        )


# --- work -------------------------------------------------------------------------------------------------


def kept(
    name: str,
    run: Run,
    make: Callable[[], T],
    about: object = None,
    *,
    lasting: Callable[[T], object] = lambda _: True,
) -> T:
    """What `make` gives, once for each state of the run in this browser session.

    `about` tells what else it uses. What is not `lasting`, such as a fallback, is made again next time.
    """
    store: dict[str, tuple[object, T]] = st.session_state.setdefault("bench", {})
    state = (run.id, run.seconds, about)
    if name in store and store[name][0] == state:
        return store[name][1]
    made = make()
    if lasting(made):
        store[name] = (state, made)
    return made


def computed(
    name: str,
    run: Run,
    work: Callable[[Embed], Coroutine[Any, Any, T]],
    *,
    lasting: Callable[[T], object] = lambda _: True,
) -> T | None:
    """What `work` gives with the embedder, on the core's loop; None when it failed, which is then told.

    Only this session waits. As with `kept`, the result is remembered.
    """
    registry, access = runtime.runs(), runtime.access()

    async def job() -> T:
        server = await registry.engine.models.chosen(access)
        return await work(registry.engine.embed(server))

    return on_loop(name, run, job, access, lasting=lasting)


def on_loop(
    name: str,
    run: Run,
    job: Callable[[], Coroutine[Any, Any, T]],
    about: object = None,
    *,
    lasting: Callable[[T], object] = lambda _: True,
) -> T | None:
    """What `job` gives on the core's loop; None when it failed, which is then told. It is remembered by `about`."""
    try:
        with st.spinner("Comparing …"):
            return kept(
                name,
                run,
                lambda: runtime.runs().call(job(), timeout=PATIENCE, meanwhile=_elsewhere),
                about,
                lasting=lasting,
            )
    except OpenQueryError as error:
        problem(error)
    return None


def _elsewhere() -> None:
    """End this drawing of the page when a person has done something else: Streamlit looks when state is read."""
    st.session_state.get("bench")
