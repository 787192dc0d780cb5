"""The sidebar: knobs, method and budget. Each knob has one control."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st
from htpy import Element, b, i, p

from core.analysis.handbook import chapters
from core.config.knobs import Knobs, SearchScope
from core.config.prices import Cost
from core.config.run_knobs import Method
from core.config.schema import Parameter, nested, parameters
from core.config.settings import HANDBOOK
from core.run.state import Run
from core.text.sanitize import has_words, pluralize
from pages.parts import address, browser, document_library, markup, runtime, services, widgets
from pages.parts.serving import streamlit_patches
from pages.parts.sidebar.knob_control import control, default, group_of_controls, key, value_of
from pages.parts.sidebar.number_control import forget_typed, keep_typed

LIVE = (("chunk", "Passages"), ("rank", "Ranking"))
TUNED = tuple(dict(LIVE))
"""The groups that apply to a finished run."""
NEXT_QUESTION = "next question"
LIVE_FRAGMENT, RESET_FRAGMENT = "live_knobs", "reset_live_knobs"
"""Sidebar fragments: the live knobs, and the changed settings. Each live control is a fragment too."""
_CHANGE = "setting_changed"
"""Session key: whether a control has changed that the list of changed settings does not show yet."""
NEXT = (
    ("plan", "Queries", "edit_note"),
    ("search", "Search", "travel_explore"),
    ("read", "Reading", "article"),
    ("embed", "Embedding", "scatter_plot"),
    ("answer", "Answer", "auto_awesome"),
)
QUESTION_BOX_KNOBS = frozenset({"search.origin", "search.collections"})
"""Knobs with controls below the question box."""
ALWAYS_SHOWN = frozenset(
    {"chunk.size", "chunk.overlap"}
    | {"rank.strategy", "rank.top_k", "rank.threshold", "rank.per_page", "rank.max_documents"}
)
"""Live knobs that are always shown. The others are in an expander."""
ORIGIN_LABELS = {SearchScope.WEB: "Web", SearchScope.LIBRARY: "My documents", SearchScope.BOTH: "Both"}


def adopt(run: Run) -> None:
    """Set the controls from a newly shown run and the address."""
    new = st.session_state.get("adopted") != run.id
    if new:
        st.session_state["adopted"] = run.id
        set_controls(run.knobs)
    if new or "question" not in st.session_state:  # Streamlit forgets it while another page is open
        st.session_state["question"] = run.question
    if new or runtime.came_by_history():
        set_controls(address.settings(address.SETTINGS, run.knobs, TUNED).knobs, *TUNED)


def set_controls(knobs: Knobs, *groups: str, prefix: str = "knob") -> None:
    """Set the controls of some or all groups from knobs."""
    values: dict[str, Any] = {}
    for parameter in parameters():
        if not groups or parameter.group in groups:
            value = getattr(getattr(knobs, parameter.group), parameter.name)
            value = list(value) if parameter.items else value
            values[key(parameter, prefix)] = getattr(value, "value", value)
    forget_typed(values)
    st.session_state.update(values)


def knobs() -> Knobs:
    """The values of all controls.

    Raises:
        BadInput: naming the values out of bounds.
    """
    keep_typed()
    return Knobs.parse(nested({parameter.path: value_of(parameter) for parameter in parameters()}))


def live_knobs(run: Run, prefix: str = "knob") -> Knobs:
    """Return the run's knobs with the controls' passage and ranking knobs."""
    live = {
        parameter.path: value_of(parameter, prefix) for parameter in parameters() if parameter.group in TUNED
    }
    parsed = Knobs.parse(nested(live))
    return replace(run.knobs, chunk=parsed.chunk, rank=parsed.rank)


def origin_control() -> None:
    """Draw where the next run searches: the web or built-in articles, collections of the library, or both."""
    origin, some = (
        next(parameter for parameter in parameters() if parameter.path == path)
        for path in ("search.origin", "search.collections")
    )
    selected = st.session_state.setdefault(key(origin), default(origin))
    labels = dict(ORIGIN_LABELS)
    if services.searches_handbook(chosen("search.backend")):
        labels[SearchScope.WEB] = pluralize(len(chapters(HANDBOOK)), "built-in article")
    with st.container(key="places"):
        st.selectbox(
            origin.title,
            list(origin.enum),
            format_func=labels.__getitem__,
            key=key(origin),
            label_visibility="collapsed",
            filter_mode=None,
            persist_state="session",
        )
    if selected == SearchScope.WEB:
        return
    with st.container(key="places_collections", horizontal=True, vertical_alignment="center", gap="small"):
        picked = st.session_state.setdefault(key(some), default(some))
        st.multiselect(
            some.title,
            list(dict.fromkeys((*document_library.collections(), *picked))),
            key=key(some),
            help=some.description,
            label_visibility="collapsed",
            placeholder="All collections",
            persist_state="session",
            width=320,
        )
        st.page_link("pages/library.py", label="Library", icon=":material/library_books:")


def chosen(path: str) -> str:
    """The selected value of a knob with named choices."""
    parameter = next(parameter for parameter in parameters() if parameter.path == path)
    return str(value_of(parameter))


def chosen_collections() -> list[str]:
    """Return the collections named for the next run. Empty if all are searched."""
    return list(st.session_state.get("knob_search_collections", ()))


def is_excluded(page: str) -> bool:
    """Whether the live knobs exclude this page's passages."""
    return page in st.session_state.get("knob_rank_excluded", ())


