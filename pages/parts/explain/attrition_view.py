"""Attrition view: flow from search results to citations, and traces.

A trace follows one sentence or address.
"""

from operator import attrgetter

import streamlit as st
from htpy import Element, Node, b, div, h2, i, li, ol, span, ul

from core.analysis.retrieval.attrition import Flow, attrition
from core.analysis.retrieval.flow_diagram import DiagramStep, LossBand, flow_diagram, flow_items
from core.analysis.retrieval.trace import StepState, Trace, TraceOutcome, absence_from_answer
from core.model import Place
from core.run.state import Run
from core.text.display import decimal, passage_label
from core.text.sanitize import pluralize
from pages.parts import markup, page_frame, widgets
from pages.parts.passage_reader import reader

FLOW = "attrition_flow"
QUERY = "why"
MAX_ROWS = 2000
SIGNS = {
    StepState.PASSED: "check",
    StepState.ENDED: "close",
    StepState.NOT_REACHED: "remove",
    StepState.UNKNOWN: "question_mark",
}


def view(run: Run) -> None:
    """Draw the trace of a URL or text, the attrition diagram and the selected flow."""
    losses = page_frame.cached("attrition", run, lambda: attrition(run))
    flows = {flow.key: flow for flow in losses.flows if flow.count}
    if not flows:
        markup.show_empty("No search results were found.", "filter_alt_off")
        return
    if run.lacks_texts:
        markup.show_empty(
            "The texts of the pages were left out of the file of this run, so no text can be traced in them.",
            "visibility_off",
        )
    else:
        _why_not(run)
    if st.session_state.get(FLOW) not in flows:
        st.session_state[FLOW] = None
    steps = (_step(step, st.session_state[FLOW]) for step in flow_diagram(losses))
    label = "From search results to cited passages, with the losses after each step"
    markup.show(ol(".oq-attrition", aria_label=label)[steps])
    if not losses.answered:
        reason = "The answer was written from another context" if run.answer else "There is no answer"
        st.caption(f"{reason}, so citations are not shown.")
    _flow_table(run, flows)


def pick(name: str) -> None:
    """Select the flow that was clicked."""
    st.session_state[FLOW] = name


def _step(step: DiagramStep, selected: str | None) -> Element:
    arriving = step.arriving
    bar = (
        div(".bar", style=f"--width:{step.width:.3%}"),
        span(".name")[b[f"{step.count:,}"], " ", step.step],
    )
    label = (
        markup.pick_link("flow", arriving.key, class_=["step", {"on": arriving.key == selected}])[bar]
        if arriving
        else div(".step")[bar]
    )
    if not (step.losses or step.onward):
        return li[label]
    return li[
        label,
        div(".flow")[
            div(".bands")[
                i(style=f"--width:{step.onward:.3%}"), (_band(band, selected) for band in step.losses)
            ],
            bool(step.losses)
            and ul(".lost", aria_label=f"Lost after {step.step}")[
                (_line(band, selected) for band in step.losses)
            ],
        ],
    ]


def _band(band: LossBand, selected: str | None) -> Element:
    corners = ",".join(f"{x:.2%} {y:.2%}" for x, y in band.outline)
    return markup.pick_link(
        "flow",
        band.flow.key,
        class_=["band", {"on": band.flow.key == selected}],
        tabindex="-1",
        aria_hidden="true",
        title=f"{band.flow.reason}: {band.flow.count:,}",
        style=f"clip-path:polygon({corners})",
    )


def _line(band: LossBand, selected: str | None) -> Element:
    return li[
        markup.pick_link("flow", band.flow.key, class_={"on": band.flow.key == selected})[
            b[f"{band.flow.count:,}"], f" × {band.flow.reason}"
        ]
    ]


