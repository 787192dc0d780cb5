"""What if: two settings, models or runs. Nothing is fetched. Only new passages are embedded."""

from collections.abc import Mapping
from operator import attrgetter

import orjson
import streamlit as st
from htpy import Element, Node, b, bdi, div, li, span, ul

from core.analysis.change_document import SIGNS, change_document, kind_counts
from core.analysis.rankings.ranked_passages import ranked_passages
from core.analysis.rankings.ranking_comparison import RankingDiff, compare_rankings
from core.analysis.run_changes import ChangeKind, PageChange, PassageChange, RunChanges, run_changes
from core.config.knob_changes import changes
from core.features.share.answer_export import export_name
from core.model.passage_urls import site
from core.run.state import Run
from core.text.sanitize import folded_question, json_without_surrogates, one_line, plural, pluralize
from pages.parts import address, markup, page_frame, runtime, widgets
from pages.parts.answers.answer_diff import SIGNS as DIFF_SIGNS
from pages.parts.answers.answer_diff import TAGS
from pages.parts.answers.answer_pair import AnswerPair
from pages.parts.compare import compare_config, compare_controls, rank_changes
from pages.parts.compare.compare_config import SIDES, CompareConfig
from pages.parts.compare.rank_lines import rank_lines
from pages.parts.problems import errors_inline

MAX_ROWS = 1000
CLASSES = {
    ChangeKind.NEW: "added",
    ChangeKind.GONE: "removed",
    ChangeKind.CHANGED: "common",
    ChangeKind.MOVED: "common",
}


def view(run: Run) -> None:
    """Draw two settings side by side, with the ranks between both answers."""
    if run.index is None or run.ranking is None:
        markup.show_empty("This run has no ranking: it ended before its passages were ranked.", "leaderboard")
        return
    compare_config.adopt(run)
    with st.container(key="compared"):
        settings, results = st.columns([1.7, 1], gap="medium", vertical_alignment="center")
        with settings:
            for side in SIDES:
                compare_controls.side_controls(run, side)
    both = {side: compare_config.config_of(run, side) for side in SIDES}
    compare_config.keep_in_address(run, *both.values())
    first, second = (compare_controls.ranked(config) for config in both.values())
    difference = compare_rankings(first, second) if first and second else None
    if first is None or second is None or difference is None:
        return
    answers = AnswerPair(both, {"a": first, "b": second})
    with results:
        markup.show(_figures(difference, answers))
        with st.container(
            horizontal=True,
            horizontal_alignment="right",
            vertical_alignment="center",
            gap="small",
            key="compared_actions",
        ):
            widgets.button("Swap", "swap_horiz", compare_config.swap, run, key="swap", type="tertiary")
            _use(run, both["b"])
            answers.draw_button()
    with st.container(key="answer_pair"):
        answers.draw(lambda: _ranks(difference))
    what_is_new(both["a"].run, both["b"].run)
    _measures(difference, {"a": first, "b": second})


def _figures(difference: RankingDiff, answers: AnswerPair) -> Element:
    """Return what differs in figures. What is the same in both is one number, or nothing."""
    before, after = difference.before, difference.after
    numbers = [
        sum(bool(number) for number in side)
        for side in zip(*((c.before_number, c.after_number) for c in difference.changes), strict=True)
    ]
    shared = sum(bool(change.before_number and change.after_number) for change in difference.changes)
    sources = max(numbers, default=0)
    seconds = [side.seconds for side in answers.sides()]
    return div(".oq-compared")[
        _figure(f"{shared} of {sources}", f"{plural(sources, 'source')} in both"),
        _figure(
            _both(before.context_tokens, after.context_tokens), "tokens of context", rank_changes.ESTIMATED
        ),
        before.passages != after.passages and _figure(_both(before.passages, after.passages), "passages"),
        all(seconds)
        and _figure(" → ".join(map(markup.duration, filter(None, seconds))), "to write the answer"),
    ]


def _figure(value: str, label: str, hint: str = "") -> Element:
    return span(title=hint or None)[b[value], label]


def _both(before: int, after: int) -> str:
    return f"{before:,}" if before == after else f"{before:,} → {after:,}"


def _use(run: Run, config: CompareConfig) -> None:
    """Draw a link to the run with the knobs of B, if B has this run and its own models."""
    changed = changes(run.knobs, config.knobs)
    if config.run.id == run.id and changed and not (config.embedder or config.model):
        query = {"run": run.id, address.SETTINGS: list(changed)}
        st.page_link(
            runtime.RESEARCH, label="Use B in this run", icon=":material/arrow_forward:", query_params=query
        )


def _ranks(difference: RankingDiff) -> None:
    with st.container(key="rank_lines"):
        markup.show(markup.section_heading("Rank of each source"), rank_lines(difference.changes))


