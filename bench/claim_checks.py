"""The checks of names, negation and opposites: how many planted faults are found, and how many true claims are doubted (decision 0078).

    python -m bench.claim_checks
    python -m bench.claim_checks --data FOLDER

A claim is a sentence of the handbook, cited with the paragraph around it. A fault is planted in it: a name of another
article in place of one of its names, a negation more or less, or a word's opposite. With the folder of SciFact's claims
(`claims.jsonl.gz`, `corpus.jsonl.gz`), people's own words are checked against the abstracts that support or contradict
them. Half of the articles and claims, by a checksum, are for development (`--half develop`), the other is reported.
"""

import argparse
import json
import re
import time
from collections.abc import Iterator
from gzip import open as open_gzip
from pathlib import Path
from zlib import crc32

from core.adapters.search.demo_search import DemoArticle, read_articles
from core.config.settings import HANDBOOK
from core.model import Sentence
from core.text.facts.claim_doubts import claim_doubts
from core.text.facts.named_facts import claimed_facts
from core.text.sentences import sentences

VERBS = {"is": "is not", "are": "are not", "can": "cannot", "has": "does not have", "was": "was not"}
OPPOSITES = {
    "more": "fewer", "fewer": "more", "less": "more", "before": "after", "after": "before", "higher": "lower",
    "lower": "higher", "above": "below", "below": "above", "first": "last", "raises": "lowers", "reduces": "increases",
    "longer": "shorter", "larger": "smaller", "smaller": "larger", "always": "never", "most": "least",
}  # fmt: skip


def is_held_back(key: str) -> bool:
    return crc32(key.encode()) % 2 == 1


def doubts(claim: str, source: str) -> tuple[bool, bool]:
    """Return whether the names and whether the sense of a claim are doubted."""
    said = Sentence(start=0, end=len(claim), cites=(1,), text=claim)
    found = claim_doubts((said,), ((1, source),))
    return any(doubt.names for doubt in found), any(doubt.opposite for doubt in found)


def handbook_claims(half: str) -> Iterator[tuple[str, str, str]]:
    """Yield kind, claim and source of true and planted claims."""
    articles = [a for a in read_articles(HANDBOOK) if is_held_back(a.slug) is (half == "report")]
    names = sorted({name for article in articles for name in names_of(article)})
    for article in articles:
        for paragraph in article.paragraphs:
            for start, end in sentences(paragraph):
                yield from variants(paragraph[start:end], f"{article.title}\n\n{paragraph}", article, names)


def variants(
    claim: str, source: str, article: DemoArticle, names: list[str]
) -> Iterator[tuple[str, str, str]]:
    yield "true", claim, source
    own = sorted(name for name in claimed_facts(claim).names if len(name) > 2)
    others = [name for name in names if name.casefold() not in article.words.casefold()]
    if own and others:
        other = others[crc32(claim.encode()) % len(others)]
        yield "name", re.sub(rf"\b{re.escape(own[0])}\b", other, claim, count=1, flags=re.IGNORECASE), source
    for verb, negated in VERBS.items():
        if re.search(rf"\b{verb} not\b", claim):
            yield "negation", claim.replace(f"{verb} not", verb, 1), source
            break
        if f" {verb} " in claim:
            yield "negation", claim.replace(f" {verb} ", f" {negated} ", 1), source
            break
    word = next((word for word in re.findall(r"\w+", claim) if word in OPPOSITES), "")
    if word:
        yield "opposite", re.sub(rf"\b{word}\b", OPPOSITES[word], claim, count=1), source


def names_of(article: DemoArticle) -> Iterator[str]:
    for match in re.finditer(r"(?<=[a-z,] )[A-Z][a-z]{3,}\b", article.words):
        yield match[0]


def science_claims(data: Path, half: str) -> Iterator[tuple[str, str, str]]:
    def rows(name: str) -> list[dict[str, object]]:
        with open_gzip(data / name, "rt", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    abstracts: dict[str, dict[str, object]] = {str(row["id"]): row for row in rows("corpus.jsonl.gz")}
    for row in rows("claims.jsonl.gz"):
        if is_held_back(str(row["id"])) is not (half == "report"):
            continue
        for evidence in row["evidence"]:  # type: ignore[attr-defined]
            abstract = abstracts[str(evidence["doc"])]
            text = f"{abstract['title']}\n\n{' '.join(abstract['sentences'])}"  # type: ignore[arg-type]
            yield f"SciFact, {evidence['label'].lower()}", str(row["claim"]), text


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path)
    parser.add_argument("--half", choices=("report", "develop"), default="report")
    parser.add_argument(
        "--show", default="", help="print the claims of this kind that are doubted, or missed"
    )
    args = parser.parse_args()
    claims = list(handbook_claims(args.half))
    if args.data:
        claims += science_claims(args.data, args.half)
    print(
        f"{time.strftime('%Y-%m-%d')}, {args.half} half\n\n| claims | number | names | sense | either |\n|---|---|---|---|---|"
    )
    for kind in dict.fromkeys(kind for kind, _, _ in claims):
        found = [doubts(claim, source) for other, claim, source in claims if other == kind]
        if args.show == kind:
            for (other, claim, _), doubt in zip([c for c in claims if c[0] == kind], found, strict=True):
                print(other, doubt, claim)
        shares = [sum(values) / len(found) for values in zip(*found, strict=True)]
        either = sum(map(any, found)) / len(found)
        print(f"| {kind} | {len(found)} | {shares[0]:.3f} | {shares[1]:.3f} | {either:.3f} |")


if __name__ == "__main__":
    main()
