"""How many questions are answered without a caveat, by whether the sources hold the answer (decision 0078).

    python -m bench.abstention [--data FOLDER] [--half choosing]

The questions are the labelled ones over the handbook, those of `coverage_questions.json`, those of
`abstention_questions.json`, which nothing was chosen by, and with `--data` XQuAD's in
English, German, Spanish and Chinese (`paragraphs.jsonl.gz`, `questions.jsonl.gz`), one in two, each over its article. "Taken
away" asks an answerable question without the article, or the paragraph, that answers it. "Cut out" asks it
over its article without the sentences that hold the answer, so that the subject is there. Weights were chosen on the
half of the handbook's questions and of XQuAD's articles whose checksum is even; the other half is reported. A cell has
the share that is answered without a caveat, with its 95 % interval, and the share that is answered at all.
"""

import argparse
import gzip
import json
import tempfile
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zlib import crc32

from bench.demo_library import demo_library
from core.config.knobs import ChunkKnobs, RankKnobs
from core.config.settings import ROOT
from core.features.evaluate.statistics.significance import mean_interval
from core.model import Article, Index, Page
from core.ports import Embed
from core.runtime.event_loop import run_async
from core.stages.answering.answerability import caveat
from core.stages.answering.sentence_scoring import score_sentences
from core.stages.chunk import folded, passages_of
from core.stages.rank import rank, sources
from core.text.sentences import sentences

