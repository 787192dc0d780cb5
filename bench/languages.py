"""Rankings by BM25, cosine and both fused in many languages: nDCG@10 of the paragraph that answers each question (decision 0045).

    python -m bench.languages --data FOLDER

The folder has XQuAD's questions and paragraphs in each language: `paragraphs.jsonl.gz` with `id`, `lang`, `text`, and
`questions.jsonl.gz` with `lang`, `paragraph`, `question`. Paragraphs are cut as by default; a paragraph has the rank of
its best passage. Half of the paragraphs' questions, by a checksum of the paragraph's number, are for development
(`--half develop`), the other half is reported. "Declared" is fused with the language that a page would declare;
"detected" with the one that is detected in the paragraph; "said en" with the language of a page that declares English
around it; "wrong" with another language that looks like it.

A second table is of questions in one language over paragraphs in another (`--pairs`): fused with MiniLM's vectors, with the
multilingual encoder's, and with those that a run would choose for each question.
"""

import argparse
import gzip
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any
from zlib import crc32

import numpy as np

from core.adapters.models.local_embedder import MiniLM
from core.adapters.models.multilingual_embedder import MultilingualUSE
from core.config.knobs import ChunkKnobs, RankKnobs, Strategy
from core.features.evaluate.metrics.ranking_metrics import ndcg
from core.model import Article, Index, Page, Passage
from core.ports import Embed
from core.runtime.event_loop import run_async
from core.stages.chunk import folded, passages_of
from core.stages.embedding.language_choice import needs_multilingual
from core.stages.rank import rank
from core.text.language import page_language

DEPTH = 10
MISTAKEN = {"hi": "mr", "de": "nl", "es": "pt", "ro": "it", "ru": "bg", "zh": "ja", "ar": "fa", "tr": "az"}
"""Languages that are easily taken for another one."""


@dataclass(frozen=True, slots=True)
class Asked:
    text: str
    paragraph: str


@dataclass(frozen=True, slots=True)
class Corpus:
    """Paragraphs in one language, as pages, with their passages embedded."""

    pages: Mapping[str, Page]
    passages: tuple[Passage, ...]
    vectors: np.ndarray[Any, np.dtype[np.float32]]


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def held_back(paragraph: str) -> bool:
    """Half of the paragraphs, the same in every language: ids are a language and a number."""
    return crc32(paragraph.partition("-")[2].encode()) % 2 == 1


async def corpus(texts: Mapping[str, str], embed: Embed) -> Corpus:
    pages = {
        key: Page(key=key, url="", title="", article=Article(text=text, extractor=""))
        for key, text in texts.items()
    }
    passages = folded(one for page in pages.values() for one in passages_of(page, ChunkKnobs()))
    return Corpus(pages, passages, (await embed([one.text for one in passages])).vectors)


def in_language(pages: Mapping[str, Page], language: Callable[[str], str]) -> dict[str, Page]:
    """The pages, each in the language that the function gives to its text."""

    def article(text: str) -> Article:
        return Article(text=text, extractor="", language=language(text))

    return {
        key: Page(key=key, url="", title="", article=article(page.article.text))
        for key, page in pages.items()
    }


def always(language: str) -> Callable[[str], str]:
    return lambda _text: language


def measured(
    asked: Sequence[Asked],
    vectors: np.ndarray[Any, np.dtype[np.float32]],
    found: Corpus,
    strategy: Strategy,
    pages: Mapping[str, Page],
    embed: Embed,
) -> list[float]:
    """nDCG@10 of each of these questions."""
    knobs, values = RankKnobs(strategy=strategy), []
    for one, vector in zip(asked, vectors, strict=True):
        index = Index(
            passages=found.passages,
            vectors=found.vectors,
            question=vector,
            embedder=embed.identity,
            embedder_languages=tuple(embed.languages),
        )
        order = rank(one.text, index, knobs, pages).order
        ranked = dict.fromkeys(found.passages[row].place.page for row in order)
        values.append(ndcg(tuple(ranked), {one.paragraph: 1}, DEPTH))
    return values


