"""A text missing from an article: the reason, and a button to keep it."""

import streamlit as st

from core.analysis.extractor_comparison import ExtractorComparison, absence_from_article
from core.config.access import Access
from core.model import Extractor, Unreadable
from core.reading.absence import Absence
from core.run.state import Run
from core.text.markdown.safe_markdown import markdown_label
from pages.parts import page_frame, runtime, widgets

MISSING = "extraction_missing"
KEEP = "Reads this page by {} with this block in its place, and ranks all passages again."
HIDDEN = " What looks like orders to AI models in it is marked, as anywhere in an article."


def pick(text: str) -> None:
    """Ask why a clicked text is not in the article."""
    st.session_state[MISSING] = text


def absence(run: Run, comparison: ExtractorComparison, extractor: Extractor) -> None:
    """Draw a field that explains missing text.

    It takes a text of the page, and shows the rule that excluded it, with a button that keeps it in the
    article.
    """
    if not comparison.source or extractor is Extractor.VISIBLE:
        return
    text = st.text_input(
        "Why is this text not in the article?",
        key=MISSING,
        max_chars=1_000,
        placeholder="Click on a text that is struck through, or paste a sentence of the page",
    ).strip()
    if not text:
        return
    access, key = runtime.access(), comparison.key
    reason = page_frame.run_on_loop(
        MISSING, run, lambda: _absence(run, key, text, extractor, access), (key, text, extractor)
    )
    if reason is None:
        return
    st.info(reason.sentence if isinstance(reason, Absence) else markdown_label(reason, 300))
    if isinstance(reason, Absence) and reason.can_be_kept:
        widgets.button(
            "Keep it",
            "add",
            _keep,
            run.id,
            key,
            extractor,
            (*comparison.kept_by_hand, text),
            key="extraction_keep",
            help=KEEP.format(extractor) + (HIDDEN if reason is Absence.HIDDEN else ""),
        )


def _keep(run_id: str, key: str, extractor: Extractor, kept: tuple[str, ...]) -> None:
    runtime.continue_run(run_id, runtime.runs().read_as, key, extractor, kept)
    st.session_state[MISSING] = ""


async def _absence(run: Run, key: str, text: str, extractor: Extractor, access: Access) -> Absence | str:
    """Return the reason, or why the reason is unknown."""
    engine = runtime.runs().engine
    ports = await engine.ports(run.knobs, access, run, writes=False)
    try:
        absence = await absence_from_article(
            run, key, text, extractor, ports=ports, find_absence=engine.workers.absence
        )
    except Unreadable as why:
        return f"The reason cannot be found: {why}."
    return absence or "The page is not cached any more, so that the reason cannot be found."


def kept_blocks(run: Run, comparison: ExtractorComparison) -> None:
    """Draw the blocks kept by hand, with buttons to leave them out."""
    for number, text in enumerate(comparison.kept_by_hand):
        with st.container(horizontal=True, vertical_alignment="center", key=f"extraction_kept_{number}"):
            st.markdown(f"Kept by hand: “{markdown_label(text, 120)}”", width="stretch")
            widgets.button(
                "Leave out",
                "undo",
                runtime.continue_run,
                run.id,
                runtime.runs().read_as,
                comparison.key,
                comparison.in_use or run.knobs.read.extractor,
                comparison.kept_by_hand[:number] + comparison.kept_by_hand[number + 1 :],
                key=f"extraction_leave_out_{number}",
                help="Reads this page without this block, and ranks all passages again.",
            )
