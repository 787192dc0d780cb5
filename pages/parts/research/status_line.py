"""The status line: current work, possible answers, effects of tuning. It is in the strip “What if”."""

import streamlit as st
from htpy import div, span

from core.analysis.rankings.context_diff import context_diff, context_differs
from core.analysis.run_activity import (
    AnswerOffer,
    answer_offer,
    current_activity,
    embedded_so_far,
    passage_counts,
    silent_model,
    waiting_for,
)
from core.run.run_ids import is_link
from core.run.state import Run, RunStatus
from core.runtime.jobs import Job
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import plural, pluralize
from pages.parts import markup, runtime, widgets
from pages.parts.research import tuning_bar, what_if
from pages.parts.sidebar import controls

ENDS = {
    RunStatus.STOPPED: "The run was stopped.",
    RunStatus.FAILED: "The run failed.",
    RunStatus.INTERRUPTED: "The run was interrupted.",
}


HINT = "Change a setting: a citation that loses its passage is struck."


def status_line(run: Run, tuned: Run, job: Job | None, now: float) -> None:
    """Draw one line, in every state of the page. Nothing below it moves, also at rest.

    `tuned` is the run as shown below, ranked under the live knobs by `job`. Without a job, it has its own
    ranking.
    """
    with st.container(key="status_line", horizontal=True, vertical_alignment="center", gap="small"):
        if run.live:
            _activity(run, now)
        elif job is not None and job.pending:
            _retuning(job)
        elif tuned is not run and tuned.error:
            st.error(markdown_label(tuned.error.message, 400), icon=":material/error:")
        elif job is not None and job.was_cancelled:
            _kept(tuned)
        elif offer := answer_offer(run):
            _offer(run, tuned, offer)
        elif (diff := context_diff(run, tuned)) and (
            tuned is not run or not (run.sections or _filling(run) or not context_differs(run, tuned))
        ):  # a report's sources are in its sections
            tuning_bar.tuning(run, tuned, diff)
        elif text := _summary(run):
            _line("leaderboard", text)
        else:
            # A phone has room for the values of the settings alone.
            values = span(".values")[what_if.values()]
            markup.show(div(".oq-status-line.hint")[markup.icon("tune"), span[HINT], values])


def _line(symbol: str, text: str, tone: str = "") -> None:
    markup.show(div(class_=["oq-status-line", tone])[markup.icon(symbol), span[text]])


def _activity(run: Run, now: float) -> None:
    """Draw current work. A silent chat model can be ended."""
    silent = silent_model(run, now)
    waits = bool(waiting_for(run, now))
    _line(
        "schedule" if waits else "progress_activity",
        current_activity(run, now) + ("" if waits else " …"),
        "retry" if waits else "",
    )
    if silent and silent.can_quote and not is_link(run.id):
        widgets.button(
            "Quote the sources instead", "format_quote", runtime.quote, run.id, key="quote_instead"
        )


def _retuning(job: Job) -> None:
    """Draw the progress of re-embedding, with a Stop button."""
    run = job.run
    counts = passage_counts(run)
    now = runtime.clock(run)
    waits = run.live and any(run.timeline.waiting(phase, now) for phase in run.timeline.phases)
    wait = current_activity(run, now) if waits else ""
    is_shown = run.live and run.last_complete is run  # its ranking by BM25, which waits for no vector
    if run.live and run.before is not None and counts.found and run.passages is not run.before.passages:
        text = f"Re-embedding {counts.embedded:,} of {counts.found:,} …"
        if is_shown:
            text += " The passages are ranked by BM25; the map follows."
    else:
        text = "Ranking again …"
    markup.show(
        div(class_=["oq-tuned", {"busy": not is_shown}])[markup.icon("tune"), span[text], wait and span[wait]]
    )
    widgets.button(
        "Stop", "stop_circle", runtime.runs().retuning.stop, runtime.session_id(), key="stop_retuning"
    )


def _kept(run: Run) -> None:
    """Draw the state after a stopped retuning.

    Stop itself sets no control: the page still polls then, and the browser would send the old value again.
    """
    _line("stop_circle", "Stopped. The passages are still ranked with the settings before.", "cut")
    widgets.button(
        "Set the controls back",
        "undo",
        controls.set_controls,
        run.knobs,
        *dict(controls.LIVE),
        key="reset_stopped",
    )


def _offer(run: Run, tuned: Run, offer: AnswerOffer) -> None:
    ranked = (
        "The ranking is complete."
        if offer.strategy and offer.ranked == offer.passages
        else f"{offer.ranked:,} of {pluralize(offer.passages, 'passage')} {plural(offer.ranked, 'is', 'are')} ranked by {_strategy(offer.strategy)}."
        if offer.strategy
        else f"{offer.pages:,} of {pluralize(offer.hits, 'page')} {plural(offer.pages, 'was', 'were')} read; their passages are not ranked."
    )
    end = "The answer failed." if offer.model_failed else ENDS.get(run.status, "")
    _line("stop_circle", f"{end} {ranked}", "cut")
    if is_link(run.id):
        return
    if offer.model_failed:
        widgets.button(
            "Quote the sources", "format_quote", tuning_bar.quote, run.id, key="quote_sources", type="primary"
        )
        widgets.button(
            "Write the answer again",
            "refresh",
            tuning_bar.answer_again,
            run.id,
            tuned if tuned is not run else None,
            key="answer_again",
        )
        return
    widgets.button(
        f"Answer now from {offer.pages:,} of {pluralize(offer.hits, 'page')}",
        "auto_awesome",
        tuning_bar.answer_again,
        run.id,
        tuned if tuned is not run else None,
        key="answer_now",
        type="primary",
    )


def _summary(run: Run) -> str:
    """Return what the stepper does not say of a run's ranking, in a few words, or ""."""
    if run.index is None or run.ranking is None:
        return f"{ENDS.get(run.status, '')} No passages were ranked.".strip()
    vectors = embedded_so_far(run)
    if not vectors:
        return ""
    diff = context_diff(run, run)
    entered = (
        f"; {len(diff.entered):,} in the context are new since the answer" if diff and diff.entered else ""
    )
    return f"{vectors}, {'the rest follow' if _filling(run) else 'the rest when needed'}{entered}"


def _filling(run: Run) -> bool:
    """Whether passages are being embedded. The context may then change once more."""
    return bool(embedded_so_far(run)) and runtime.runs().is_filling(run.id)


def _strategy(name: str) -> str:
    return {"bm25": "BM25", "fused": "cosine and BM25 fused", "rerank": "the reranking model"}.get(name, name)
