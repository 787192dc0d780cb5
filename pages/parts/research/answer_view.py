"""The answer with its citations, what can be counted about it, and its sources."""

from __future__ import annotations

import streamlit as st

from core.analysis.answers.answer_cards import Card, Facts, cards, document, facts, snippets_only, words_only
from core.analysis.progress import SkipReason, notices
from core.model import AnswerKind, Phase
from core.run.codec import run_to_json
from core.run.state import Run, RunStatus
from core.text import safe_markdown
from core.text.safe_markdown import escape_html, markdown_label
from pages.parts import markup, runtime

CURSOR = " ▍"
ENDS = {
    RunStatus.DONE: ("check", "green"),
    RunStatus.STOPPED: ("stop_circle", "orange"),
    RunStatus.FAILED: ("error", "red"),
    RunStatus.INTERRUPTED: ("power_off", "orange"),
}


def answer(run: Run, now: float) -> None:
    with st.container(border=True, key="answer_card"):
        _head(run, now)
        st.html(f'<h2 class="oq-question">{escape_html(run.question)}</h2>')
        _body(run)
        if run.text:
            st.html(markup.facts(*_figures(facts(run))))


def _head(run: Run, now: float) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="answer_head"):
        if run.status in ENDS:
            symbol, colour = ENDS[run.status]
            label = markup.duration(run.seconds) if run.status is RunStatus.DONE else str(run.status)
            st.badge(label, icon=f":material/{symbol}:", color=colour)  # type: ignore[arg-type]
        else:
            word = _turn(run) if run.status is RunStatus.QUEUED else "working"
            st.markdown(f":small[:gray[:shimmer[{word}] {markup.duration(now)}]]")
        if run.answer and run.answer.kind is AnswerKind.EXTRACTIVE:
            st.badge("Extractive", icon=":material/format_quote:", color="violet", help=EXTRACTIVE_HELP)
        if run.answer and not run.answer.complete:
            st.badge("Cut short", icon=":material/content_cut:", color="orange")
        if run.backend == "demo":
            st.badge("Demo library", icon=":material/menu_book:", color="blue", help=_why_demo(run))
        if snippets_only(run):
            st.badge("Snippets only", icon=":material/short_text:", color="orange", help=SNIPPETS_HELP)
        if words_only(run):
            st.badge("Words only", icon=":material/match_case:", color="orange", help=WORDS_HELP)
        st.space("stretch")
        if not run.live:
            st.page_link(
                "pages/explain.py",
                label="Explain",
                icon=":material/troubleshoot:",
                query_params={"run": run.id},
            )
            _export(run)


def _turn(run: Run) -> str:
    before = runtime.runs().queued()
    place = before.index(run.id) if run.id in before else 0
    return f"waiting for its turn, {place} before it" if place else "waiting for its turn"


SNIPPETS_HELP = (
    "No page could be fetched, so the short texts of the search results stand in for them. "
    "The notes below the sources say why."
)
WORDS_HELP = (
    "The passages have no vectors, so they were ranked by the words they share with the question (BM25), "
    "not by meaning. The notes below the sources say why."
)
EXTRACTIVE_HELP = "Sentences quoted word for word from the sources, because no chat model is connected."


def _why_demo(run: Run) -> str:
    why = " ".join(markdown_label(note.message, 300) for note in run.notes if note.phase is Phase.SEARCH)
    if why:
        return f"The offline demo library was searched, not the web. {why}"
    return "The offline demo library was searched, not the web, because the search backend asks for it."


def _export(run: Run) -> None:
    with st.popover("Export", icon=":material/download:", type="tertiary", key="export"):
        st.download_button(
            "The answer as Markdown",
            data=lambda: document(run).encode(),
            file_name="answer.md",
            mime="text/markdown",
            icon=":material/description:",
            on_click="ignore",
            key="export_markdown",
            width="stretch",
        )
        st.download_button(
            "The whole run as JSON",
            data=lambda: run_to_json(run),
            file_name="run.json",
            mime="application/json",
            icon=":material/data_object:",
            on_click="ignore",
            key="export_json",
            width="stretch",
        )


def _body(run: Run) -> None:
    with st.container(key="answer_body"):
        if run.text:
            st.markdown(
                safe_markdown.safe_markdown(run.text, len(run.sources)) + (CURSOR if run.live else ""),
                anchors=False,
            )
        elif run.live:
            widths = ("96%", "88%", "93%", "54%")
            bones = "".join(f'<i style="width:{width}"></i>' for width in widths)
            st.html(
                f'<div class="oq-skeleton" role="status" aria-label="The answer is on its way">{bones}</div>'
            )
        elif run.error is None:
            st.html(markup.empty("There is no answer: the run ended before one was written.", "edit_off"))
    if run.error:
        hint = f"\n\n{markdown_label(run.error.hint, 400)}" if run.error.hint else ""
        st.error(f"**{markdown_label(run.error.message, 500)}**{hint}", icon=":material/error:")
    if run.answer and run.answer.kind is AnswerKind.EXTRACTIVE:
        st.html(
            f'<div class="oq-callout">{markup.icon("lightbulb")}<div><b>These are quotations, not prose.</b> '
            "For a written answer start Ollama on this machine, or give a key under “Model and key” in the "
            "sidebar.</div></div>"
        )


