"""Earlier and later turns of a conversation, folded, and its total usage."""

from collections.abc import Sequence

import streamlit as st
from htpy import div, h2, p, span

from core.analysis.conversation import answered_from, thread
from core.analysis.run_usage import run_usage
from core.model import readable
from core.run.run_ids import is_link
from core.run.run_summary import RunSummary
from core.run.state import Run
from core.storage.run_summaries import TITLE_LIMIT
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import one_line, pluralize
from pages.parts import markup, runtime, widgets
from pages.parts.problems import errors_inline

UNFOLDED_TURNS = 6
"""Turns on each side of the shown turn that include the beginning of the answer.

The others are in an expander.
"""
ANSWER_CHARACTERS = 180


def turns_of(run: Run) -> tuple[RunSummary, ...]:
    """Return the conversation of a run, oldest turn first. A run without other turns is returned alone."""
    with errors_inline:
        return thread(runtime.runs().history(limit=1000, conversation=run.conversation), run.id)
    return ()


def head(turns: Sequence[RunSummary], run: Run) -> None:
    """Draw the title and usage of a conversation above its first turn. Nothing is drawn for a single question."""
    if len(turns) < 2:
        return
    usage = run_usage([call for turn in turns for call in turn.model_usage], runtime.prices())
    facts = [pluralize(len(turns), "turn")]
    if usage.tokens:
        facts.append(f"{'≈' if usage.estimated else ''}{pluralize(usage.tokens.total_tokens, 'token')}")
    if usage.cost_text:
        facts.append(f"cost {usage.cost_text}")
    title = turns[0].title
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="thread_head"):
        markup.show(div(".oq-thread")[h2(dir="auto")[title], span[", ".join(facts)]])
        if not is_link(run.id):
            _rename(turns[0], title)


def _rename(first: RunSummary, title: str) -> None:
    key = f"thread_title_{first.conversation}"

    def rename() -> None:
        conversation, written = first.conversation, st.session_state[key]
        runtime.change_runs([first.id], lambda: runtime.runs().store.rename(conversation, written))

    with st.popover("Rename", icon=":material/edit:", type="tertiary", key="thread_rename"):
        st.text_input(
            "Title of the conversation",
            title[:TITLE_LIMIT],
            max_chars=TITLE_LIMIT,
            key=key,
            on_change=rename,
            help="Empty: its first question.",
        )


def before(turns: Sequence[RunSummary], run: Run) -> None:
    """Draw the turns before the shown turn."""
    place = _place(turns, run)
    _folded(turns, range(place), nearest_last=True)


def after(turns: Sequence[RunSummary], run: Run) -> None:
    """Draw the turns after the shown turn."""
    _folded(turns, range(_place(turns, run) + 1, len(turns)), nearest_last=False)


def turn_line(turns: Sequence[RunSummary], run: Run) -> str:
    """Return a run's turn number and source of pages, or "" for a single question."""
    return f"Turn {_place(turns, run) + 1} of {len(turns)}, {answered_from(run)}" if len(turns) > 1 else ""


def _place(turns: Sequence[RunSummary], run: Run) -> int:
    return next((place for place, turn in enumerate(turns) if turn.id == run.id), 0)


def _folded(turns: Sequence[RunSummary], places: range, *, nearest_last: bool) -> None:
    near = places[-UNFOLDED_TURNS:] if nearest_last else places[:UNFOLDED_TURNS]
    far = [place for place in places if place not in near]
    if far and nearest_last:
        _far(turns, far, "earlier")
    for place in near:
        _turn(turns[place], place + 1)
    if far and not nearest_last:
        _far(turns, far, "later")


def _far(turns: Sequence[RunSummary], places: Sequence[int], which: str) -> None:
    with st.expander(
        pluralize(len(places), f"{which} turn"), icon=":material/unfold_more:", key=f"{which}_turns"
    ):
        for place in places:
            _open_button(turns[place], f"{place + 1}. {markdown_label(turns[place].question, 120)}")


def _turn(turn: RunSummary, number: int) -> None:
    run = runtime.runs().get(turn.id)
    with st.container(border=True, key=f"turn_{number}", gap="xsmall"):
        with st.container(
            horizontal=True, vertical_alignment="center", gap="small", key=f"turn_head_{number}"
        ):
            origin = f"{answered_from(run)} · " if run else ""
            markup.show(
                div(".oq-turn-head")[
                    span[f"Turn {number}"], f"{origin}{turn.status}, {markup.duration(turn.seconds)}"
                ]
            )
            _open_button(turn, "Show")
        answer = one_line(readable(run.text), ANSWER_CHARACTERS) if run and run.text else "No answer."
        markup.show(
            div(".oq-turn")[p(".question", dir="auto")[turn.question], p(".text", dir="auto")[answer]]
        )


def _open_button(turn: RunSummary, label: str) -> None:
    widgets.button(
        label,
        "unfold_more" if label == "Show" else "",
        runtime.show_run,
        turn.id,
        key=f"open_turn_{turn.id}",
        help=f"Show this turn: {markdown_label(turn.question, 200)}",
        type="tertiary",
    )