def _flow_table(run: Run, flows: dict[str, Flow]) -> None:
    losses = sum(flow.to is None for flow in flows.values())
    key = st.selectbox(
        "Items of a flow",
        sorted(flows, key=lambda key: flows[key].to is not None),  # losses first
        index=None,
        key=FLOW,
        format_func=lambda flow: _flow_title(flows[flow]),
        placeholder=f"Click a flow above, or select one of {pluralize(losses, 'loss')} to list its items …"
        if losses
        else "Click a flow above, or select one to list its items …",
        label_visibility="collapsed",
        icon=":material/filter_alt:",
    )
    if key is None:
        return
    items = flow_items(run, flows[key])
    more = f"; the first {MAX_ROWS:,} are listed" if len(items) > MAX_ROWS else ""
    markup.show(markup.section_heading(_flow_title(flows[key]), f"{pluralize(len(items), 'item')}{more}"))
    page_frame.table(
        items[:MAX_ROWS],
        {
            "item": (st.column_config.TextColumn("item", width="large"), attrgetter("label")),
            "detail": (st.column_config.TextColumn("detail", width="medium"), attrgetter("detail")),
            "link": page_frame.link_column(),
        },
        "flow_items",
        max_rows=8,
        alt="Items of the selected flow",
    )


def _flow_title(flow: Flow) -> str:
    if flow.to is None:
        return f"Lost after “{flow.start}”: {flow.reason} ({flow.count:,})"
    return f"{str(flow.start).capitalize()} → {flow.to} ({flow.count:,})"


# --- trace ------------------------------------------------------------------------------------------------


def _why_not(run: Run) -> None:
    with st.container(border=True, key="why_card"):
        markup.show(h2(".oq-subtitle")["Why is this not in the answer?"])
        query = st.text_area(
            "A sentence or an address",
            key=QUERY,
            placeholder="Paste a sentence that you expected in the answer, or a page's address …",
            label_visibility="collapsed",
            height=68,
            max_chars=2000,
            bind="query-params",
        )
        widgets.button("Find out", "route", key="trace")
        trace = page_frame.cached("why", run, lambda: absence_from_answer(run, query or ""), query)
        if trace.outcome is TraceOutcome.EMPTY_QUERY:
            return
        markup.show(_steps(trace))
        _passages(run, trace)
    _reader(run, trace)


def _steps(trace: Trace) -> Node:
    steps = (
        li(class_=str(state), aria_label=f"{title}: {state}")[markup.icon(SIGNS[state]), span[title]]
        for title, state in trace.steps
    )
    approximate = (
        f" This is an approximate match: {trace.similarity:.0%} of the words, weighted by rarity."
        if trace.similarity < 1
        else ""
    )
    tone = "good" if trace.outcome is TraceOutcome.CITED else "bad"
    return (
        ol(".oq-trace", data_outcome=trace.outcome.name)[steps],
        markup.verdict(f"{trace.message}{approximate}", tone),
    )


def _passages(run: Run, trace: Trace) -> None:
    if len(trace.passages) < 2 or run.index is None:
        return
    passages, column = run.index.passages, st.column_config
    page_frame.table(
        trace.passages,
        {
            "rank": (column.NumberColumn(), attrgetter("rank")),
            trace.score_name or "score": (column.NumberColumn(format="%.3f"), attrgetter("score")),
            "context #": (column.NumberColumn(), attrgetter("number")),
            "reason": (column.TextColumn(), lambda passage: passage.reason or "in the context"),
            "passage": (
                column.TextColumn(width="large"),
                lambda passage: passage_label(passages[passage.row].text, 160),
            ),
        },
        "trace_passages",
        max_rows=6,
        alt="Passages with all or a part of the text",
    )


def _reader(run: Run, trace: Trace) -> None:
    """Draw the matched text in its article. Without a match, the page's best passage is drawn."""
    page = run.pages.get(trace.page or "")
    if page is None:
        return
    place: Place | None = trace.place
    if place is None and trace.passages and run.index is not None:
        place = run.index.passages[trace.passages[0].row].place
    if place is None or place.page != page.key:
        return
    best = trace.passages[0] if trace.passages else None
    facts = [] if best is None else [markup.fact(f"{best.rank:,}", "best rank")]
    if best is not None and best.score is not None:
        facts.append(markup.fact(decimal(best.score, 3), trace.score_name))
    if trace.cutoff is not None:
        facts.append(markup.fact(decimal(trace.cutoff, 3), "at the cut-off"))
    reader(page, place, label="Match", facts=tuple(facts), key="reader_trace", opened=QUERY)
