"""Controls and ranking of one side of a comparison: only the knobs that differ, and a menu of the others."""

from functools import partial
from typing import Any

import streamlit as st
from htpy import b, p, span

from core.config.schema import Parameter, parameters
from core.config.settings import LOCAL
from core.errors import OpenQueryError
from core.run.state import Run
from core.text.display import embedder_name
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import distinct_labels, one_line
from pages.parts import browser, markup, page_frame, runtime, widgets
from pages.parts.compare import compare_config
from pages.parts.compare.compare_config import GROUPS, SIDES, CompareConfig, key, prefix
from pages.parts.sidebar import knob_control, presets
from pages.parts.sidebar.number_control import forget_typed

RANKING_WAIT = 0.6
"""Seconds to wait for a ranking, which is usually ready by then."""
LATEST_RUNS = 30
LABEL = 34
"""Most characters of a side's run and models in the button that opens them."""


def side_controls(run: Run, side: str) -> None:
    """Draw one side: its run and models, the knobs that differ, and a menu of the others."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"side_{side}"):
        markup.show(span(class_=["oq-side", side])[SIDES[side]], width="content")
        with st.popover(_label(run, side), type="tertiary", key=f"side_{side}_run_and_models"):
            _run_and_models(run, side)
        known = [parameter for parameter in parameters() if parameter.group in GROUPS]
        drawn = [parameter for parameter in known if _differs(run, side, parameter)]
        for parameter in drawn:
            _knob(run, side, parameter)
        others = {
            parameter.path: parameter.title
            for parameter in known
            if parameter not in drawn and not parameter.items
        }
        st.menu_button(
            "change a knob",
            list(others),
            icon=":material/add:",
            type="tertiary",
            key=key(side, "add"),
            format_func=others.__getitem__,
            on_click=_add,
            args=(side,),
        )


def _label(run: Run, side: str) -> str:
    """Return a side's label: its run and models, if they differ from this run's."""
    config = compare_config.config_of(run, side)
    name = "this run" if config.run.id == run.id else config.run.question
    parts = [name, config.embedder and embedder_name(config.embedder), config.model]
    return markdown_label(", ".join(one_line(part, LABEL) for part in parts if part), 2 * LABEL)


def _add(side: str) -> None:
    compare_config.added(side).append(st.session_state[key(side, "add")])


def _value(side: str, parameter: Parameter) -> Any:
    return st.session_state.get(knob_control.key(parameter, prefix(side)))


def _base(run: Run, side: str, parameter: Parameter) -> Any:
    """Return the value to compare a knob with. It is A's value for B, and the run's for A."""
    if side == "b":
        return _value("a", parameter)
    value = getattr(getattr(compare_config.config_of(run, side).run.knobs, parameter.group), parameter.name)
    return list(value) if parameter.items else getattr(value, "value", value)


def _differs(run: Run, side: str, parameter: Parameter) -> bool:
    """Whether a knob has a control: it differs, or somebody chose it from the menu."""
    return parameter.path in compare_config.added(side) or _value(side, parameter) != _base(
        run, side, parameter
    )


def _knob(run: Run, side: str, parameter: Parameter) -> None:
    """Draw a knob with the value that it is set against, its control, and a button that sets it back."""
    base = _base(run, side, parameter)
    with st.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", key=f"varied_{side}_{parameter.name}"
    ):
        about = parameter.description
        markup.show(
            p(".oq-varied", title=about)[b[parameter.title], f" {parameter.value_text(base)} →"],
            width="content",
        )
        shown_run = compare_config.config_of(run, side).run
        knob_control.control(
            parameter, run=shown_run, prefix=prefix(side), label_visibility="collapsed", help=None
        )
        widgets.button(
            "",
            "close",
            _set_back,
            side,
            parameter,
            base,
            key=f"back_{knob_control.key(parameter, prefix(side))}",
            type="tertiary",
            help=f"{parameter.title}: back to {parameter.value_text(base)}",
        )


def _set_back(side: str, parameter: Parameter, base: Any) -> None:
    forget_typed()
    st.session_state[knob_control.key(parameter, prefix(side))] = base
    added = compare_config.added(side)
    added[:] = [path for path in added if path != parameter.path]


def _run_and_models(run: Run, side: str) -> None:
    """Draw a side's run, models, presets, and buttons to copy and reset it."""
    _models(run, side)
    markup.show(markup.section_heading("Presets"))
    presets.box(
        f"side_{side}",
        lambda: compare_config.config_of(run, side).knobs,
        partial(compare_config.set_knobs, side),
    )
    other = "b" if side == "a" else "a"
    with st.container(horizontal=True, gap="small"):
        widgets.button(
            f"Copy to {SIDES[other]}",
            "content_copy",
            lambda: compare_config.copy_to(other, compare_config.config_of(run, side)),
            key=f"copy_{side}",
        )
        widgets.button("Reset to the run", "undo", compare_config.restore, run, side, key=f"reset_{side}")


def _models(run: Run, side: str) -> None:
    """Select boxes for run, embedder and chat model."""
    runs = _comparable(run)
    selected = st.session_state.get(key(side, "run"))
    if selected not in runs:
        runs = {**runs, str(selected): "A shared run"} if selected else runs
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
