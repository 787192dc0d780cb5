"""Below the answer: its checks and sources."""

from collections.abc import Sequence

import streamlit as st
from htpy import Element, Node, a, b, details, div, em, li, span, summary, ul

from core.analysis.answers.source_cards import (
    SNIPPET_ONLY,
    SourceCard,
    cards_by_document,
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
    """Draw a line for each page with the numbers of its passages, below the checks of the answer."""
    cards = source_cards(run)
    if not cards and not run.notices:
        return
    markup.show(
        div(".oq-sources-head")[bool(cards) and markup.section_heading("Sources"), _checks(run)],
        bool(cards)
        and div(".oq-sources", role="group", aria_label="Sources")[
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
    return div(".oq-source-page", role="group", aria_label=title)[
        div(".cards")[(_card(card, on=card.number == cited) for card in cards)],
        div(".head")[
            b(dir="auto", title=title)[title],
            any(card.snippet_only for card in cards) and span(".snippet")[SNIPPET_ONLY],
            span(dir="auto")[cards[0].site],
        ],
    ]


def _card(card: SourceCard, *, on: bool) -> Element:
    """Return the number of a passage. Its section and text are shown in the preview of a citation."""
    where = " · ".join(part for part in (f"page {card.page}" if card.page else "", card.section) if part)
    told = [
        f"cited {card.citations}×" if card.citations else "not cited",
        "" if card.cosine is None else f"cosine {decimal(card.cosine, 2)}",
        f"also on {', '.join(card.other_sites[:2])}" if card.other_sites else "",
    ]
    source = f"Source {card.number}: {card.title}, {card.site}"
    return a(
        class_=["oq-source", {"used": card.citations > 0, "on": on}],
        id=f"src-{card.number}",
        href=f"#src-{card.number}",
        title="; ".join(filter(None, (where, *told))),
        aria_label=source,
        data_source=source,
    )[
        span(".n")[card.number],
        span(".b", hidden=True)[
            where and span(".t", dir="auto")[where], span(".s", dir="auto")[card.snippet]
        ],
    ]


def _checks(run: Run) -> Node:
    """Return the notices of a run, folded into a line. They are open if one of them is serious."""
    serious = [notice for notice in warnings(run) if not notice.is_caveat]
    remarks = [notice for notice in run.notices if notice.severity is Severity.INFO]
    if not serious and not remarks:
        return None
    found = f"{len(serious)} serious" if serious else "none serious"
    return details(class_=["oq-checks", {"serious": bool(serious)}], open=bool(serious))[
        summary[b[pluralize(len(serious) + len(remarks), "check")], " ", span[found]],
        bool(serious)
        and div(".oq-losses", role="group", aria_label="Warnings")[
            (div(".oq-flag.loss")[markup.icon("warning"), div[_notice(notice)]] for notice in serious)
        ],
        bool(remarks) and ul(".oq-notes")[(li[_notice(notice)] for notice in remarks)],
    ]


def store_problem(problem: str) -> None:
    """Draw why the run may not be kept. `problem` is the run store's."""
    if problem:
        st.warning(markdown_label(problem, 400), icon=":material/save:")


def caveats(run: Run) -> None:
    """Draw, above the answer, why it may be no answer at all."""
    flagged = [notice for notice in warnings(run) if notice.is_caveat]
    if flagged:
        flags = (div(".oq-flag.loss")[markup.icon("warning"), div[_notice(notice)]] for notice in flagged)
        markup.show(div(".oq-losses", role="group", aria_label="Caveats")[flags])


def _notice(notice: Notice) -> Node:
    return (
        b[str(notice.phase).capitalize()],
        " ",
        span[notice.message, notice.hint and (" ", em[notice.hint])],
    )