def set_excluded(page: str, *, excluded: bool) -> None:
    """Exclude this page's passages from the context, or include them again."""
    others = [other for other in st.session_state.get("knob_rank_excluded", ()) if other != page]
    st.session_state["knob_rank_excluded"] = [*others, page] if excluded else others


def sidebar(run: Run | None, moved: Callable[[str], object]) -> None:
    """Draw the sidebar with the live knobs and the next run's.

    After a change of a live knob, `moved` is called with the name of the fragment to draw again.
    """
    for parameter in parameters():
        st.session_state.setdefault(key(parameter), default(parameter))
    with st.sidebar:
        words = widgets.search_field("Find a setting", "Find a setting", key="find_setting")
        _changed(run, words, moved)
        if words:
            _found(words, run, moved)
        else:
            _all_settings(run, moved)


def _all_settings(run: Run | None, moved: Callable[[str], object]) -> None:
    """Draw every control."""
    run_controls()
    _live_sidebar(run, moved)
    markup.show(markup.section_heading("More", NEXT_QUESTION))
    for group, title, symbol in NEXT:
        group_of_controls(
            group, title, symbol, partial(_of, group), on_change=_note_change, drawn=_draw_changed
        )


def _found(words: str, run: Run | None, moved: Callable[[str], object]) -> None:
    """Draw the controls whose name or description has all words."""
    groups = dict.fromkeys(parameter.group for parameter in parameters())
    found = [
        parameter
        for group in groups
        for parameter in _of(group)
        if has_words(f"{parameter.title} {parameter.description}", words)
    ]
    if not found:
        markup.show_empty("No setting matches.", "search_off")
    for parameter in found:
        if parameter.group in TUNED:
            _moving(parameter, run, moved if run else None)
        else:
            control(parameter)


def _base(run: Run | None, parameter: Parameter) -> Any:
    """Return the value of a knob in the run, or else its default, as a control's value."""
    if run is None:
        return default(parameter)
    value = getattr(getattr(run.knobs, parameter.group), parameter.name)
    return list(value) if parameter.items else getattr(value, "value", value)


def _note_change() -> None:
    st.session_state[_CHANGE] = True


def _draw_changed() -> None:
    """Draw the list of changed settings again, after the fragment of a changed control.

    Not in the callback of the control: its request would come before that fragment, or before the page of a question
    that is asked by the same click.
    """
    if st.session_state.pop(_CHANGE, False):
        streamlit_patches.rerun_fragment(RESET_FRAGMENT)


@st.fragment(key=LIVE_FRAGMENT)
def _live_sidebar(run: Run | None, moved: Callable[[str], object]) -> None:
    tunable = run is not None and not run.live and run.index is not None
    for group, title in LIVE:
        markup.show(markup.section_heading(title, "this run" if tunable else NEXT_QUESTION))
        options: dict[str, Any] = {"moved": moved} if run else {"on_change": _note_change}
        live(group, title, run, **options)
    if tunable:
        with st.container(key="tuned_link"):
            browser.copy_link()
    _draw_changed()


