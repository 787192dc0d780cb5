"""Evidence: every sentence of the answer against every source, as similarity, which is not truth."""

from __future__ import annotations

import csv
import io

import streamlit as st

from core.analysis.answers.attribution import Attribution, Cell, Claim, attribution
from core.analysis.answers.llm_judge import Judgement, judge
from core.model import AnswerKind, Place
from core.ports import Chat
from core.run.state import Run
from core.text.safe_markdown import escape_html, markdown_label
from core.text.sanitize import one_line
from pages.parts import markup, page_frame, runtime
from pages.parts.passage_reader import reader

CELL = "bench_cell"
ASKED = "bench_opinion"


def view(run: Run) -> None:
    if not run.text or run.answer is None:
        page_frame.nothing("There is no answer whose sentences could be compared.", "edit_off")
        return
    found = page_frame.computed(
        "attribution", run, lambda embed: attribution(run, embed), lasting=lambda found: not found.fault
    )
    if found is None:
        return
    if not found.claims or not found.sources:
        page_frame.nothing(
            "The answer says that nothing was found, so there is nothing to compare."
            if run.answer.kind is AnswerKind.NOTHING
            else "The answer has no sentence that could be compared with a source.",
            "edit_off",
        )
        return
    if found.fault:
        st.warning(
            f"Words are compared, because vectors could not be had: {markdown_label(found.fault, 300)}",
            icon=":material/warning:",
        )
    if run.answer.kind is AnswerKind.EXTRACTIVE:
        st.caption(
            "These sentences are quoted word for word, so each is all but the same as one of its source."
        )
    _figures(found)
    st.html(_matrix(found, _picked(found), _opinions(run, found)))
    with st.container(horizontal=True, gap="small"):
        st.download_button(
            "CSV",
            data=lambda: _csv(found),
            file_name="attribution.csv",
            mime="text/csv",
            icon=":material/download:",
            type="tertiary",
            on_click="ignore",
            key="attribution_csv",
        )
        _ask_opinion(run)
    if picked := _picked(found):
        _both(run, found, *picked)


def pick(name: str) -> None:
    claim, _, source = name.partition("/")
    chosen = (int(claim), int(source)) if claim.isdecimal() and source.isdecimal() else None
    st.session_state[CELL] = None if chosen == st.session_state.get(CELL) else chosen


def _picked(found: Attribution) -> tuple[Claim, Cell] | None:
    """The cell that was clicked, if it is still there."""
    row, number = st.session_state.get(CELL) or (-1, 0)
    if not 0 <= row < len(found.claims):
        return None
    claim = found.claims[row]
    cell = next((one for one in claim.cells if one.source == number), None)
    return (claim, cell) if cell else None


def _figures(found: Attribution) -> None:
    told = found.summary
    name = "cosine" if found.measure == "cosine" else "share of words"
    st.html(
        markup.facts(
            markup.fact(f"{told.cited}/{told.sentences}", "sentences cite a source"),
            markup.fact(
                f"{told.similar}/{told.cited}",
                "of these resemble what they cite",
                f"{name} of at least {found.limit:.2f} with a sentence of a cited source",
            ),
            markup.fact(f"{told.used}/{told.sources}", "sources used"),
            markup.fact(
                f"{told.unknown_numbers}",
                "numbers that no cited source has",
                "Numbers and dates of the answer",
                "bad" if told.unknown_numbers else "",
            ),
            f'<span class="who">{escape_html(name)}, similar from {found.limit:.2f}</span>',
        )
    )


