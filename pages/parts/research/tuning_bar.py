"""What the live knobs did to the ranking, and the way to an answer from it."""

from __future__ import annotations

import streamlit as st

from core.analysis.rankings.context_changes import Changes, changes, other_context
from core.run.state import Run
from core.text.safe_markdown import markdown_label
from pages.parts import markup, runtime


def tuning(run: Run, tuned: Run, *, lasts: bool) -> None:
    """One line under the stepper, only when the ranking is not the answer's."""
    if lasts:
        st.html(f'<div class="oq-tuned busy">{markup.icon("tune")}<span>Ranking anew …</span></div>')
        return
    if tuned.error and tuned is not run:
        st.error(markdown_label(tuned.error.message, 400), icon=":material/error:")
        return
    found = changes(run, tuned)
    differs = other_context(run, tuned)
    if run.live or found is None or (tuned is run and not differs):
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="tuned"):
        st.html(f'<div class="oq-tuned">{markup.icon("tune")}{_told(found)}</div>', width="stretch")
        if differs:
            st.button(
                "Answer again",
                key="answer_again",
                icon=":material/refresh:",
                type="primary",
                on_click=_answer_again,
                args=(run.id, tuned),
            )


def _answer_again(run_id: str, tuned: Run) -> None:
    for name in ("cited", "passage"):
        st.session_state.pop(name, None)
    runtime.go_on(
        run_id,
        lambda: runtime.runs().answer_again(run_id, tuned, runtime.access(), owner=runtime.owner()),
    )


def _told(found: Changes) -> str:
    if found.same_context:
        ranking = "<span>The same context as the answer's.</span>"
    else:
        moved = ", ".join(f"{then}→{now}" for then, now in found.moved[:6])
        ranking = "".join(
            (
                markup.fact(
                    f"+{len(found.entered)}", "entered", "passages that the answer did not have", "good"
                ),
                markup.fact(
                    f"−{len(found.left)}",
                    "left",
                    "sources of the answer that are out",
                    "bad" if found.left else "",
                ),
                markup.fact(f"{len(found.moved)}", "moved", moved),
            )
        )
    vectors = "passages cut anew" if found.recut else "same passages"
    return ranking + "".join(
        (
            markup.fact(f"{found.reused:,}", "vectors reused", vectors),
            markup.fact(f"{found.computed:,}", "computed"),
            markup.fact(
                f"{found.milliseconds:.0f} ms" if found.milliseconds >= 1 else "<1 ms",
                "",
                "from the knob to the ranking",
            ),
            markup.fact(f"≈{found.tokens:,}", "tokens of context", "estimated: four characters a token"),
        )
    )