def _measures(difference: RankingDiff, ranked: Mapping[str, Run]) -> None:
    """Draw the measures of both rankings, all rank changes and both tables, once opened."""
    measures = st.expander(
        "Measures: overlap of the rankings, all rank changes, both rankings",
        icon=":material/table_chart:",
        key="measures",
        type="compact",
        on_change="rerun",
    )
    if not measures.open:
        return
    with measures:
        markup.show(rank_changes.comparison_facts(difference), rank_changes.measures(difference))
        markup.show(
            markup.section_heading("All rank changes", "select a row to see the passage in its article")
        )
        rank_changes.change_table(difference, ranked["a"], ranked["b"], "rank_changes", ("A", "B"))
        for column, (side, run) in zip(st.columns(2, gap="medium"), ranked.items(), strict=True):
            with column:
                _ranking(run, side)


def _ranking(run: Run, side: str) -> None:
    table = ranked_passages(run)
    context = len(run.ranking.context) if run.ranking else 0
    note = f"{pluralize(len(table), 'passage')}, {context} in the context"
    note += f"; the first {MAX_ROWS:,} are listed" if len(table) > MAX_ROWS else ""
    markup.show(markup.section_heading(f"Ranking {SIDES[side]}", note))
    scores = [
        name
        for name in ("cosine", "bm25", "fused", "rerank")
        if any(getattr(row, name) is not None for row in table[:MAX_ROWS])
    ]
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    columns = {
        "rank": (number("rank", width=44), attrgetter("rank")),
        "context #": (
            number("context #", width=76, help="Position in the context; empty when not in it"),
            attrgetter("number"),
        ),
        **{name: (number(name, width=64, format="%.3f"), attrgetter(name)) for name in scores},
        "passage": (text("passage", width="medium"), attrgetter("snippet")),
        "source": (text("source"), attrgetter("site")),
    }
    page_frame.table(table[:MAX_ROWS], columns, f"ranking_{side}", alt=f"Ranking {SIDES[side]}")


@errors_inline
def what_is_new(before: Run, after: Run) -> None:
    """Draw new sources and pages, if both runs asked one question. The answers are compared elsewhere."""
    if before.id == after.id or folded_question(before.question) != folded_question(after.question):
        return
    changes = run_changes(before, after)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="what_is_new_head"):
        markup.show(markup.section_heading("What is new", "from A to B, as each run ended"), width="stretch")
        widgets.download_button(
            "Export",
            lambda: orjson.dumps(
                json_without_surrogates(change_document(changes)), option=orjson.OPT_INDENT_2
            ),
            export_name(after.question, "-changes.json"),
            "application/json",
            type="tertiary",
            key="what_is_new_export",
            help="All changes as JSON: sources, passages, pages, ranks and sentences of the answer",
        )
    items = [*(_source(changes, change) for change in changes.sources), *map(_page, changes.pages)]
    with st.container(key="what_is_new"):
        markup.show(
            markup.verdict(_summary(changes)),
            markup.region("oq-text diff flow", "What is new")[ul[items]] if items else None,
        )


def _summary(changes: RunChanges) -> str:
    parts = [
        *kind_counts("source", changes.sources),
        *kind_counts("page", changes.pages),
        *kind_counts("passage", changes.passages),
    ]
    answer = f"{changes.scores.answer:.0%} of the answer is other sentences" if changes.scores.answer else ""
    return (
        f"{'; '.join(filter(None, (*parts, answer))) or 'Nothing: pages, sources and answer are the same'}."
    )


def _source(changes: RunChanges, change: PassageChange) -> Element:
    source = changes.source(change)
    title = [
        f"Source {source.number}: ",
        bdi[one_line(source.title, 80)],
        f", {source.site or site(source.url)}",
    ]
    return _item(
        change.kind,
        title,
        *(
            (span[" "], b(aria_hidden="true")[DIFF_SIGNS[piece.kind]], bdi[TAGS[piece.kind][piece.text]])
            for piece in change.pieces
        ),
    )


def _page(change: PageChange) -> Element:
    reason = f" ({one_line(change.reason, 120)})" if change.reason else ""
    title = ["Page: ", bdi[one_line(change.page.title, 80)], f", {site(change.page.url)}{reason}"]
    return _item(change.kind, title)


def _item(kind: ChangeKind, title: Node, *pieces: tuple[Element, ...]) -> Element:
    """Return a list item with a sign. A screen reader reads the sign as a word."""
    return li(class_=CLASSES[kind])[
        b(aria_hidden="true")[SIGNS[kind].replace("-", "−")],
        span[span(".oq-unseen")[f"{kind}: "], title, pieces],
    ]