def _matrix(found: Attribution, picked: tuple[Claim, Cell] | None, opinions: dict[int, Judgement]) -> str:
    head = "".join(
        f'<th scope="col" title="{escape_html(source.title or source.url)}">{source.number}</th>'
        for source in found.sources
    )
    rows = "".join(
        f'<tr><th scope="row">{escape_html(claim.text)}{_flags(claim, opinions.get(row))}</th>'
        f"{''.join(_cell(row, cell, found.limit, picked) for cell in claim.cells)}</tr>"
        for row, claim in enumerate(found.claims)
    )
    return (
        '<div class="oq-matrix" tabindex="0" role="region" aria-label="Similarity of sentences and sources">'
        f'<table><thead><tr><th scope="col">sentence of the answer</th>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cell(row: int, cell: Cell, limit: float, picked: tuple[Claim, Cell] | None) -> str:
    share = max(0.0, min((cell.similarity - limit / 2) / (1 - limit / 2), 1.0))
    classes = " ".join(
        name
        for name, holds in (
            ("cited", cell.cited),
            ("far", cell.similarity < limit),
            ("strong", share > 0.62),
            ("on", picked is not None and picked[1] is cell),
        )
        if holds
    )
    missing = f"; lacks {', '.join(cell.missing_numbers[:4])}" if cell.missing_numbers else ""
    told = f"source {cell.source}: {cell.similarity:.2f}{', cited' if cell.cited else ''}{missing}"
    return (
        f'<td><a class="{classes}" href="#pick-cell/{row}/{cell.source}" style="--share:{share:.0%}" '
        f'title="{escape_html(told)}" aria-label="{escape_html(told)}">{cell.similarity:.2f}</a></td>'
    )


def _flags(claim: Claim, opinion: Judgement | None) -> str:
    flags = [str(flag) for flag in claim.flags]
    if claim.unknown_numbers:
        flags = [
            f"{flag}: {', '.join(claim.unknown_numbers[:4])}" if "numbers" in flag else flag for flag in flags
        ]
    told = "".join(f'<span class="flag">{markup.icon("flag")}{escape_html(flag)}</span>' for flag in flags)
    if opinion is not None:
        told += f'<span class="opinion">{markup.icon("smart_toy")}{escape_html(opinion.model.partition("@")[0])}: {opinion.verdict}</span>'
    return f"<div>{told}</div>" if told else ""


def _both(run: Run, found: Attribution, claim: Claim, cell: Cell) -> None:
    source = next(one for one in found.sources if one.number == cell.source)
    theirs = source.passage.text[cell.start : cell.end]
    names = ", ".join((*cell.shared_names, *cell.shared_numbers)[:12])
    particulars = [markup.fact(names, "in both")] if names else []
    if cell.missing_numbers:
        particulars.append(markup.fact(", ".join(cell.missing_numbers[:8]), "not in the source", tone="bad"))
    st.html(
        '<div class="oq-pair">'
        f"<div>{markup.kicker('The answer says')}<p>{escape_html(claim.text)}</p></div>"
        f"<div>{markup.kicker(f'Source {cell.source} says', one_line(source.title, 80))}"
        f"<p>{escape_html(theirs) or 'It has no sentence.'}</p></div></div>"
        + markup.facts(
            markup.fact(f"{cell.similarity:.3f}", found.measure),
            markup.fact("yes" if cell.cited else "no", "cited here"),
            *particulars,
        )
    )
    place = source.passage.place
    if place.page in run.pages and theirs:
        reader(
            run.pages[place.page],
            Place(page=place.page, start=place.start + cell.start, end=place.start + cell.end),
            label=f"Source {cell.source}",
            told=(),
            key="reader_cell",
            close=_unpick,
        )


def _unpick() -> None:
    st.session_state[CELL] = None


def _csv(found: Attribution) -> bytes:
    out = io.StringIO()
    sheet = csv.writer(out)
    sheet.writerow(["sentence", "flags", *(f"source {source.number}" for source in found.sources)])
    for claim in found.claims:
        # A leading mark keeps a spreadsheet from taking words of the web for a formula.
        text = f"'{claim.text}" if claim.text[:1] in "=+-@\t\r" else claim.text
        scores = [f"{cell.similarity:.4f}" for cell in claim.cells]
        sheet.writerow([text, "; ".join(map(str, claim.flags)), *scores])
    return out.getvalue().encode()


# --- a second opinion -------------------------------------------------------------------------------------


def _ask_opinion(run: Run) -> None:
    if run.answer is None or run.answer.kind is not AnswerKind.WRITTEN:
        return
    told = runtime.connected(str(run.knobs.search.backend), str(run.knobs.search.origin))
    if not told.chat:
        return
    st.button(
        f"Ask {one_line(told.chat, 30)} for a second opinion",
        key="ask_opinion",
        icon=":material/smart_toy:",
        type="tertiary",
        help="What the model thinks that the cited sources say of each sentence. An opinion, no proof.",
        on_click=lambda: st.session_state.update({ASKED: (run.id, run.seconds)}),
    )


def _opinions(run: Run, found: Attribution) -> dict[int, Judgement]:
    if st.session_state.get(ASKED) != (run.id, run.seconds):
        return {}
    registry, access = runtime.runs(), runtime.access()

    async def ask() -> tuple[Judgement, ...]:
        server = await registry.engine.models.chosen(access)
        chat: Chat | None = registry.engine.chat(server)
        return await judge(found, chat) if chat else ()

    return {one.claim: one for one in page_frame.on_loop("opinion", run, ask, access) or ()}
