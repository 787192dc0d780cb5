"""Actions on the selected runs: open, ask again, compare, export, tag, delete."""

from collections.abc import Sequence

import streamlit as st

from core.analysis.history import all_tags, are_comparable, common_tags
from core.run.repeat import repeat
from core.run.run_summary import RunSummary
from core.run.state import Run
from core.storage.run_summaries import TAG_LIMIT
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import one_line
from pages.parts import markup, page_frame, runtime, widgets
from pages.parts.sharing.export_menu import export_menu

ASKED_AGAIN = "asked_again"
"""Session key: the ids of a run and of the run that repeated its question."""
MAX_NAMED = 5
"""The most questions that the confirmation names."""


def history_actions(
    selected: Sequence[RunSummary], runs: Sequence[RunSummary], *, export_suffix: str = ""
) -> None:
    """Draw the actions on the selected runs.

    The tags of all `runs` are offered. `export_suffix` ends the keys of the Export menu.
    """
    ids = tuple(run.id for run in selected)
    conversations = {run.conversation for run in selected}
    turns = tuple(run for run in reversed(runs) if run.conversation in conversations)
    with st.container(key="history_actions", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(
            f":small[:gray[{len(selected)} selected]]"
            if selected
            else ":small[:gray[Click a run to open it. Tick runs to ask again, compare, export, tag or delete them.]]"
        )
        if not selected:
            return
        st.page_link(
            runtime.RESEARCH,
            label="Open",
            icon=":material/open_in_full:",
            query_params={"run": ids[0]},
            disabled=len(ids) != 1,
            help="Select one run." if len(ids) != 1 else None,
        )
        widgets.button(
            "Ask again",
            "refresh",
            _ask_again,
            ids[0],
            key="history_ask_again",
            type="tertiary",
            disabled=len(ids) != 1 or selected[0].status in ("queued", "running"),
            help="With the same settings and queries, and every page fetched anew; then see what is new"
            if len(ids) == 1
            else "Select one run.",
        )
        _compare(selected)
        export_menu([turn.id for turn in turns], suffix=export_suffix)
        _tags(selected, runs)
        _delete(turns)


def _ask_again(run_id: str) -> None:
    with runtime.errors_after_rerun:
        if run := runtime.runs().get(run_id):
            again = repeat(run)
            new_run_id = runtime.start(again.question, again.knobs, again.queries)
            st.session_state[ASKED_AGAIN] = (run_id, new_run_id)


def run_asked_again() -> Run | None:
    """Return this visitor's run that repeats an earlier question, or None."""
    _, after = st.session_state.get(ASKED_AGAIN, ("", ""))
    return runtime.runs().get(after) if after else None


def asked_again(run: Run) -> None:
    """Draw the state of a repeated question: live, failed, or done. A finished run has a link to the changes."""
    before, after = st.session_state[ASKED_AGAIN]
    question = one_line(run.question, 100)
    if run.live:
        markup.show(markup.busy("refresh", f"“{question}” is being asked again."))
    elif run.error or run.index is None:
        st.warning(
            markdown_label(f"“{question}” was asked again, and failed. {run.error or ''}", 400),
            icon=":material/error:",
        )
    else:
        st.page_link(
            page_frame.EXPLAIN,
            label=f"See what is new: {markdown_label(question, 100)}",
            icon=":material/difference:",
            query_params={"run": before, **page_frame.WHAT_IF, "a": "own", "b": f"run:{after}"},
        )


def _compare(selected: Sequence[RunSummary]) -> None:
    """Draw the link that compares two runs. The earlier run becomes A."""
    fine = are_comparable(selected)
    first, second = sorted(selected, key=lambda run: run.started)[:2] if fine else (selected[0], selected[0])
    st.page_link(
        page_frame.EXPLAIN,
        label="Compare",
        icon=":material/compare_arrows:",
        query_params={"run": first.id, **page_frame.WHAT_IF, "a": "own", "b": f"run:{second.id}"},
        disabled=not fine,
        help=None if fine else "Select two runs that have ended and have passages.",
    )


def _tags(selected: Sequence[RunSummary], runs: Sequence[RunSummary]) -> None:
    shared = common_tags(selected)
    key = f"tags_of_{hash(tuple(run.id for run in selected)):x}"
    if st.session_state.get(key) is None:
        st.session_state[key] = list(shared)
    with st.popover("Tags", icon=":material/label:", type="tertiary", key="history_tags"):
        st.multiselect(
            "Tags of the selected runs",
            list(dict.fromkeys((*all_tags(runs), *st.session_state[key]))),
            key=key,
            accept_new_options=True,
            placeholder="Add a tag",
            help=f"Type a new tag of at most {TAG_LIMIT} characters, or choose one.",
            on_change=_change_tags,
            args=(tuple(run.id for run in selected), shared, key),
            width=300,
        )


def _change_tags(ids: Sequence[str], before: Sequence[str], key: str) -> None:
    tags = st.session_state.pop(key)

    def work() -> None:
        for tag in tags:
            if tag not in before:
                runtime.runs().tag(ids, tag)
        for tag in before:
            if tag not in tags:
                runtime.runs().tag(ids, tag, remove=True)

    runtime.change_runs(ids, work)


def _delete(selected: Sequence[RunSummary]) -> None:
    """A conversation is deleted with all of its turns."""
    runs_label = "this run" if len(selected) == 1 else f"these {len(selected)} runs"
    with st.popover("Delete", icon=":material/delete:", type="tertiary", key="history_delete"):
        bullets = "".join(f"\n- {markdown_label(run.question, 100)}" for run in selected[:MAX_NAMED])
        more = f"\n- and {len(selected) - MAX_NAMED} more" if len(selected) > MAX_NAMED else ""
        st.markdown(f"Delete {runs_label} permanently?\n{bullets}{more}")
        widgets.button(
            f"Delete {runs_label}",
            "",
            _deleted,
            tuple(run.id for run in selected),
            key="history_delete_confirmed",
            type="primary",
        )


def _deleted(ids: Sequence[str]) -> None:
    def work() -> None:
        for run_id in ids:
            runtime.runs().delete(run_id)

    runtime.change_runs(ids, work)
