"""How many questions are answered without a caveat, by whether the sources hold the answer (decision 0078).

    python -m bench.abstention [--data FOLDER] [--half choosing]

The questions are the labelled ones over the handbook, those of `coverage_questions.json`, those of
`abstention_questions.json`, which nothing was chosen by, and with `--data` XQuAD's in
English, German, Spanish and Chinese (`paragraphs.jsonl.gz`, `questions.jsonl.gz`), one in five, each over its article. "Taken
away" asks an answerable question without the article, or the paragraph, that answers it. The weights were chosen on the
half of the questions whose checksum is even; the other half is reported. A cell has the share that is answered without
a caveat, with its 95 % interval, and the share that is answered at all.
"""

import argparse
import gzip
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
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

KINDS = ("answerable", "taken away", "near miss", "off the subject")
LANGUAGES = ("en", "de", "es", "zh")
EVERY = 5
"""One in so many of XQuAD's questions is asked."""
OWN = "abstention_questions"
"""The set that nothing was chosen by: all of it is reported."""
SETS = ("handbook_questions", "coverage_questions", OWN)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question over pages in hand; `key` is the page that answers it, empty where none does."""

    question: str
    kind: str
    key: str = ""


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


def xquad(folder: Path, language: str) -> Iterator[tuple[dict[str, Page], list[Asked]]]:
    """The articles of a language, each with its paragraphs as pages and with its questions."""

    def rows(name: str) -> list[dict[str, str]]:
        with gzip.open(folder / name, "rt", encoding="utf-8") as lines:
            return [row for row in map(json.loads, lines) if row["lang"] == language]

    articles: defaultdict[str, dict[str, Page]] = defaultdict(dict)
    for row in rows("paragraphs.jsonl.gz"):
        article = Article(text=row["text"], extractor="", language=language)
        url = f"https://xquad.example/{row['id']}"
        articles[row["article"]][row["id"]] = Page(
            key=row["id"], url=url, title=row["title"], article=article
        )
    questions = [row for row in rows("questions.jsonl.gz") if crc32(row["id"].encode()) % EVERY == 0]
    for name, pages in articles.items():
        own = [row for row in questions if row["article"] == name]
        yield pages, [Asked(row["question"], kind, row["paragraph"]) for row in own for kind in KINDS[:2]]


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
            for pages, questions in xquad(folder or Path(), language):
                passages = folded(
                    passage for page in pages.values() for passage in passages_of(page, ChunkKnobs())
                )
                vectors = (await ports.embed([passage.text for passage in passages])).vectors
                own = replace(index, passages=passages, vectors=vectors)
                half = [asked for asked in questions if is_held_back(asked.question) is held_back]
                outcomes += [(asked, await outcome(asked, own, pages, ports.embed)) for asked in half]
            print(row(f"XQuAD {language}, one article", outcomes), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="the folder of XQuAD")
    parser.add_argument("--half", choices=("reported", "choosing"), default="reported")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run_async(measure(Path(folder), arguments.data, held_back=arguments.half == "reported"))


if __name__ == "__main__":
    main()
