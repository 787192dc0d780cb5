"""Controls and ranking of one side of a comparison."""

from functools import partial

import streamlit as st
from htpy import span

from core.config.settings import LOCAL
from core.errors import OpenQueryError
from core.run.state import Run
from core.text.display import embedder_name
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import distinct_labels, one_line
from pages.parts import browser, markup, page_frame, runtime, widgets
from pages.parts.compare import compare_config
from pages.parts.compare.compare_config import GROUPS, SIDES, CompareConfig, key, prefix
from pages.parts.sidebar import controls, presets

RANKING_WAIT = 0.6
"""Seconds to wait for a ranking, which is usually ready by then."""
LATEST_RUNS = 30


def panel(run: Run, side: str) -> None:
    """The controls of one side."""
    other = "b" if side == "a" else "a"
    with st.container(border=True, key=f"panel_{side}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            markup.show(span(class_=["oq-side", side])[SIDES[side]])
            widgets.button(
                f"Copy to {SIDES[other]}",
                "content_copy",
                lambda: compare_config.copy_to(other, compare_config.config_of(run, side)),
                key=f"copy_{side}",
                type="tertiary",
            )
            widgets.button(
                "Reset to the run",
                "undo",
                compare_config.restore,
                run,
                side,
                key=f"reset_{side}",
                type="tertiary",
            )
            with st.popover("Presets", icon=":material/bookmarks:", type="tertiary", key=f"presets_{side}"):
                presets.box(
                    f"side_{side}",
                    lambda: compare_config.config_of(run, side).knobs,
                    partial(compare_config.set_knobs, side),
                )
        _models(run, side)
        shown_run = compare_config.config_of(run, side).run
        columns = st.columns(2, gap="medium")
        for column, (group, title) in zip(columns, GROUPS.items(), strict=True):
            with column:
                markup.show(markup.kicker(title))
                controls.live(group, title, shown_run, prefix(side))


def _models(run: Run, side: str) -> None:
    """Select boxes for run, embedder and chat model."""
    runs = _comparable(run)
    selected = st.session_state.get(key(side, "run"))
    if selected not in runs:
        runs = {**runs, str(selected): "A shared run"} if selected else runs
    columns = st.columns(3, gap="small")
    with columns[0]:
        st.selectbox(
            "Run",
            list(runs),
            key=key(side, "run"),
            persist_state="session",
            format_func=runs.__getitem__,
            help="Passages of another run are matched by place and text.",
            on_change=compare_config.restore,
            args=(run, side),
        )
    operators = runtime.runs().settings.embedding_model
    with columns[1]:
        st.selectbox(
            "Embedder",
            list(dict.fromkeys((LOCAL, operators))),
            index=None,
            key=key(side, "embedder"),
            persist_state="session",
            placeholder="same as the run",
            format_func=embedder_name,
            accept_new_options=True,
            help="Embeds the run's pages again: local, or any embedding model of your model server.",
        )
    with columns[2]:
        st.selectbox(
            "Chat model",
            list(page_frame.cached("models", run, _models_of_server, runtime.access(), cache_if=bool)),
            index=None,
            key=key(side, "model"),
            persist_state="session",
            placeholder="server default",
            accept_new_options=True,
            help="Writes the answer of this side; any chat model of your model server.",
        )


def _comparable(run: Run) -> dict[str, str]:
    try:
        others = runtime.history(LATEST_RUNS)
    except OpenQueryError:
        others = ()
    labels = {
        other.id: f"{one_line(other.question, 60)} ({browser.local_time(other.started)})"
        for other in others
        if other.id != run.id and other.status in ("done", "stopped")
    }
    return {run.id: "This run", **distinct_labels(labels)}


def _models_of_server() -> tuple[str, ...]:
    """Return the models that the visitor's server lists.

    Names can be typed, so no reply gives an empty list.
    """
    registry, access = runtime.runs(), runtime.access()

    async def ask() -> tuple[str, ...]:
        server = await registry.engine.models.servers.chat_server(access)
        return await registry.engine.models.servers.offered(server) if server else ()

    try:
        return registry.call(ask(), timeout=3)
    except OpenQueryError:
        return ()


# --- rankings ---------------------------------------------------------------------------------------------


def ranked(config: CompareConfig) -> Run | None:
    """Return the run ranked under a side's knobs, or None.

    None means not ranked yet, or failed with a message on the page.
    """
    job = runtime.runs().retuning.start(
        f"{runtime.session_id()} {config.side}", config.run.id, config.knobs, config.access
    )
    if job is None:
        return None
    job.wait(RANKING_WAIT)
    if job.live:
        text = f"Ranking {SIDES[config.side]} …"
        page_frame.waiting(lambda: not job.live, "tune", text, key=f"ranking_wait_{config.side}")
        return None
    if job.run.error and job.run is not config.run:
        hint = markdown_label(job.run.error.hint, 300)
        st.error(
            f"**{SIDES[config.side]}:** {markdown_label(job.run.error.message, 400)} {hint}",
            icon=":material/error:",
        )
        return None
    if config.embedder and job.run.index is not None and job.run.index.vectors is None:
        fault = job.run.embed_faults[-1] if job.run.embed_faults else None
        reason = f"{fault.message} {fault.hint}" if fault else ""
        st.warning(
            f"**{SIDES[config.side]} is ranked by BM25 only:** {markdown_label(embedder_name(config.embedder), 80)} returned no vectors. "
            f"{markdown_label(reason, 400)}",
            icon=":material/match_case:",
        )
    return job.run
