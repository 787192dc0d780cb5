"""Attribution view: similarity of answer sentences to sources, and judgements. The judge is a chat model."""

import pandas as pd
import streamlit as st
from htpy import Element, Node, a, div, p, span, td, th, tr

from core.analysis.answers.attribution import AttributedSentence, Attribution, Cell, attribution
from core.analysis.answers.llm_judge import judge_attribution
from core.model import AnswerKind, Phase, Place
from core.run.state import Run
from core.stages.metered_models import MeteredChat
from core.text.display import decimal
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import one_line, plural, pluralize, spreadsheet_cell
from pages.parts import markup, page_frame, runtime, services, widgets
from pages.parts.passage_reader import reader

CELL = "attribution_cell"
JUDGE_ASKED = "judge_asked"


def view(run: Run) -> None:
    """Draw the matrix of sentences and sources, and the selected pair."""
    if not run.text or run.answer is None:
        markup.show_empty("There is no answer to compare with its sources.", "edit_off")
        return
    attributed = page_frame.compute(
        "attribution", run, lambda embed: attribution(run, embed), cache_if=lambda result: not result.fault
    )
    if attributed is None:
        return
    if not attributed.sentences or not attributed.sources:
        markup.show_empty(
            "The answer reports that nothing was found, so there is nothing to compare."
            if run.answer.kind is AnswerKind.NOT_FOUND
            else "The answer has no sentence to compare with a source.",
            "edit_off",
        )
        return
    if attributed.fault:
        st.warning(
            f"Embedding failed, so words are compared instead: {markdown_label(attributed.fault, 300)}",
            icon=":material/warning:",
        )
    if run.answer.kind is AnswerKind.EXTRACTIVE:
        st.caption(
            "An extractive answer quotes its sources, so each sentence is nearly identical to one of a source."
        )
    _facts(attributed)
    if attributed.left_out:
        total = len(attributed.sentences) + attributed.left_out
        st.caption(
            f"Only the first {len(attributed.sentences)} of {pluralize(total, 'sentence')} are compared."
        )
    markup.show(
        markup.scale(f"less similar: {attributed.limit / 2:.2f} or lower", "more similar: 1.00"),
        _matrix(attributed, _selected(attributed), _judgements(run, attributed)),
    )
    with st.container(horizontal=True, gap="small"):
        widgets.download_button(
            "CSV",
            lambda: _csv(attributed),
            "attribution.csv",
            "text/csv",
            type="tertiary",
            key="attribution_csv",
        )
        _judge_button(run)
    if selected := _selected(attributed):
        _sentence_pair(run, attributed, *selected)


def pick(name: str) -> None:
    """Select the cell that was clicked."""
    claim, _, source = name.partition("/")
    chosen = (int(claim), int(source)) if claim.isdecimal() and source.isdecimal() else None
    st.session_state[CELL] = None if chosen == st.session_state.get(CELL) else chosen


def _selected(attributed: Attribution) -> tuple[AttributedSentence, Cell] | None:
    """Return the clicked cell, if it still exists."""
    row, number = st.session_state.get(CELL) or (-1, 0)
    if not 0 <= row < len(attributed.sentences):
        return None
    sentence = attributed.sentences[row]
    cell = next((candidate for candidate in sentence.cells if candidate.source == number), None)
    return (sentence, cell) if cell else None


def _facts(attributed: Attribution) -> None:
    summary = attributed.summary
    name = "cosine" if attributed.measure == "cosine" else "word overlap"
    markup.show(
        markup.facts(
            markup.fact(
                f"{summary.cited}/{summary.sentences}", f"{plural(summary.sentences, 'sentence')} cited"
            ),
            markup.fact(
                f"{summary.similar}/{summary.citations}",
                plural(
                    summary.citations,
                    "citation similar to its sentence",
                    "citations similar to their sentence",
                ),
                f"The cited source has a sentence with a {name} of at least {decimal(attributed.limit, 2)}",
            ),
            markup.fact(f"{summary.used}/{summary.sources}", f"{plural(summary.sources, 'passage')} cited"),
            bool(summary.unknown_numbers)
            and markup.count(
                summary.unknown_numbers,
                "number",
                " not in the cited sources",
                "Numbers and dates of the answer",
                "bad",
            ),
            markup.author(f"{name}, threshold {decimal(attributed.limit, 2)}"),
        )
    )


def _matrix(
    attributed: Attribution,
    selected: tuple[AttributedSentence, Cell] | None,
    judgements: dict[int, str],
) -> Element:
    head: tuple[str | Element, ...] = (
        "sentence of the answer",
        *(th(scope="col", title=source.title or source.url)[source.number] for source in attributed.sources),
    )
    rows = (
        tr[
            th(scope="row", dir="auto")[sentence.text, _flags(sentence, judgements.get(row))],
            (_cell(row, cell, attributed.strength(cell), selected) for cell in sentence.cells),
        ]
        for row, sentence in enumerate(attributed.sentences)
    )
    return markup.data_table("Similarity of sentences and sources", head, rows, "oq-matrix")


