"""New answers for both sides of a comparison, written in parallel.

Each side has a separate ranking and model.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import streamlit as st

from core.analysis.rankings.context_diff import context_differs, contexts_differ
from core.config.access import Access
from core.run.state import Run, RunStatus
from core.runtime.jobs import Job
from core.text.display import embedder_name
from core.text.sanitize import pluralize
from pages.parts import page_frame, runtime, widgets
from pages.parts.answers.answer_diff import AnswerSide, side_by_side
from pages.parts.compare.compare_config import CompareConfig

ANSWERS = "answer_pair"
"""Session key: the name of the answer that each side shows."""


class AnswerPair:
    """The answers of both sides, as far as they are written."""

    def __init__(self, configs: Mapping[str, CompareConfig], ranked: Mapping[str, Run]) -> None:
        names, begun = st.session_state.get(ANSWERS, {}), runtime.runs().side_answers
        self.configs, self.ranked = configs, ranked
        self.jobs = {side: begun.get(names[side]) if names.get(side) else None for side in configs}

    @property
    def live(self) -> bool:
        """Whether an answer is being written."""
        return any(job is not None and job.live for job in self.jobs.values())

    def sides(self) -> tuple[AnswerSide, AnswerSide]:
        """Return both answers as they are now."""
        first, second = (
            _side(self.configs[side], self.ranked[side], self.jobs[side]) for side in self.configs
        )
        return first, second

    def draw_button(self) -> None:
        """Draw the button that writes new answers, or stops them."""
        if self.live:
            widgets.button("Stop both", "stop", _stop, key="stop_both")
        else:
            widgets.button(
                "Answer both",
                "edit_note",
                _begin,
                self.configs,
                self.ranked,
                key="answer_both",
                type="primary",
                help="Writes an answer from each ranking. The run's answer stays as it is.",
            )

    def draw(self, between: Callable[[], object]) -> None:
        """Draw both answers, and what is `between` them. New ones stream."""
        page_frame.until(
            lambda: not self.live,
            lambda: side_by_side(*self.sides(), between=between),
            key="answer_pair_answers",
            every=0.3 if self.live else None,
        )


def _side(config: CompareConfig, ranked: Run, job: Job | None) -> AnswerSide:
    if job is not None:
        # Compare with the job's base ranking: a stopped or failed job may have no sources yet.
        stale = not job.live and (contexts_differ(job.base, ranked) or job.access != config.access)
        stopped = job.run.status is RunStatus.STOPPED
        title = f"{'Stopped: ' if stopped else ''}{_title(config)}"
        missing = "Stopped before the answer was written. “Answer both” starts it again." if stopped else ""
        return AnswerSide.of_job(
            config.side, "Outdated: the settings have changed" if stale else title, job, missing
        )
    missing = "No answer from this ranking yet: press “Answer both”."
    if config.model or context_differs(config.run, ranked):
        return AnswerSide.of_run(config.side, _title(config), replace(ranked, answer=None), missing)
    return AnswerSide.of_run(config.side, "Original answer", config.run, missing)


def _title(config: CompareConfig) -> str:
    rank = config.knobs.rank
    parts = (
        f"{rank.strategy}",
        pluralize(rank.top_k, "passage"),
        embedder_name(config.embedder),
        config.model,
    )
    return ", ".join(part for part in parts if part)


# --- actions ----------------------------------------------------------------------------------------------


def _begin(configs: Mapping[str, CompareConfig], ranked: Mapping[str, Run]) -> None:
    session = runtime.session_id()
    names = {
        side: begin(f"{session} {side} answer", ranked[side], config.access)
        for side, config in configs.items()
    }
    st.session_state[ANSWERS] = {side: name for side, name in names.items() if name}


def _stop() -> None:
    for name in st.session_state.get(ANSWERS, {}).values():
        runtime.runs().side_answers.stop(name)


def begin(name: str, ranked: Run, access: Access) -> str:
    """Start an answer from a ranking, and return its name.

    Returns "" after a refusal, which the page shows.
    """
    with runtime.errors_after_rerun:
        runtime.runs().side_answers.answer(name, ranked, access)
        return name
    return ""
