"""New sources and pages between two runs, and a file of changes."""

import orjson
import streamlit as st
from htpy import Element, Node, b, bdi, li, span, ul

from core.analysis.change_document import SIGNS, change_document, kind_counts
from core.analysis.run_changes import ChangeKind, PageChange, PassageChange, RunChanges, run_changes
from core.features.share.answer_export import export_name
from core.model.passage_urls import site
from core.run.state import Run
from core.text.sanitize import folded_question, json_without_surrogates, one_line
from pages.parts import markup, widgets
from pages.parts.answers.answer_diff import SIGNS as DIFF_SIGNS
from pages.parts.answers.answer_diff import TAGS
from pages.parts.problems import errors_inline

CLASSES = {
    ChangeKind.NEW: "added",
    ChangeKind.GONE: "removed",
    ChangeKind.CHANGED: "common",
    ChangeKind.MOVED: "common",
}


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
