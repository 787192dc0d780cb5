"""Results pane: the cited passage, and tabs. The tabs are passages, hits, pages, timeline and prompt.

The tab of the prompt shows the contents of the context, as a bar and a table.
"""

from collections.abc import Callable

import streamlit as st
from htpy import Element, b, caption, div, i, pre, span, table, tbody, td, tfoot, th, thead, tr

from core.analysis.context_usage import ContextUsage, PartUsage, context_usage
from core.analysis.progress import RunStage
from core.analysis.run_usage import UNKNOWN
from core.config.prices import Cost
from core.model import AnswerKind
from core.run.state import Run
from core.text.sanitize import pluralize
from pages.parts import markup, runtime
from pages.parts.conversation import follow_up
from pages.parts.research import live_results, nearest_view, passage_table, timeline_view

TABS = (
    ":material/scatter_plot: Passages",
    ":material/travel_explore: Search hits",
    ":material/article: Pages",
    ":material/view_timeline: Timeline",
    ":material/terminal: Prompt",
)


def results_pane(run: Run, tuned: Callable[[], Run], stage: RunStage) -> tuple[str, ...]:
    """Draw the selected tab.

    `run` has the answer, and `tuned` returns the run ranked under the live knobs. Returns the fragments to
    draw again after a change of the ranking, which most tabs do not show.
    """
    passage_table.cited_passage(run)
    tabs = st.tabs(list(TABS), key="results_tabs", on_change="rerun")
    open_tab = next((number for number, tab in enumerate(tabs) if tab.open), 0)
    with tabs[open_tab]:
        match open_tab:
            case 0 if stage in (RunStage.QUEUED, RunStage.GATHER) or tuned().ranking is None:
                live_results.live(run)
                return ("results",)
            case 0 if (vector := follow_up.drafted_vector(run)) is not None:
                with st.container(key="ranked"):
                    nearest_view.nearest_to_follow_up(run, vector)
            case 0:
                with st.container(key="ranked"):
                    return passage_table.passages(run, tuned)
            case 1:
                live_results.hits(run)
            case 2:
                live_results.articles(run)
            case 3:
                timeline_view.timeline(run, runtime.clock(run))
            case _:
                prompt(run)
    return ()


def prompt(run: Run) -> None:
    """Draw the context's contents and the exact messages sent."""
    usage = context_usage(run, runtime.prices())
    if usage is None:
        text = "Not sent yet." if run.live else "No prompt: the answer was not written by a chat model."
        if run.answer and run.answer.kind is AnswerKind.WRITTEN:
            text = "The prompt was left out of the file that this run came in."
        markup.show_empty(text, "terminal")
        return
    markup.show(
        markup.section_heading("What fills the context", "tokens are estimated at four characters each"),
        context_bar(usage),
    )
    for message in run.prompt:
        markup.show(
            markup.section_heading(message.role, pluralize(len(message.content), "character")),
            pre(".oq-prompt", tabindex="0")[message.content],
        )


def context_bar(usage: ContextUsage) -> Element:
    """Return a bar with a segment per prompt part, and a table.

    A segment is as wide as its share of the tokens.
    """
    return div(".oq-context")[
        div(
            ".bar", role="img", aria_label=", ".join(f"{part.name} {part.share:.0%}" for part in usage.parts)
        )[
            (
                div(class_=["part", part.part], style=f"flex-grow:{part.tokens}", title=part.name)[
                    span[str(part.number or part.part)]
                ]
                for part in usage.parts
            )
        ],
        table[
            caption(".oq-unseen")["The parts of the prompt"],
            thead[tr[th["part"], th(".what")["what it is"], th["tokens"], th["share"], th["cost"]]],
            tbody[map(_row, usage.parts)],
            tfoot[
                tr[
                    td[b["Prompt"]],
                    td(".what")[_counted(usage)],
                    td[f"≈{usage.tokens:,}"],
                    td["100%"],
                    td[_cost(usage.cost)],
                ]
            ],
        ],
    ]


def _row(part: PartUsage) -> Element:
    return tr[
        td[i(class_=["swatch", part.part]), part.name],
        td(".what")[part.title],
        td[f"≈{part.tokens:,}"],
        td[f"{part.share:.1%}"],
        td[_cost(part.cost)],
    ]


def _counted(usage: ContextUsage) -> str:
    return f"{usage.counted:,} counted by the server" if usage.counted is not None else ""


def _cost(cost: Cost | None) -> str:
    return str(cost) if cost else UNKNOWN
