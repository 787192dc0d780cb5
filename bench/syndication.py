"""How much of the context repeats itself where pages have near-copies, by the limit on passages of such a group (decision 0093).

    python -m bench.syndication

The articles of the handbook are asked the labelled questions of the half with odd checksums. The article that answers
has copies on other sites, each with another headline and footer and without every seventh sentence. A passage repeats
if most of its shingles are in a passage of another page before it in the context. A question is kept if the context
has the passage that answers. `alone` are the same questions without copies.
"""

import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.abstention import Asked, handbook_questions, indexed, is_held_back
from bench.demo_library import demo_library
from core.config.knobs import RankKnobs
from core.config.settings import ROOT
from core.model import Index, Page, Source
from core.ports import Embed
from core.runtime.event_loop import run_async
from core.stages.rank import rank, sources
from core.stages.ranking.near_duplicates import SAME, shingles
from core.text.sentences import sentences

COPIES = 4
LIMITS = (0, 1, 2, 3)
EVERY = 7
"""One in so many sentences is missing in a copy."""


def copies_of(page: Page) -> dict[str, Page]:
    """Return the copies of a page."""
    copies = {}
    for number in range(COPIES):
        spans = [
            span
            for place, span in enumerate(sentences(page.text))
            if place % EVERY != number % EVERY or not place
        ]
        text = "\n\n".join(page.text[start:end] for start, end in spans)
        key = f"https://site{number}.example/{page.key.rstrip('/').rpartition('/')[2]}"
        assert page.article is not None
        article = replace(
            page.article,
            text=f"From our correspondent {number}\n\n{text}\n\nAll rights reserved by site {number}.",
            sections=(),
            structures=(),
        )
        copies[key] = replace(page, key=key, url=key, article=article)
    return copies


def repeated(chosen: Sequence[Source]) -> int:
    """Count the sources that repeat an earlier one of another page."""
    own = [(source.passage.place.page, shingles(source.passage.text)) for source in chosen]
    return sum(
        any(page != other and len(text & earlier) >= SAME * len(text) for other, earlier in own[:place])
        for place, (page, text) in enumerate(own)
    )


async def context(
    asked: Asked, index: Index, pages: Mapping[str, Page], embed: Embed, limit: int
) -> tuple[Source, ...]:
    """Return the sources of a question under a limit."""
    knobs = RankKnobs(per_cluster=limit)
    index = replace(index, question=(await embed([asked.question])).vectors[0])
    return sources(rank(asked.question, index, knobs, pages), index, pages, knobs)


async def measure(data: Path) -> None:
    async with demo_library(data) as (run, ports):
        assert run.index is not None
        questions = [
            asked
            for asked in handbook_questions("coverage_questions", run.pages)
            if asked.kind == "answerable" and is_held_back(asked.question)
        ]
        excerpts = answers()
        print("| limit | sources | repeated | the answer in the context | alone |\n|---|---|---|---|---|")
        counted: defaultdict[int, Counter[str]] = defaultdict(Counter)
        for asked in questions:
            copies = copies_of(run.pages[asked.key])
            pages = {**run.pages, **copies}
            index = joined(run.index, await indexed(run.index, copies, ports.embed))
            for limit in LIMITS:
                chosen = await context(asked, index, pages, ports.embed, limit)
                single = await context(asked, run.index, run.pages, ports.embed, limit)
                counted[limit].update(
                    sources=len(chosen),
                    repeated=repeated(chosen),
                    kept=has(chosen, excerpts[asked.question]),
                    alone=has(single, excerpts[asked.question]),
                )
        for limit, count in counted.items():
            share = count["repeated"] / count["sources"]
            kept, alone = (f"{count[name]} of {len(questions)}" for name in ("kept", "alone"))
            print(f"| {limit} | {count['sources']} | {share:.3f} | {kept} | {alone} |")


def answers() -> dict[str, str]:
    """Return the excerpt that answers each question."""
    rows = json.loads((ROOT / "tests" / "data" / "coverage_questions.json").read_text("utf-8"))
    return {row["question"]: row["text"] for row in rows if row.get("text")}


def has(chosen: Sequence[Source], excerpt: str) -> bool:
    return any(excerpt in source.text for source in chosen)


def joined(index: Index, other: Index) -> Index:
    """Return an index of the passages of both."""
    assert index.vectors is not None and other.vectors is not None
    vectors = np.vstack([index.vectors, other.vectors])
    return replace(index, passages=(*index.passages, *other.passages), vectors=vectors)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run_async(measure(Path(folder)))


if __name__ == "__main__":
    main()
