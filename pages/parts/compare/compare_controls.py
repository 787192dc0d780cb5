"""The two sides of a comparison on screen: their controls and their rankings."""

from __future__ import annotations

from functools import partial

import streamlit as st

from core.config.settings import LOCAL
from core.errors import OpenQueryError
from core.run.state import Run
from core.runtime.jobs import Job
from core.text.safe_markdown import markdown_label
from core.text.sanitize import one_line
from pages.parts import controls, markup, page_frame, presets, runtime
from pages.parts.compare import compare_config
from pages.parts.compare.compare_config import GROUPS, SIDES, CompareSide, key, prefix

AT_ONCE = 0.6
"""Seconds that a drawing of the page waits for a ranking, which is most often ready by then."""
LATEST = 30


def panel(run: Run, side: str) -> None:
    """The controls of one side."""
    other = "b" if side == "a" else "a"
    with st.container(border=True, key=f"panel_{side}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.html(f'<span class="oq-side {side}">{SIDES[side]}</span>', width="stretch")
            st.button(
                f"Copy to {SIDES[other]}",
                key=f"copy_{side}",
                icon=":material/content_copy:",
                type="tertiary",
                on_click=lambda: compare_config.set_to(other, compare_config.of(run, side)),
            )
            st.button(
                "The run's own",
                key=f"own_{side}",
                icon=":material/undo:",
                type="tertiary",
                on_click=compare_config.restore,
                args=(run, side),
            )
            with st.popover("Presets", icon=":material/bookmarks:", type="tertiary", key=f"presets_{side}"):
                presets.box(
                    f"side_{side}",
                    lambda: compare_config.of(run, side).knobs,
                    partial(compare_config.put, side),
                )
        _models(run, side)
        shown = compare_config.of(run, side).run
        columns = st.columns(2, gap="medium")
        for column, (group, title) in zip(columns, GROUPS.items(), strict=True):
            with column:
                st.html(markup.kicker(title))
                controls.live(group, title, shown, prefix(side))


def _models(run: Run, side: str) -> None:
    """Which run, which embedder, which chat model."""
    runs = _comparable(run)
    picked = st.session_state.get(key(side, "run"))
    if picked not in runs:
        runs = {**runs, str(picked): "A run that was shared"} if picked else runs
    columns = st.columns(3, gap="small")
    with columns[0]:
        st.selectbox(
            "Run",
            list(runs),
            key=key(side, "run"),
            persist_state="session",
            format_func=runs.__getitem__,
            help="Another run brings its own pages. Its passages are matched by place and text.",
            on_change=_chose_run,
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
            placeholder="the run's own",
            accept_new_options=True,
            help="Embeds the pages in hand anew: local, or any embedding model that your model server has.",
        )
    with columns[2]:
        st.selectbox(
            "Chat model",
            list(page_frame.kept("models", run, _offered, runtime.access(), lasting=bool)),
            index=None,
            key=key(side, "model"),
            persist_state="session",
            placeholder="the usual one",
            accept_new_options=True,
            help="Who writes the answer of this side: any model that your model server has.",
        )


def _comparable(run: Run) -> dict[str, str]:
    try:
        others = runtime.history(LATEST)
    except OpenQueryError:
        others = ()
    return {
        run.id: "This run",
        **{
            one.id: f"{one_line(one.question, 60)} ({runtime.when(one.started)})"
            for one in others
            if one.id != run.id and one.status in ("done", "stopped")
        },
    }


def _offered() -> tuple[str, ...]:
    """Models that the visitor's server lists; none when it cannot be asked, as a name can be typed all the same."""
    registry, access = runtime.runs(), runtime.access()

    async def ask() -> tuple[str, ...]:
        server = await registry.engine.models.chosen(access)
        return await registry.engine.models.offered(server) if server else ()

    try:
        return registry.call(ask(), timeout=3)
    except OpenQueryError:
        return ()


def _chose_run(run: Run, side: str) -> None:
    """Another run comes with its own settings."""
    compare_config.restore(run, side)


# --- rankings ---------------------------------------------------------------------------------------------


def ranked(one: CompareSide) -> Run | None:
    """The run under the knobs of a side; None while it is being ranked, or when that failed, which is told."""
    job = runtime.runs().retune(f"{runtime.viewer()} {one.side}", one.run.id, one.knobs, one.access)
    if job is None:
        return None
    job.wait(AT_ONCE)
    if job.live:
        _waiting(job, one.side)
        return None
    if job.run.error and job.run is not one.run:
        hint = markdown_label(job.run.error.hint, 300)
        st.error(
            f"**{SIDES[one.side]}:** {markdown_label(job.run.error.message, 400)} {hint}",
            icon=":material/error:",
        )
        return None
    if one.embedder and job.run.index is not None and job.run.index.vectors is None:
        fault = job.run.embed_faults[-1] if job.run.embed_faults else None
        why = f"{fault.message} {fault.hint}" if fault else ""
        st.warning(
            f"**{SIDES[one.side]} is ranked by words only:** {markdown_label(one.embedder, 80)} gave no vectors. "
            f"{markdown_label(why, 400)}",
            icon=":material/match_case:",
        )
    return job.run


def _waiting(job: Job, side: str) -> None:
    @st.fragment(run_every=0.4, key=f"being_ranked_{side}")
    def wait() -> None:
        if not job.live:
            st.rerun()
        st.html(
            f'<div class="oq-tuned busy">{markup.icon("tune")}<span>{SIDES[side]} is being ranked …</span></div>'
        )

    wait()
