"""Below the answer: its losses, sources and notes."""

from collections.abc import Sequence

import streamlit as st
from htpy import Element, Node, a, b, div, em, li, span, ul

from core.analysis.answers.source_cards import (
    SNIPPET_ONLY,
    SourceCard,
    cards_by_document,
    passages_of_documents,
    source_cards,
)
from core.analysis.progress import warnings
from core.model import Notice, Severity
from core.run.state import Run
from core.text.display import decimal
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import pluralize
from pages.parts import markup


def sources(run: Run, cited: int | None) -> None:
    """Draw the cards of the sources, by page."""
    cards = source_cards(run)
    if not cards:
        return
    used = sum(bool(card.citations) for card in cards)
    markup.show(
        markup.kicker("Sources", f"{passages_of_documents(cards)}, {used} cited"),
        div(".oq-sources", role="group", aria_label="Sources")[
            (_document(of_page, cited) for of_page in cards_by_document(cards).values())
        ],
    )
    if run.earlier_answers and not run.live:
        earlier = pluralize(len(run.earlier_answers), "earlier answer")
        st.page_link(
            "pages/explain.py",
            label=f"Compare with {earlier}",
            icon=":material/difference:",
            query_params={"run": run.id, "view": "answers"},
        )


def _document(cards: Sequence[SourceCard], cited: int | None) -> Element:
    title = cards[0].document_title
    return div(".oq-source-page", role="group", aria_label=title, style=f"--cards:{len(cards)}")[
        div(".head")[b(dir="auto", title=title)[title], span(dir="auto")[cards[0].site]],
        div(".cards")[(_card(card, on=card.number == cited) for card in cards)],
    ]


def _card(card: SourceCard, *, on: bool) -> Element:
    cosine = None if card.cosine is None else f" · {decimal(card.cosine, 2)}"
    where = " · ".join(part for part in (f"page {card.page}" if card.page else "", card.section) if part)
    return a(
        class_=["oq-source", {"used": card.citations > 0, "on": on}],
        id=f"src-{card.number}",
        href=f"#src-{card.number}",
        title="Show the passage",
        data_source=f"Source {card.number}: {card.title}, {card.site}",
    )[
        span(".n")[card.number],
        span(".b")[
            where and span(".t", dir="auto")[where],
            span(".s", dir="auto")[card.snippet],
            span(".d")[
                span[f"cited {card.citations}×" if card.citations else "not cited", cosine],
                card.snippet_only and span(".snippet")[SNIPPET_ONLY],
                span[card.other_sites and f"also on {', '.join(card.other_sites[:2])}"],
            ],
            markup.meter(card.cosine or 0.0),
        ],
    ]


def losses(run: Run, problem: str) -> None:
    """Draw what is missing or may be wrong in the answer. `problem` is the run store's."""
    if problem:
        st.warning(markdown_label(problem, 400), icon=":material/save:")
    _flags([notice for notice in warnings(run) if not notice.is_caveat], "Warnings")


def caveats(run: Run) -> None:
    """Draw, above the answer, why it may be no answer at all."""
    _flags([notice for notice in warnings(run) if notice.is_caveat], "Caveats")


def _flags(flagged: Sequence[Notice], name: str) -> None:
    """Draw notices as a group with this name. Without notices nothing is drawn."""
    if flagged:
        flags = (div(".oq-flag.loss")[markup.icon("warning"), div[_notice(notice)]] for notice in flagged)
        markup.show(div(".oq-losses", role="group", aria_label=name)[flags])


def notes(run: Run) -> None:
    """Draw the notices that are not warnings."""
    remarks = [notice for notice in run.notices if notice.severity is Severity.INFO]
    if remarks:
        with st.expander(
            pluralize(len(remarks), "note"), icon=":material/info:", key="notes", type="compact"
        ):
            markup.show(ul(".oq-notes")[(li[_notice(notice)] for notice in remarks)])


def _notice(notice: Notice) -> Node:
    return (
        b[str(notice.phase).capitalize()],
        " ",
        span[notice.message, notice.hint and (" ", em[notice.hint])],
    )
