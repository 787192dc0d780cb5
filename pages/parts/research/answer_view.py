"""The answer with its citations, counts, sources and notes."""

from dataclasses import replace

import streamlit as st
from htpy import Element, div, h1, h2, i, p, span, style

from core.analysis.answers.answer_stats import AnswerStats, answer_stats, partial_version
from core.analysis.answers.source_cards import (
    bm25_fallback,
    snippets_only,
)
from core.analysis.progress import warnings
from core.analysis.retrieval.other_questions import other_questions
from core.analysis.run_activity import current_activity, quoted_instead
from core.analysis.run_usage import run_usage
from core.model import AnswerKind, Phase, readable, snippet_numbers, source_numbers
from core.run.run_ids import is_link
from core.run.state import Run, RunStatus
from core.text.markdown import safe_markdown
from core.text.markdown.safe_markdown import markdown_label
from core.text.markdown.tail import closed_markdown, tail_of_markdown
from core.text.sanitize import plural, pluralize
from pages.parts import markup, runtime, services
from pages.parts.research.answer_sources import caveats
from pages.parts.research.live_results import best_passages
from pages.parts.sharing.export_menu import export_menu

CURSOR = " ▍"
FITS_HALF, FITS_DESK = 44, 88
"""The longest questions, in characters, that the question box shows whole on half a screen and on a desk."""
STREAMED_CHARACTERS = 8_000
"""Characters to draw of an unfinished answer. A complete answer is shown whole."""
ENDS = {
    RunStatus.PLANNED: ("checklist", "blue"),
    RunStatus.DONE: ("check", "green"),
    RunStatus.STOPPED: ("stop_circle", "orange"),
    RunStatus.FAILED: ("error", "red"),
    RunStatus.INTERRUPTED: ("power_off", "orange"),
}
SNIPPETS_HELP = "No page could be fetched, so the answer rests on the snippets of the search results."
BM25_HELP = "The passages have no vectors, so they were ranked by BM25 alone."
EXTRACTIVE_HELP = "Sentences quoted from the sources, which no chat model wrote."
WRITTEN_HELP = " For a written answer start Ollama on this machine, or enter a key under “Connect”."


def answer(run: Run, now: float, turn: str = "") -> None:
    """Draw the question, its answer and its actions. `turn` is the position in a conversation.

    A run that was seen live keeps its place in a narrow window: the height of what stood there before the answer.
    """
    with st.container(border=True, key="answer_card"):
        _head(run, now)
        if run.live:
            st.session_state["watched"] = run.id
        watched = st.session_state.get("watched") == run.id
        written = run.turn.written if run.turn and run.turn.written != run.question else ""
        markup.show(
            turn and div(".oq-turn-head")[turn],
            h1(class_=["oq-question", _length(run.question)], dir="auto")[run.question],
            written and p(".oq-written", dir="auto")["You wrote ", span[f"“{written}”"]],
            h2(class_=["oq-unseen", {"oq-watched": watched}])["Answer"],
        )
        _outline_earlier_citations(run)
        caveats(run)
        _body(run, now)
        _reasoning(run)
        if version := partial_version(run):
            markup.show(markup.facts(*_stats(answer_stats(version), run)))


def _length(question: str) -> str:
    """Return how wide a window must be for the question to fit in its box, as a class of its heading."""
    return "short" if len(question) <= FITS_HALF else "medium" if len(question) <= FITS_DESK else ""


def _outline_earlier_citations(run: Run) -> None:
    """Outline citations that earlier turns used. New citations are filled."""
    earlier = [source.number for source in run.sources if source.passage.id in run.numbers]
    if links := ", ".join(rf".st-key-answer_body a[href=\#src-{number}]:not(.oq-on)" for number in earlier):
        markup.show(style[f"{links} {{ background: none; box-shadow: inset 0 0 0 1.5px var(--accent); }}"])


def _head(run: Run, now: float) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="answer_head"):
        if run.status in ENDS:
            symbol, colour = ENDS[run.status]
            label = markup.duration(run.seconds) if run.status is RunStatus.DONE else str(run.status)
            if run.status is RunStatus.DONE and (warning_count := len(warnings(run))):
                symbol, colour, label = (
                    "warning",
                    "orange",
                    f"{label} · {pluralize(warning_count, 'warning')}",
                )
            st.badge(label, icon=f":material/{symbol}:", color=colour)  # type: ignore[arg-type]
        else:
            word = _queue_position(run) if run.status is RunStatus.QUEUED else "working"
            st.markdown(f":small[:gray[:shimmer[{word}] {markup.duration(now)}]]")
        if run.answer and run.answer.kind is AnswerKind.EXTRACTIVE:
            wanted = "" if quoted_instead(run) else WRITTEN_HELP
            st.badge(
                "Extractive", icon=":material/format_quote:", color="violet", help=EXTRACTIVE_HELP + wanted
            )
        if run.answer and not run.answer.complete and run.status is not RunStatus.STOPPED:
            st.badge("Incomplete", icon=":material/content_cut:", color="orange")
        if run.backend == "demo":
            st.badge("Demo library", icon=":material/menu_book:", color="blue", help=_demo_help(run))
        if snippets_only(run):
            st.badge("Snippets only", icon=":material/short_text:", color="orange", help=SNIPPETS_HELP)
        if bm25_fallback(run):
            st.badge("BM25 only", icon=":material/match_case:", color="orange", help=BM25_HELP)
        st.space("stretch")
        if not run.live:
            st.page_link(
                "pages/explain.py",
                label="Explain",
                icon=":material/troubleshoot:",
                query_params={"run": run.id},
            )
            if not is_link(run.id):
                export_menu([run.id], of_page=True)


