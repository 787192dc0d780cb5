"""Frame of Explain: the run, headings, tables, and cached work.

The work runs on the core's loop.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

import streamlit as st
from htpy import div, h1, p, span

from core.analysis.handbook import chapters
from core.analysis.run_activity import embedded_so_far
from core.config.settings import HANDBOOK
from core.ports import Embed
from core.run.state import Run
from core.text.markdown.safe_markdown import markdown_label
from pages.parts import address, markup, runtime, tables
from pages.parts.problems import errors_inline, errors_stop_page, refusal

T = TypeVar("T")

EXPLAIN = "pages/explain.py"
WHAT_IF = {"view": "what-if"}
"""Address of the view of Explain that compares two settings."""
COMPUTE_TIMEOUT = 120.0
"""Seconds that a view waits for the embedder."""
LATEST_RUNS = 8
SESSION_KEYS_OF_RUN = (
    "view_cache",
    "attrition_flow",
    "attribution_cell",
    "map_points",
    "queries_off",
    "left_out",
    "selected_source",
    "answer_pair",
    "without_answer",
    "latest_version",
    "extraction_page",
    "extraction_fetch",
    "extraction_by",
)
"""Session keys to remove when another run is shown. They have selections and cached results."""


def dark() -> bool:
    """Whether the theme of the browser is dark."""
    return bool(st.context.theme.type == "dark")


def chosen_run() -> Run:
    """Return the run to show. Without a run, or with a running run, the page says so and stops."""
    with errors_stop_page:
        run = runtime.current()
    address.keep_history(run)
    refusal()
    if run is None:
        lead = "Why a run answered as it did, and what other settings would have changed."
        markup.show(markup.title("Explain", lead))
        _latest()
        st.stop()
    if st.session_state.get("framed_run") != run.id:
        for name in SESSION_KEYS_OF_RUN:
            st.session_state.pop(name, None)
        st.session_state["framed_run"] = run.id
    _head(run)
    if run.live:
        text = "The run is in progress. This page updates when it has finished."
        waiting(lambda: not _is_live(run.id), "hourglass_empty", text, key="waiting")
        st.stop()
    if being_filled(run):
        _filling(run)
    return run


def being_filled(run: Run) -> bool:
    """Whether passages of an ended run are still being embedded.

    If the passages have changed since the run was read, the page is drawn again.
    """
    if run.live or not embedded_so_far(run):
        return False
    registry = runtime.runs()
    registry.complete(run.id, runtime.access())
    if registry.is_filling(run.id):
        return True
    latest = registry.get(run.id)
    if latest is not None and latest.index is not run.index:
        st.rerun()
    return False


def _is_live(run_id: str) -> bool:
    run = runtime.runs().get(run_id)
    return run is not None and run.live


def _filling(run: Run) -> None:
    """Draw the number of embedded passages. The page is drawn again for every change."""

    until(
        lambda: runtime.runs().get(run.id) is not run or not runtime.runs().is_filling(run.id),
        lambda: markup.show(
            markup.section_heading(embedded_so_far(run), "the rest follow, and this page with them")
        ),
        key="filling",
        every=runtime.refresh_every(1.0),
    )


def _head(run: Run) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="run_head"):
        markup.show(div(".oq-run-head")[span["Explain"], h1(dir="auto")[run.question]])
        st.page_link(
            runtime.RESEARCH, label="Answer", icon=":material/arrow_back:", query_params={"run": run.id}
        )


@errors_inline
def _latest() -> None:
    runs = runtime.history(LATEST_RUNS)
    if not runs:
        markup.show_empty("No runs yet. Ask a question first.", "history")
        st.page_link(runtime.RESEARCH, label="Ask a question", icon=":material/travel_explore:")
        return
    markup.show(markup.section_heading("Latest runs", "choose one, or ask a new question on the Ask page"))
    with st.container(key="latest_runs", gap="xsmall"):
        for run in runs:
            st.page_link(
                EXPLAIN,
                label=markdown_label(run.question, 160),
                icon=":material/arrow_forward:",
                query_params={"run": run.id},
            )


def until(
    ended: Callable[[], object], draw: Callable[[], object], *, key: str, every: float | None = 0.3
) -> None:
    """Redraw a fragment every `every` seconds until `ended()`, then rerun the page.

    With None, the fragment is drawn once.
    """

    @st.fragment(run_every=every, key=key)
    def part() -> None:
        if every and ended():
            st.rerun()
        draw()

    part()


def waiting(ended: Callable[[], object], symbol: str, text: str, *, key: str) -> None:
    """Draw a line about work in progress until `ended()`."""
    until(ended, lambda: markup.show(markup.busy(symbol, text)), key=key)


def how_to_read(sentence: str, slug: str) -> None:
    """Draw a sentence on reading a view, with a handbook link."""
    title = next(chapter.title for chapter in chapters(HANDBOOK) if chapter.slug == slug)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="how_to_read"):
        markup.show(p(".oq-reading")[sentence])
        st.page_link(
            "pages/handbook.py",
            label=f"Handbook: {title}",
            icon=":material/menu_book:",
            query_params={"article": slug},
        )


def table(
    items: Sequence[T],
    columns: Mapping[str, tuple[Any, Callable[[T], object]]],
    key: str,
    *,
    alt: str,
    max_rows: int = 10,
) -> None:
    """Draw a read-only table with a row per item.

    At most `max_rows` rows are visible. A column has its configuration, and a function from an item to its
    cell.
    """
    config = {name: column for name, (column, _) in columns.items()}
    rows = [{name: cell(item) for name, (_, cell) in columns.items()} for item in items]
    with st.container(key=key):  # Streamlit gives no class to a table without selection
        st.dataframe(
            tables.frame(rows, list(columns), config),
            hide_index=True,
            height=tables.height(len(rows), max_rows),
            row_height=tables.row_height(),
            column_config=tables.fitted(config),
            placeholder="",
            alt=alt,
        )


def link_column() -> tuple[Any, Callable[[Any], str | None]]:
    """The column of links to the addresses of items."""
    link = st.column_config.LinkColumn("link", display_text=":material/open_in_new:", width=48)
    return link, lambda item: markup.open_url(item.url) or None


# --- cached computation -----------------------------------------------------------------------------------


def cached(
    name: str,
    run: Run,
    make: Callable[[], T],
    key: object = None,
    *,
    cache_if: Callable[[T], object] = lambda _: True,
) -> T:
    """Return the result of `make`, cached by `name` in this session.

    A cached result is valid for one state of the run and one `key`, which has the other inputs of `make`.
    `cache_if` says whether to cache a result. A fallback, for example, should not be cached.
    """
    store: dict[str, tuple[object, T]] = st.session_state.setdefault("view_cache", {})
    state = (run.id, run.seconds, key)
    if name in store and store[name][0] == state:
        return store[name][1]
    value = make()
    if cache_if(value):
        store[name] = (state, value)
    return value


def compute(
    name: str,
    run: Run,
    work: Callable[[Embed], Coroutine[Any, Any, T]],
    *,
    cache_if: Callable[[T], object] = lambda _: True,
) -> T | None:
    """Return the cached result of `work` with the embedder, or None.

    After a failure the page shows the error.
    """
    registry, access = runtime.runs(), runtime.access()

    async def job() -> T:
        return await work(await registry.engine.embedder_of(run, access))

    return run_on_loop(name, run, job, access, cache_if=cache_if)


def run_on_loop(
    name: str,
    run: Run,
    job: Callable[[], Coroutine[Any, Any, T]],
    key: object = None,
    *,
    cache_if: Callable[[T], object] = lambda _: True,
) -> T | None:
    """Return the cached result of `job` on the core's loop, or None.

    After a failure the page shows the error.
    """
    with errors_inline, st.spinner("Comparing …"):
        return cached(
            name,
            run,
            lambda: runtime.runs().call(job(), timeout=COMPUTE_TIMEOUT, meanwhile=_stop_if_outdated),
            key,
            cache_if=cache_if,
        )
    return None


def _stop_if_outdated() -> None:
    """End this script run if the user has acted meanwhile.

    Streamlit checks whenever session state is read.
    """
    st.session_state.get("view_cache")