KINDS = ("answerable", "taken away", "cut out", "near miss", "off the subject")
LANGUAGES = ("en", "de", "es", "zh")
CUT_OUT = "cut out"
LONG_ANSWER = 4
"""The fewest characters of an answer that is cut from other pages too."""
EVERY = 2
"""One in so many of XQuAD's questions is asked."""
OWN = "abstention_questions"
"""The set that nothing was chosen by: all of it is reported."""
SETS = ("handbook_questions", "coverage_questions", OWN)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question over pages in hand; `key` is the page that answers it, empty where none does.

    `answers` are the strings that answer a question of XQuAD.
    """

    question: str
    kind: str
    key: str = ""
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    answered: bool
    caveat: bool


def is_held_back(question: str) -> bool:
    return crc32(question.encode()) % 2 == 1


def handbook_questions(name: str, pages: Mapping[str, Page]) -> Iterator[Asked]:
    """The questions of a file of `tests/data`, the answerable ones also without their article."""
    own = _read(OWN)
    off_subject = {row["question"] for row in own["questions"] if row.get("off_subject")} | {
        *own["off_subject"]
    }
    for row in own["questions"] if name == OWN else _read(name):
        question, article, excerpt = row["question"], row.get("article"), row.get("text")
        if article or excerpt:
            key = next(
                key
                for key, page in pages.items()
                if (key.rstrip("/").endswith(f"/{article}") if article else excerpt in page.text)
            )
            yield from (Asked(question, kind, key) for kind in KINDS[:2])
        else:
            yield Asked(question, "off the subject" if question in off_subject else "near miss")


def _read(name: str) -> Any:
    return json.loads((ROOT / "tests" / "data" / f"{name}.json").read_text("utf-8"))


async def outcome(asked: Asked, index: Index, pages: Mapping[str, Page], embed: Embed) -> Outcome:
    """What the extractive answer does with a question, by the default ranking."""
    question = (await embed([asked.question])).vectors[0]
    rows = [
        row
        for row, passage in enumerate(index.passages)
        if asked.kind != "taken away" or passage.place.page != asked.key
    ]
    assert index.vectors is not None
    index = replace(
        index,
        passages=tuple(index.passages[row] for row in rows),
        vectors=index.vectors[rows],
        question=question,
    )
    chosen = sources(rank(asked.question, index, RankKnobs(), pages), index, pages, RankKnobs())
    scores = await score_sentences(asked.question, chosen, embed)
    if not scores.sentences or scores.sentences[0].score < scores.enough:
        return Outcome(answered=False, caveat=False)
    return Outcome(answered=True, caveat=caveat(asked.question, chosen, scores) is not None)


async def indexed(index: Index, pages: Mapping[str, Page], embed: Embed) -> Index:
    """Return an index of other pages."""
    passages = folded(passage for page in pages.values() for passage in passages_of(page, ChunkKnobs()))
    vectors = (await embed([passage.text for passage in passages])).vectors
    return replace(index, passages=passages, vectors=vectors)


def xquad(folder: Path, language: str) -> Iterator[tuple[int, tuple[dict[str, Page], list[Asked]]]]:
    """The articles of a language, each with its number, its paragraphs as pages and its questions."""

    def rows(name: str) -> list[dict[str, Any]]:
        with gzip.open(folder / name, "rt", encoding="utf-8") as lines:
            return [row for row in map(json.loads, lines) if row["lang"] == language]

    articles: defaultdict[int, dict[str, Page]] = defaultdict(dict)
    for row in rows("paragraphs.jsonl.gz"):
        article = Article(text=row["text"], extractor="", language=language)
        url = f"https://xquad.example/{row['id']}"
        articles[row["article"]][row["id"]] = Page(
            key=row["id"], url=url, title=row["title"], article=article
        )
    questions = [row for row in rows("questions.jsonl.gz") if crc32(row["id"].encode()) % EVERY == 0]
    for name, pages in articles.items():
        own = [row for row in questions if row["article"] == name]
        yield (
            name,
            (
                pages,
                [
                    Asked(
                        row["question"],
                        kind,
                        row["paragraph"],
                        tuple(each["text"] for each in row["answers"]),
                    )
                    for row in own
                    for kind in KINDS[:3]
                ],
            ),
        )


def without_answers(pages: Mapping[str, Page], asked: Asked) -> dict[str, Page]:
    """Return the pages without the sentences that hold an answer. Short answers are cut from their own page only."""
    kept = {}
    for key, page in pages.items():
        answers = [answer for answer in asked.answers if key == asked.key or len(answer) >= LONG_ANSWER]
        text = " ".join(
            page.text[start:end]
            for start, end in sentences(page.text)
            if not any(answer in page.text[start:end] for answer in answers)
        )
        if text:
            kept[key] = replace(
                page, article=replace(page.article or Article(text="", extractor=""), text=text)
            )
    return kept


def row(name: str, outcomes: Sequence[tuple[Asked, Outcome]]) -> str:
    """A row of the table: for each kind of question its cell."""
    cells = []
    for kind in KINDS:
        own = [result for asked, result in outcomes if asked.kind == kind]
        clear = [float(result.answered and not result.caveat) for result in own]
        answered = sum(result.answered for result in own) / len(own) if own else 0.0
        cells.append(f"{mean_interval(clear)} of {len(own)}; {answered:.2f}" if own else "-")
    return f"| {name} | {' | '.join(cells)} |"


async def measure(data: Path, folder: Path | None, *, held_back: bool) -> None:
    async with demo_library(data) as (run, ports):
        index = run.index
        assert index is not None
        print(f"| sources and questions | {' | '.join(KINDS)} |\n|---|{'---|' * len(KINDS)}")
        together = []
        for name in SETS:
            half = [
                asked
                for asked in handbook_questions(name, run.pages)
                if held_back is (name == OWN or is_held_back(asked.question))
            ]
            if not half:
                continue
            outcomes = [(asked, await outcome(asked, index, run.pages, ports.embed)) for asked in half]
            print(row(name, outcomes), flush=True)
            together += outcomes
        print(row("handbook, all", together), flush=True)
        for language in LANGUAGES if folder else ():
            outcomes = []
            for article, (pages, questions) in xquad(folder or Path(), language):
                if is_held_back(str(article)) is not held_back:
                    continue
                own = await indexed(index, pages, ports.embed)
                for asked in questions:
                    if asked.kind == CUT_OUT:
                        left = without_answers(pages, asked)
                        cut = await indexed(index, left, ports.embed)
                        outcomes.append((asked, await outcome(asked, cut, left, ports.embed)))
                    else:
                        outcomes.append((asked, await outcome(asked, own, pages, ports.embed)))
            print(row(f"XQuAD {language}, one article", outcomes), flush=True)


def main(description: str | None, measure: Callable[..., Awaitable[None]]) -> None:
    """Measure on half of the questions: `--data` is the folder of XQuAD, `--half` the half.

    `measure` is given an empty folder, the folder of XQuAD, and as `held_back` whether the half is the reported one.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="the folder of XQuAD")
    parser.add_argument("--half", choices=("reported", "choosing"), default="reported")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run_async(measure(Path(folder), arguments.data, held_back=arguments.half == "reported"))


if __name__ == "__main__":
    main(__doc__, measure)