def _cell(row: int, cell: Cell, share: float, selected: tuple[AttributedSentence, Cell] | None) -> Element:
    on = selected is not None and selected[1] is cell
    missing = f"; missing {', '.join(cell.missing_numbers[:4])}" if cell.missing_numbers else ""
    cited = f", cited{', below the threshold' if cell.dissimilar else ''}" if cell.cited else ""
    label = f"source {cell.source}: {decimal(cell.similarity, 2)}{cited}{missing}"
    return td[
        a(
            class_={"cited": cell.cited, "far": cell.dissimilar, "on": on},
            href=f"#pick-cell/{row}/{cell.source}",
            style=f"--share:{share:.0%}",
            title=label,
            aria_label=label,
        )[decimal(cell.similarity, 2)]
    ]


def _flags(sentence: AttributedSentence, judgement: str | None) -> Node:
    labels = [span(".flag")[markup.icon("flag"), flag] for flag in sentence.flag_labels]
    if judgement:
        labels.append(span(".verdict")[markup.icon("smart_toy"), judgement])
    return labels and div(dir="ltr")[labels]


def _sentence_pair(run: Run, attributed: Attribution, sentence: AttributedSentence, cell: Cell) -> None:
    source = next(candidate for candidate in attributed.sources if candidate.number == cell.source)
    names = ", ".join((*cell.shared_names, *cell.shared_numbers)[:12])
    named_facts = [markup.fact(names, "in both")] if names else []
    if cell.missing_numbers:
        named_facts.append(markup.fact(", ".join(cell.missing_numbers[:8]), "not in the source", tone="bad"))
    heading = markup.section_heading(
        f"Most similar sentence in source {cell.source}", one_line(source.title, 80)
    )
    markup.show(
        div(".oq-pair")[
            div[markup.section_heading("Answer sentence"), p(dir="auto")[sentence.text]],
            div[heading, p(dir="auto")[cell.text or "The source has no sentence."]],
        ],
        markup.facts(
            markup.fact(decimal(cell.similarity, 3), attributed.measure),
            markup.fact("yes" if cell.cited else "no", "cited"),
            cell.cited
            and cell.dissimilar
            and markup.fact(
                "below", f"the threshold of {attributed.limit:.2f}", "Similarity is not entailment.", "bad"
            ),
            named_facts,
        ),
    )
    place = source.place
    if place.page in run.pages and cell.text:
        reader(
            run.pages[place.page],
            Place(page=place.page, start=place.start + cell.start, end=place.start + cell.end),
            label=f"Source {cell.source}",
            key="reader_cell",
            opened=CELL,
        )


def _csv(attributed: Attribution) -> bytes:
    rows = [
        (
            spreadsheet_cell(sentence.text),
            ", ".join(map(str, sentence.sentence.cites)),
            "; ".join(sentence.flag_labels),
            *(cell.similarity for cell in sentence.cells),
        )
        for sentence in attributed.sentences
    ]
    columns = ["sentence", "cites", "flags", *(f"source {source.number}" for source in attributed.sources)]
    return pd.DataFrame(rows, columns=columns).to_csv(index=False, float_format="%.4f").encode()


# --- LLM judge --------------------------------------------------------------------------------------------


def _judge_button(run: Run) -> None:
    if run.answer is None or run.answer.kind is not AnswerKind.WRITTEN:
        return
    connected = services.connections(str(run.knobs.search.backend), str(run.knobs.search.origin))
    if not connected.chat:
        return
    widgets.button(
        f"Judge with {one_line(connected.chat, 30)}",
        "smart_toy",
        lambda: st.session_state.update({JUDGE_ASKED: (run.id, run.seconds)}),
        key="ask_judge",
        type="tertiary",
        help="The chat model judges whether the cited sources entail each sentence; its verdict may be wrong.",
    )


def _judgements(run: Run, attributed: Attribution) -> dict[int, str]:
    """Return the judge's verdicts by sentence row.

    Each has the name of the model. Empty before the judge is asked.
    """
    if st.session_state.get(JUDGE_ASKED) != (run.id, run.seconds):
        return {}
    registry, access = runtime.runs(), runtime.access()

    async def ask() -> dict[int, str]:
        chat = await registry.engine.models.judge_client(run, access)
        if chat is None:
            return {}
        with registry.quotas.work(access.quota_subject) as spending:
            verdicts = await judge_attribution(attributed, MeteredChat(chat, Phase.CHECK, spending.charge))
        return {row: f"{chat.identity.partition('@')[0]}: {verdict}" for row, verdict in verdicts.items()}

    return page_frame.run_on_loop("judgements", run, ask, access) or {}