def _queue_position(run: Run) -> str:
    before = runtime.runs().queued()
    place = before.index(run.id) if run.id in before else 0
    return f"queued, {place} ahead" if place else "queued"


def _offer_backends(run: Run) -> None:
    """Draw buttons that repeat the question with another search backend.

    Only a person chooses this, never a fallback.
    """
    with st.container(horizontal=True, key="other_backends"):
        for backend in runtime.runs().engine.searches.alternative_backends(run, runtime.access()):
            st.button(
                f"Ask again with {services.SEARCHES[backend]}",
                key=f"ask_with_{backend}",
                on_click=runtime.ask,
                args=(run.question, replace(run.knobs, search=replace(run.knobs.search, backend=backend))),
                kwargs={"from_question_box": False},
            )


def _offer_questions(run: Run) -> None:
    """Draw buttons for questions that a search engine corrects or suggests."""
    offers = other_questions(run)
    if not offers:
        return
    with st.container(horizontal=True, key="other_questions"):
        for number, offer in enumerate(offers):
            st.button(
                f"{'Ask' if offer.is_correction else 'Ask instead:'} “{markdown_label(offer.text, 120)}”",
                key=f"ask_words_{number}",
                icon=":material/spellcheck:" if offer.is_correction else ":material/search:",
                on_click=runtime.ask,
                args=(offer.text, run.knobs),
                kwargs={"from_question_box": False},
            )


def _demo_help(run: Run) -> str:
    reasons = " ".join(markdown_label(note.message, 300) for note in run.notes if note.phase is Phase.SEARCH)
    return f"The offline demo library was searched, not the web. {reasons or 'It is the selected search backend.'}"


def _body(run: Run, now: float) -> None:
    with st.container(key="answer_body"):
        best = None if run.text or run.error else best_passages(run)
        if run.text:
            whole = readable(run.text)
            text = closed_markdown(tail_of_markdown(whole, STREAMED_CHARACTERS)) if run.live else whole
            shown = safe_markdown.safe_markdown(
                text, source_numbers(run.sources), snippet_numbers(run.sources)
            )
            st.markdown(shown + (CURSOR if run.live else ""), anchors=False)
        elif best and run.live:
            markup.show(best)
        elif run.live:
            lines = (i(style=f"width:{width}%") for width in (96, 88, 93, 54))
            markup.show(div(".oq-skeleton", role="status", aria_label=current_activity(run, now))[lines])
        elif run.waits_for_approval:
            markup.show(p(".oq-reading")["The plan below waits for your approval."])
        elif run.error is None:
            stopped = run.status is RunStatus.STOPPED
            why = "Stopped before the answer." if stopped else "The run ended before an answer was written."
            markup.show(p(".oq-reading")[why], best)
    if run.error:
        hint = f"\n\n{markdown_label(run.error.hint, 400)}" if run.error.hint else ""
        st.error(f"**{markdown_label(run.error.message, 500)}**{hint}", icon=":material/error:")
        if run.error.part == "search":
            _offer_backends(run)
    if not run.live:
        _offer_questions(run)


def _reasoning(run: Run) -> None:
    """Draw the model's reasoning, folded. It is not a part of the answer, and nothing in it is checked."""
    if run.reasoning and not run.live:
        label = "Reasoning of the model"
        with st.expander(label, icon=":material/psychology:", key="answer_reasoning", type="compact"):
            markup.show(div(".oq-reasoning", dir="auto", tabindex="0")[run.reasoning])


def _stats(stats: AnswerStats, run: Run) -> list[Element]:
    parts = [
        markup.fact(f"{stats.citations:,}", plural(stats.citations, "citation")),
        markup.fact(f"{stats.sources_cited}/{stats.sources}", f"{plural(stats.sources, 'passage')} cited"),
    ]
    if stats.sentences:
        cited = f"{stats.sentences_cited}/{stats.sentences}"
        parts.append(markup.fact(cited, f"{plural(stats.sentences, 'sentence')} cited"))
    if stats.snippet_citations:
        about = f"{plural(stats.snippet_citations, 'citation')} of a snippet"
        parts.insert(
            1, markup.fact(f"{stats.snippet_citations:,}", about, "The page could not be read.", "bad")
        )
    if stats.unsupported:
        figures = f"{plural(stats.unsupported, 'number')} not in the cited sources"
        parts.append(markup.fact(f"{stats.unsupported:,}", figures, "See Explain, Evidence", "bad"))
    usage = run_usage(run.model_usage, runtime.prices())
    if tokens := usage.tokens:
        about = "≈" if usage.estimated else ""
        counts = f"{about}{tokens.prompt_tokens:,} + {tokens.completion_tokens:,}"
        whole = f"Read + written by models for the whole run. {usage.explanation}"
        parts.append(markup.fact(counts, "tokens", whole))
        help_text = f"Of the whole run. As providers state it; with ~ by the table: {runtime.prices().dated}."
        parts.append(markup.fact(usage.cost_text, "cost", help_text))
    if stats.unknown:
        numbers = ", ".join(map(str, stats.unknown))
        parts.append(markup.fact(numbers, "cited, but not a source", "Struck through in the answer.", "bad"))
    if stats.author and stats.author != "extractive":
        parts.append(markup.author(stats.author))
    return parts