async def across(asked: Sequence[Asked], texts: Mapping[str, str], embedders: Sequence[Embed]) -> str:
    """A row of questions over paragraphs in another language."""
    values: list[list[float]] = []
    for embed in embedders:
        found = await corpus(texts, embed)
        found = Corpus(in_language(found.pages, partial(page_language, "")), found.passages, found.vectors)
        vectors = (await embed([one.text for one in asked])).vectors
        values.append(measured(asked, vectors, found, Strategy.FUSED, found.pages, embed))
    chosen = [needs_multilingual(one.text, found.passages, found.pages, embedders[-1]) for one in asked]
    values.append([by[choice] for *by, choice in zip(*values, chosen, strict=True)])
    cells = [f"{len(asked)}", *(f"{mean(some):.3f}" for some in values), f"{mean(chosen):.2f}"]
    return f"| {' | '.join(cells)} |"


async def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--half", choices=("report", "develop"), default="report")
    parser.add_argument("--languages", default="", help="separated by commas; all that there are by default")
    parser.add_argument(
        "--pairs", default="de-en,zh-en,en-de,en-zh", help="languages of questions and paragraphs"
    )
    args = parser.parse_args()
    texts: defaultdict[str, dict[str, str]] = defaultdict(dict)
    asked: defaultdict[str, list[Asked]] = defaultdict(list)
    for row in rows(args.data / "paragraphs.jsonl.gz"):
        texts[row["lang"]][row["id"]] = row["text"]
    for row in rows(args.data / "questions.jsonl.gz"):
        if held_back(row["paragraph"]) is (args.half == "report"):
            asked[row["lang"]].append(Asked(row["question"], row["paragraph"]))
    embed = MiniLM()
    print(f"{time.strftime('%Y-%m-%d')}, {args.half} half, nDCG@{DEPTH}\n")
    print(
        "| language | questions | bm25 | cosine | fused, declared | detected | said en | wrong | least - bm25 |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    wanted = args.languages.split(",") if args.languages else sorted(texts)
    for language in wanted:
        found = await corpus(texts[language], embed)
        vectors = (await embed([one.text for one in asked[language]])).vectors

        def by(
            strategy: Strategy,
            pages: Mapping[str, Page],
            found: Corpus = found,
            language: str = language,
            vectors: Any = vectors,
        ) -> float:
            return mean(measured(asked[language], vectors, found, strategy, pages, embed))

        declared = in_language(found.pages, always(language))
        bm25, cosine = (by(strategy, declared) for strategy in (Strategy.BM25, Strategy.COSINE))
        fused = [by(Strategy.FUSED, declared)]
        for said in ("", "en"):
            detected = in_language(found.pages, partial(page_language, said))
            fused.append(by(Strategy.FUSED, detected))
        wrong = MISTAKEN.get(language)
        fused += [by(Strategy.FUSED, in_language(found.pages, always(wrong)))] if wrong else []
        cells = [bm25, cosine, *fused]
        row = [
            language,
            str(len(asked[language])),
            *(f"{value:.3f}" for value in cells),
            *([] if wrong else ["-"]),
        ]
        print(f"| {' | '.join(row)} | {min(fused) - bm25:+.3f} |", flush=True)
    print(
        "\n| questions, paragraphs | questions | MiniLM | multilingual | as chosen | multilingual chosen for |"
    )
    print("|---|---|---|---|---|---|")
    multilingual = MultilingualUSE()
    for pair in args.pairs.split(",") if args.pairs else ():
        own, other = pair.split("-")
        asked_across = [Asked(one.text, one.paragraph.replace(own, other, 1)) for one in asked[own]]
        cells_across = await across(asked_across, texts[other], [embed, multilingual])
        print(f"| {own}, {other} {cells_across}", flush=True)
    multilingual.close()


if __name__ == "__main__":
    run_async(main())
