"""How well each ranking strategy orders passages, on a labelled set of your own.

    python -m bench.ranking --data FOLDER [--split test] [--queries 200] [--language de]

The folder is laid out as in BEIR: `corpus.jsonl` with `_id`, `text` and perhaps `title`, `queries.jsonl` with
`_id` and `text`, and `qrels/<split>.tsv` with a header line and the columns query, document, relevance. Each
file may be gzipped. `--language` is that of the documents, as pages usually tell it. The figure is nDCG@10
with linear gains, as BEIR reports it, of the very function that ranks a run, over its local embedder.
"""

import argparse
import gzip
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is imported

import numpy as np

from core.adapters.models.local_embedder import MiniLM
from core.config.knobs import RankKnobs, Strategy
from core.model import Article, Index, Page, Passage, Place
from core.runtime.event_loop import run_async
from core.stages.embedding.batching import embed_in_batches
from core.stages.rank import rank

K = 10

STRATEGIES: Mapping[str, RankKnobs] = {
    "bm25": RankKnobs(strategy=Strategy.BM25),
    "cosine": RankKnobs(strategy=Strategy.COSINE),
    "fused, cosine 0.3": RankKnobs(strategy=Strategy.FUSED, cosine_weight=0.3),
    "fused, cosine 0.5": RankKnobs(strategy=Strategy.FUSED),
    "fused, cosine 0.7": RankKnobs(strategy=Strategy.FUSED, cosine_weight=0.7),
    "fused, diversity 0.3": RankKnobs(strategy=Strategy.FUSED, diversity=0.3),
}


@dataclass(frozen=True, slots=True)
class Labelled:
    """Texts by id, queries by id, and for each query the relevance of documents by id."""

    documents: Mapping[str, str]
    queries: Mapping[str, str]
    relevance: Mapping[str, Mapping[str, float]]


def load(folder: Path, split: str, most: int) -> Labelled:
    documents = {
        str(row["_id"]): f"{row.get('title') or ''}\n{row['text']}".strip()
        for row in map(json.loads, _lines(folder / "corpus.jsonl"))
    }
    queries = {str(row["_id"]): str(row["text"]) for row in map(json.loads, _lines(folder / "queries.jsonl"))}
    relevance: dict[str, dict[str, float]] = {}
    for line in list(_lines(folder / "qrels" / f"{split}.tsv"))[1:]:
        query, document, grade = line.split("\t")[:3]
        if float(grade) > 0 and query in queries and document in documents:
            relevance.setdefault(query, {})[document] = float(grade)
    step = max(1, len(relevance) // most)
    chosen = list(relevance)[::step][:most]
    return Labelled(documents, {query: queries[query] for query in chosen}, relevance)


def _lines(path: Path) -> Iterator[str]:
    packed = path.with_name(f"{path.name}.gz")
    with (
        gzip.open(packed, "rt", encoding="utf-8") if packed.exists() else path.open(encoding="utf-8") as file
    ):
        yield from (line.rstrip("\n") for line in file if line.strip())


def ndcg(ranked: list[str], relevance: Mapping[str, float]) -> float:
    """Normalised discounted cumulative gain of the first K (Järvelin and Kekäläinen, 2002)."""

    def gain(grades: list[float]) -> float:
        return float(sum(grade / np.log2(place + 2) for place, grade in enumerate(grades[:K])))

    ideal = gain(sorted(relevance.values(), reverse=True))
    return gain([relevance.get(name, 0.0) for name in ranked]) / ideal if ideal else 0.0


async def measure(labelled: Labelled, language: str) -> None:
    names, texts = list(labelled.documents), list(labelled.documents.values())
    embedder = MiniLM()
    asked = await embed_in_batches(list(labelled.queries.values()), embedder)
    index = Index(
        passages=tuple(
            Passage(text=text, place=Place(page=name, start=0, end=len(text)))
            for name, text in labelled.documents.items()
        ),
        vectors=await embed_in_batches(texts, embedder),
        question=None,
        embedder=embedder.identity,
        embedder_languages=tuple(embedder.languages),
    )
    pages = {
        name: Page(key=name, url="", title="", article=Article(text="", extractor="", language=language))
        for name in names
    }
    figures: dict[str, list[float]] = {name: [] for name in STRATEGIES}
    for (query, text), vector in zip(labelled.queries.items(), asked, strict=True):
        for name, knobs in STRATEGIES.items():
            order = rank(text, replace(index, question=vector), knobs, pages).order[:K].tolist()
            figures[name].append(ndcg([names[row] for row in order], labelled.relevance[query]))
    print(f"\n{len(names):,} documents, {len(labelled.queries):,} queries\n")
    print("| strategy | nDCG@10 | ± |")
    print("|---|---|---|")
    for name, values in figures.items():
        error = 1.96 * np.std(values) / np.sqrt(len(values))
        print(f"| {name} | {np.mean(values):.3f} | {error:.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder")
    parser.add_argument("--split", default="test", help="which of qrels/*.tsv")
    parser.add_argument("--queries", type=int, default=300, help="the most queries, evenly chosen")
    parser.add_argument("--language", default="", help="ISO 639-1 code of the documents' language")
    args = parser.parse_args()
    labelled = load(args.data, args.split, args.queries)
    if not labelled.queries:
        raise SystemExit("No query of the set has a relevant document.")
    run_async(measure(labelled, args.language))


if __name__ == "__main__":
    main()
