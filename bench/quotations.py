"""How many quotations of an answer without a model hold the answer, and how often one of them does (decision 0093).

    python -m bench.quotations [--data FOLDER] [--half choosing]

The questions are the labelled ones over the handbook, whose answer is a passage, and with `--data` those of XQuAD in
English over their article, whose answer is a string. Rules were chosen on the half of the handbook's questions and of
XQuAD's articles whose checksum is even; the other half is reported.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

from bench.abstention import handbook_questions, indexed, is_held_back, main, xquad
from bench.demo_library import demo_library
from bench.syndication import answers
from core.config.knobs import AnswerKnobs, RankKnobs
from core.model import AnswerKind, Index, Page
from core.ports import Embed
from core.stages.answer import answer
from core.stages.rank import rank, sources

_QUOTATION = re.compile("“([^”]*)”")
_OVERLAP = 0.7
"""The share of the shorter text's words from which a quotation and a passage are the same statement."""


def holds(quotation: str, wanted: Sequence[str]) -> bool:
    """Return whether a quotation has one of the answers, or is a part of the passage that answers."""
    own = _words(quotation)
    for text in map(_words, wanted):
        if f" {' '.join(text)} " in f" {' '.join(own)} ":
            return True
        if len(text) > 5 and len({*own} & {*text}) >= _OVERLAP * min(len({*own}), len({*text})):
            return True
    return False


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


async def outcome(
    question: str, wanted: Sequence[str], index: Index, pages: Mapping[str, Page], embed: Embed
) -> list[bool]:
    """Return for each quotation of an answer whether it holds a wanted text."""
    index = replace(index, question=(await embed([question])).vectors[0])
    chosen = sources(rank(question, index, RankKnobs(), pages), index, pages, RankKnobs())
    result = await answer(question, chosen, AnswerKnobs(), None, embed, lambda event: None)
    quoted = _QUOTATION.findall(result.text) if result.kind is AnswerKind.EXTRACTIVE else []
    return [holds(text, wanted) for text in quoted]


def row(name: str, outcomes: Sequence[list[bool]]) -> str:
    """A row of the table. An outcome says of each quotation whether it holds the answer."""
    given = [outcome for outcome in outcomes if outcome]
    cells = (
        str(len(outcomes)),
        f"{mean(map(len, given)):.2f}",
        f"{mean(mean(outcome) for outcome in given):.3f}",
        f"{mean(any(outcome) for outcome in given):.3f}",
    )
    return f"| {name} | {' | '.join(cells)} |"


async def measure(data: Path, folder: Path | None, *, held_back: bool) -> None:
    async with demo_library(data) as (run, ports):
        assert run.index is not None
        print(
            "| questions | number | quotations | hold the answer | an answer among them |\n|---|---|---|---|---|"
        )
        excerpts = answers()
        own = [
            asked
            for asked in handbook_questions("coverage_questions", run.pages)
            if asked.kind == "answerable" and is_held_back(asked.question) is held_back
        ]
        outcomes = [
            await outcome(asked.question, [excerpts[asked.question]], run.index, run.pages, ports.embed)
            for asked in own
        ]
        print(row("handbook", outcomes), flush=True)
        if folder:
            outcomes = []
            for article, (pages, questions) in xquad(folder, "en"):
                if is_held_back(str(article)) is held_back:
                    index = await indexed(run.index, pages, ports.embed)
                    for asked in questions:
                        if asked.kind == "answerable":
                            outcomes.append(
                                await outcome(asked.question, asked.answers, index, pages, ports.embed)
                            )
            print(row("XQuAD en", outcomes))


if __name__ == "__main__":
    main(__doc__, measure)
