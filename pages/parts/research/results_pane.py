"""Results pane: the cited passage, and tabs for passages, hits, pages, timeline and prompt."""

from collections.abc import Callable

import streamlit as st
from htpy import pre

from core.analysis.context_usage import context_usage
from core.analysis.progress import RunStage
from core.model import AnswerKind
from core.run.state import Run
from core.text.sanitize import pluralize
from pages.parts import markup, runtime
from pages.parts.research import live_results, passage_table, timeline_view
from pages.parts.research.context_view import context_bar
from pages.parts.research.left_out_view import left_out_texts

TABS = (
    ":material/scatter_plot: Passages",
    ":material/travel_explore: Search hits",
    ":material/article: Pages",
    ":material/view_timeline: Timeline",
    ":material/terminal: Prompt",
)


def results_pane(run: Run, tuned: Run, stage: RunStage, uncite: Callable[[], object]) -> None:
    """Draw the selected tab. `run` has the answer; `tuned` is ranked under the live knobs."""
    if cited := st.session_state.get("cited"):
        passage_table.cited_passage(run, cited, uncite)
    tabs = st.tabs(list(TABS), key="results_tabs", on_change="rerun")
    open_tab = next((number for number, tab in enumerate(tabs) if tab.open), 0)
    with tabs[open_tab]:
        match open_tab:
            case 0 if stage in (RunStage.QUEUED, RunStage.GATHER) or tuned.ranking is None:
                live_results.live(run)
            case 0:
                with st.container(key="ranked"):
                    passage_table.passages(run, tuned, dark=st.context.theme.type == "dark")
            case 1:
                live_results.hits(run)
            case 2:
                left_out_texts(run)
                live_results.articles(run)
            case 3:
                timeline_view.timeline(run, runtime.clock(run))
            case _:
                prompt(run)


def prompt(run: Run) -> None:
    """What fills the context of the chat model, and the exact messages that were sent to it."""
    usage = context_usage(run, runtime.prices())
    if usage is None:
        text = "Not sent yet." if run.live else "No prompt: the answer was not written by a chat model."
        if run.answer and run.answer.kind is AnswerKind.WRITTEN:
            text = "The prompt was left out of the file that this run came in."
        markup.show(markup.empty(text, "terminal"))
        return
    markup.show(
        markup.kicker("What fills the context", "tokens are estimated at four characters each"),
        context_bar(usage),
    )
    for message in run.prompt:
        markup.show(
            markup.kicker(message.role, pluralize(len(message.content), "character")),
            pre(".oq-prompt", tabindex="0")[message.content],
        )
