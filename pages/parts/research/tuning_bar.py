"""The tuned ranking, its context's changes, and a button to answer again."""

import streamlit as st
from htpy import Node, details, div, span, strong, summary

from core.analysis.rankings.context_diff import ContextDiff, context_differs, kept_citations
from core.analysis.run_activity import passage_counts
from core.config.knob_changes import changes
from core.run.run_ids import is_link
from core.run.state import Run
from core.text.sanitize import plural
from pages.parts import browser, markup, page_frame, runtime, services, widgets
from pages.parts.serving import streamlit_patches
from pages.parts.sidebar import controls


class Tuning:
    """The ranking of a finished run under the controls.

    It is read once per drawing, so that all parts agree.
    """

    def __init__(self, run: Run) -> None:
        self.shown_by: tuple[str, ...] = ()
        """The fragments that show the ranking, once drawn."""
        self.read(run)

    def read(self, run: Run) -> None:
        """Rank the run under the current controls."""
        self._checked_in = streamlit_patches.script_run()
        self.knobs = controls.live_knobs(run)
        self.job = runtime.tuned(run, self.knobs)
        self.pending = self.job is not None and self.job.pending
        """Whether the ranking was unfinished. `_drawn` is then the previous ranking."""
        self._drawn = self.job.run.last_complete if self.job is not None and not run.live else run

    def shown(self, run: Run) -> Run:
        """Return the run with the shown ranking. A live run, or a run without a job, is returned unchanged."""
        return self._drawn if self.job is not None and not run.live else run

    def outdated(self, run: Run) -> bool:
        """Whether the ranking has finished or the controls have changed."""
        job = self.job
        if (
            self.pending
            and job is not None
            and (not job.pending or job.run.last_complete.ranking is not self._drawn.ranking)
        ):
            return True
        # Callbacks change controls, and run first: each control is looked up once, not for each fragment.
        before, self._checked_in = self._checked_in, streamlit_patches.script_run()
        return before is not self._checked_in and controls.live_knobs(run) != self.knobs


def tuning(run: Run, tuned: Run, diff: ContextDiff) -> None:
    """Draw what the tuned context changes, and the ways on. It is in the strip “What if”."""
    before = len(run.embedded_for_answer) if tuned is run else 0
    filled = passage_counts(run).embedded - before if before else 0
    figures = summary(aria_label="Figures", title="Figures")[markup.icon("info")]
    markup.show(
        div(".oq-tuned")[strong[kept_citations(run, diff)], details[figures, div[_facts(diff, filled)]]]
    )
    if tuned is not run:
        lost = any(run.check.citation_counts[number] for number in diff.left)
        if lost and widgets.button("why?", key="why_lost", type="tertiary"):
            variant = {"b": changes(run.knobs, tuned.knobs)}
            st.switch_page(page_frame.EXPLAIN, query_params={"run": run.id, **page_frame.WHAT_IF, **variant})
        widgets.button("As it was", "", controls.set_controls, run.knobs, *controls.TUNED, key="as_it_was")
    if context_differs(run, tuned) and not is_link(run.id):
        label = "Answer again" if services.writes_answers() else "Answer again in quotations"
        widgets.button(label, "", answer_again, run.id, tuned, key="answer_again", type="primary")
    if diff.left:  # without it the browser takes the lines through citations away
        browser.strike_citations(diff.left)


def answer_again(run_id: str, tuned: Run | None) -> None:
    """Answer the run again, from the ranking of `tuned` if given."""
    _forget_citation()
    runtime.continue_run(run_id, runtime.runs().answer_again, tuned)


def quote(run_id: str) -> None:
    """Answer an ended run with sentences of its sources."""
    _forget_citation()
    runtime.continue_run(run_id, runtime.runs().quote)


def _forget_citation() -> None:
    for name in ("cited", "passage"):
        st.session_state.pop(name, None)


def _facts(diff: ContextDiff, filled: int) -> Node:
    """Return the context's difference and its cost.

    `filled` is the number of passages embedded since the answer.
    """
    context: Node = None
    if not diff.same_context:
        moved = ", ".join(f"{before}→{after}" for before, after in diff.moved[:6])
        added = "Passages that are not sources of the answer"
        removed = "Sources of the answer that are not in the context"
        resized = "Sources with more or less text around their passage than in this answer"
        context = (
            span["Context vs. this answer:"],
            markup.fact(f"+{len(diff.entered)}", "added", added, "good"),
            markup.fact(f"−{len(diff.left)}", "removed", removed, "bad" if diff.left else ""),
            markup.fact(f"{len(diff.moved)}", "reordered", moved),
            diff.resized and markup.fact(f"{len(diff.resized)}", "longer or shorter", resized),
        )
    tokens = markup.fact(
        f"≈{diff.tokens:,}", plural(diff.tokens, "context token"), "Estimated: four characters a token"
    )
    if filled:
        why = "Passages that had no vector when the context of the answer was chosen"
        return context, markup.fact(f"{filled:,}", "embedded since the answer", why), tokens
    vectors = "The pages were chunked again" if diff.rechunked else "Same passages as before"
    milliseconds = f"{diff.milliseconds:.0f} ms" if diff.milliseconds >= 1 else "<1 ms"
    return (
        context,
        markup.count(diff.reused, "vector", " reused", vectors),
        markup.count(diff.computed, "vector", " computed"),
        markup.fact(milliseconds, "", "Time that the latest change took"),
        tokens,
    )