@st.fragment(key=RESET_FRAGMENT)
def _changed(run: Run | None, words: str, moved: Callable[[str], object]) -> None:
    """Draw the settings that differ from the run, or else from the defaults, each with a way back.

    While `words` are searched, the whole page is drawn after that.
    """
    differing = [
        parameter
        for parameter in parameters()
        if parameter.path not in QUESTION_BOX_KNOBS
        and st.session_state.get(key(parameter)) != _base(run, parameter)
    ]
    if not differing:
        return

    def put_back(some: Sequence[Parameter]) -> None:
        forget_typed()
        for parameter in some:
            st.session_state[key(parameter)] = _base(run, parameter)
        if run and not words and all(parameter.group in TUNED for parameter in some):
            moved(LIVE_FRAGMENT)
        else:
            st.rerun("app")

    heading = markup.section_heading("Changed", str(len(differing)))
    if len(differing) == 1:
        markup.show(heading, _change(run, differing[0]))
    else:
        markup.show(heading)
        for parameter in differing:
            with st.container(
                key=f"change_{key(parameter)}", horizontal=True, vertical_alignment="center", gap="xxsmall"
            ):
                markup.show(_change(run, parameter))
                widgets.button(
                    "put back", "", put_back, [parameter], key=f"back_{key(parameter)}", type="tertiary"
                )
    widgets.button("Reset", "undo", put_back, differing, key="reset", type="tertiary")


def _change(run: Run | None, parameter: Parameter) -> Element:
    """Return a changed setting with its value and the one before."""
    value, former = st.session_state[key(parameter)], _base(run, parameter)
    texts = b[parameter.value_text(value)], f" was {parameter.value_text(former)}"
    return p(".oq-changed")[i, parameter.title, " ", *texts]


def live(
    group: str,
    title: str,
    run: Run | None,
    moved: Callable[[str], object] | None = None,
    **options: Any,
) -> None:
    """Draw the controls of a group for a finished run.

    `options` are passed to the widgets. The less used controls are in an expander. `moved` is called after a
    change, with the name of the control's fragment.
    """

    def draw(parameter: Parameter) -> None:
        _moving(parameter, run, moved, **options)

    for parameter in _of(group):
        if parameter.path in ALWAYS_SHOWN:
            draw(parameter)
    further = [parameter for parameter in _of(group) if parameter.path not in ALWAYS_SHOWN]
    if further:
        with st.expander(
            "More chunking settings" if group == "chunk" else "More ranking settings",
            icon=":material/tune:",
            key=f"more_{group}",
            type="compact",
        ):
            for parameter in further:
                draw(parameter)


def _moving(
    parameter: Parameter,
    run: Run | None,
    moved: Callable[[str], object] | None,
    **options: Any,
) -> None:
    """Draw the control of a live knob. With `moved` it is a fragment, and a change calls `moved` with its name."""
    name = key(parameter)
    if moved:
        in_fragment = st.fragment(control, key=name)
        in_fragment(parameter, run=run, alone=True, on_change=partial(moved, name), **options)
    else:
        control(parameter, run=run, **options)


def _of(group: str) -> tuple[Parameter, ...]:
    """Return the group's knobs that have a control.

    A list has a control if it has items, which are added elsewhere.
    """
    return tuple(
        parameter
        for parameter in parameters()
        if parameter.group == group
        and parameter.path not in QUESTION_BOX_KNOBS
        and (not parameter.items or st.session_state.get(key(parameter)))
    )


def run_controls() -> None:
    """Draw the method, its summary, and the budget."""
    method, steps, *budgets = (parameter for parameter in parameters() if parameter.group == "run")
    markup.show(markup.section_heading("Method", NEXT_QUESTION))
    control(method, label_visibility="collapsed")
    selected = Method(st.session_state["knob_run_method"])
    st.caption(selected.summary)
    if selected is Method.AGENT:
        control(steps)
    group_of_controls(
        "run", "Budget", "payments", lambda: budgets, on_change=_note_change, drawn=_draw_changed
    )
    if today := _today():
        st.caption(today)


def _today() -> str:
    """Return this visitor's cost today, the quota, and the price date, or "" without any of them."""
    quotas = runtime.runs().quotas
    spent = quotas.spent(runtime.quota_subject())
    if not (spent.dollars or quotas.dollars_per_day or quotas.tokens_per_day):
        return ""
    parts = [f"Today {Cost(spent.dollars)}"]
    if quotas.dollars_per_day:
        parts[0] += f" of {Cost(quotas.dollars_per_day)}"
    if quotas.tokens_per_day:
        parts.append(f"{spent.tokens:,} of {pluralize(quotas.tokens_per_day, 'token')}")
    return f"{', '.join(parts)}. {runtime.prices().dated}.".replace("$", r"\$")