def _figures(told: Facts) -> list[str]:
    parts = [
        markup.fact(f"{told.citations}", "citations" if told.citations != 1 else "citation"),
        markup.fact(f"{told.sources_used}/{told.sources}", "sources used"),
        markup.fact(f"{told.sentences_cited}/{told.sentences}", "sentences cited"),
        markup.fact(f"{told.words:,}", "words"),
    ]
    if told.usage:
        tokens = f"{told.usage.prompt_tokens:,} + {told.usage.completion_tokens:,}"
        parts.append(markup.fact(tokens, "tokens", "prompt + answer, as the provider reports them"))
        if told.usage.cost is not None:
            parts.append(markup.fact(f"${told.usage.cost:.5f}", "cost"))
    if told.unknown:
        numbers = ", ".join(map(str, told.unknown))
        parts.append(
            markup.fact(numbers, "cited, but no such source", "Struck through in the answer.", "bad")
        )
    if told.author and told.author != "extractive":
        parts.append(f'<span class="who">{escape_html(told.author)}</span>')
    return parts


# --- sources ----------------------------------------------------------------------------------------------


def sources(run: Run, cited: int | None) -> None:
    found = cards(run)
    if not found:
        return
    used = sum(bool(card.cited) for card in found)
    inner = "".join(_card(card, on=card.number == cited) for card in found)
    st.html(
        f"{markup.kicker('Sources', f'{used} cited of {len(found)}')}"
        f'<div class="oq-sources" role="group" aria-label="Sources">{inner}</div>'
    )
    if run.earlier_answers and not run.live:
        earlier = (
            "1 earlier answer"
            if len(run.earlier_answers) == 1
            else f"{len(run.earlier_answers)} earlier answers"
        )
        st.page_link(
            "pages/explain.py",
            label=f"{earlier} beside this one",
            icon=":material/difference:",
            query_params={"run": run.id, "view": "answers"},
        )


def _card(card: Card, *, on: bool) -> str:
    cosine = "" if card.cosine is None else f"{card.cosine:.2f}"
    times = f"cited {card.cited}×" if card.cited else "not cited"
    also = f" · also on {escape_html(', '.join(card.others[:2]))}" if card.others else ""
    classes = " ".join(
        part for part in ("oq-source", "used" if card.cited else "", "on" if on else "") if part
    )
    return (
        f'<a class="{classes}" id="src-{card.number}" href="#src-{card.number}" '
        f'title="Show the passage">'
        f'<span class="n">{card.number}</span><span class="b"><span class="t">{escape_html(card.title)}</span>'
        f'<span class="s">{escape_html(card.snippet)}</span>'
        f'<span class="d"><span>{escape_html(card.site)}{also}</span><span>{times}{" · " + cosine if cosine else ""}</span></span>'
        f"{markup.meter(card.cosine or 0.0)}</span></a>"
    )


# --- what a person should know ----------------------------------------------------------------------------


def notes(run: Run, problem: str) -> None:
    """Fallbacks and partial failures, quietly. `problem` is the store's."""
    found = notices(run)
    late = sum(skip.reason in (SkipReason.CUT, SkipReason.DEADLINE) for skip in run.skips.values())
    skipped = f"{len(run.skips)} of {len(run.hits)} pages skipped" if run.skips and not run.live else ""
    if problem:
        st.warning(markdown_label(problem, 400), icon=":material/save:")
    if not found and not skipped:
        return
    told = [f"{len(found)} note{'s' if len(found) != 1 else ''}"] if found else []
    label = " · ".join([*told, *([skipped] if skipped else [])])
    with st.expander(label, icon=":material/info:", key="notes", type="compact"):
        rows = "".join(
            f"<li><b>{escape_html(str(note.phase).capitalize())}</b><span>{escape_html(note.message)}"
            f"{f' <em>{escape_html(note.hint)}</em>' if note.hint else ''}</span></li>"
            for note in found
        )
        if skipped:
            extra = f" {late} of them for want of time: the Articles tab can fetch them." if late else ""
            rows += f"<li><b>Read</b><span>{escape_html(skipped + '.' + extra)} Each is listed under Articles with its reason.</span></li>"
        st.html(f'<ul class="oq-notes">{rows}</ul>')
