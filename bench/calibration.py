"""Fit the calibration of the local embedder's cosines, and report it on questions held back (decision 0020).

    python -m bench.calibration --data FOLDER

The handbook and its labelled questions are always part of it. The folder may have two labelled sets more:
`retrieval_xquad` (XQuAD's English: `paragraphs.jsonl.gz` with `id`, `lang`, `text`, and `questions.jsonl.gz`
with `lang`, `paragraph`, `question`, `answers[].start`, `answers[].text`) and `chunking_excerpts`
(`corpora.jsonl.gz` with `id`, `text`, and `questions.jsonl.gz` with `corpus_id`, `question`,
`references[].start_index`, `references[].end_index`).

The score of a question that the texts answer is the cosine of the best passage that holds the answer. The
score of one that they do not answer is that of their best passage: the same question with its text taken
away, or a question about something else. Half of the texts, by a checksum of their names, are for fitting;
the figures are of the other half.
"""

import argparse
import gzip
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when numpy is imported

import numpy as np
from numpy.typing import NDArray

from core.adapters.models.local_embedder import MiniLM
from core.adapters.web.demo_pages import DemoWeb
from core.config.knobs import ChunkKnobs, ReadKnobs
from core.config.settings import HANDBOOK, ROOT
from core.model import Article, Page
from core.reading import extract
from core.runtime.event_loop import run_async
from core.stages.chunk import passages_of
from core.stages.ranking.calibration import Calibration, calibration_of

SIZES = (500, 1000)
"""Characters of a passage: OpenQuery's default, and that of the splitters by which others fill collections."""

ANSWERABLE = 0.85
"""The share of questions that a collection is taken to answer: who asks it knows what is in it."""

THRESHOLD = 0.5
"""The default threshold of `POST /query`."""

Floats = NDArray[np.float64]
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the name of the text that answers it (empty: none does), and where in it the answer is."""

    question: str
    text: str = ""
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Labelled:
    """Texts by name, the questions that they answer, and `others` that they do not.

    `apart` says whether a text can be taken away with all that answers its questions.
    """

    name: str
    texts: Mapping[str, str]
    questions: tuple[Asked, ...]
    others: tuple[Asked, ...] = ()
    apart: bool = True


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of questions, by what the texts have for them."""

    answerable: Floats
    taken_away: Floats
    others: Floats


# --- the labelled sets ------------------------------------------------------------------------------------


async def handbook() -> Labelled:
    web, texts = DemoWeb(HANDBOOK), {}
    for file in sorted(HANDBOOK.glob("*.md")):
        url = f"https://handbook.openquery.example/{file.stem}"
        texts[file.stem] = extract(await web(url, ReadKnobs())).text
    rows = json.loads((ROOT / "tests" / "data" / "handbook_questions.json").read_text())
    asked = []
    for row in rows:
        name = row.get("article", "")
        start = texts[name].find(row["answer"][:40]) if name else 0
        spans = ((start, start + len(row["answer"])),) if name else ()
        asked.append(Asked(row["question"], name, spans))
    answered, others = (tuple(one for one in asked if bool(one.text) is known) for known in (True, False))
    return Labelled("handbook", texts, answered, others)


def xquad(folder: Path) -> Labelled:
    texts = {row["id"]: row["text"] for row in _rows(folder / "paragraphs.jsonl.gz") if row["lang"] == "en"}
    asked = tuple(
        Asked(
            row["question"],
            row["paragraph"],
            tuple((one["start"], one["start"] + len(one["text"])) for one in row["answers"]),
        )
        for row in _rows(folder / "questions.jsonl.gz")
        if row["lang"] == "en"
    )
    return Labelled("XQuAD", texts, asked)


def excerpts(folder: Path) -> list[Labelled]:
    corpora = {row["id"]: row["text"] for row in _rows(folder / "corpora.jsonl.gz")}
    asked = tuple(
        Asked(
            row["question"],
            row["corpus_id"],
            tuple((one["start_index"], one["end_index"]) for one in row["references"]),
        )
        for row in _rows(folder / "questions.jsonl.gz")
    )
    return [
        Labelled(
            name,
            {name: text},
            tuple(one for one in asked if one.text == name),
            tuple(Asked(one.question) for one in asked if one.text != name),
            apart=False,
        )
        for name, text in corpora.items()
    ]


def _rows(file: Path) -> list[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


# --- scores -----------------------------------------------------------------------------------------------


async def scores(data: Labelled, size: int, embed: MiniLM, *, held_back: bool) -> Scores:
    """The scores of the questions of one half."""
    pages = (
        Page(key=name, url="", title="", article=Article(text=text, extractor=""))
        for name, text in data.texts.items()
    )
    passages = [one for page in pages for one in passages_of(page, ChunkKnobs(size=size))]
    half = [one for one in data.questions if _is_held_back(data, one) is held_back]
    others = [one for one in data.others if _is_held_back(data, one) is held_back]
    rows = (await embed([passage.text for passage in passages])).vectors
    asked = (await embed([one.question for one in (*half, *others)])).vectors
    answerable, taken_away = [], []
    for one, vector in zip(half, asked, strict=False):
        cosines = rows @ vector
        inside = np.array([passage.place.page == one.text for passage in passages])
        right = [
            inside[row] and any(place.start < end and start < place.end for start, end in one.spans)
            for row, place in enumerate(passage.place for passage in passages)
        ]
        if any(right):
            answerable.append(cosines[right].max())
        if data.apart:
            taken_away.append(cosines[~inside].max())
    unrelated = [(rows @ vector).max() for vector in asked[len(half) :]]
    return Scores(*(np.array(found, dtype=np.float64) for found in (answerable, taken_away, unrelated)))


def _is_held_back(data: Labelled, asked: Asked) -> bool:
    """By the text that answers it, so that no text is in both halves; by the question where there is one text."""
    name = asked.text if len(data.texts) > 1 and asked.text else asked.question
    return bool(crc32(name.encode()) % 2)


# --- fit and report ---------------------------------------------------------------------------------------


def fit(sets: Sequence[Scores], share: float) -> Calibration:
    """Logistic regression on log odds, each set and each of its classes with the same weight, by Newton's method.

    `share` is the share of answerable questions for which the result is a probability.
    """
    values, labels, weights = [], [], []
    for one in sets:
        for label, cosines in ((1.0, one.answerable), (0.0, np.concatenate([one.taken_away, one.others]))):
            inside = np.clip(cosines, 1e-3, 1 - 1e-3)
            values.append(np.log(inside / (1 - inside)))
            labels.append(np.full(len(cosines), label))
            weights.append(np.full(len(cosines), 1 / len(cosines)))
    x, y, w = (np.concatenate(part) for part in (values, labels, weights))
    columns = np.stack([x, np.ones_like(x)], axis=1)
    found = np.array([1.0, 0.0])
    for _ in range(100):
        p = 1 / (1 + np.exp(-columns @ found))
        hessian = (columns * (w * p * (1 - p))[:, None]).T @ columns
        found += np.linalg.solve(hessian, columns.T @ (w * (y - p)))
    slope, offset = found
    midpoint = 1 / (1 + np.exp((offset + np.log(share / (1 - share))) / slope))
    return Calibration(midpoint=round(float(midpoint), 3), slope=round(float(slope), 2))


def report(names: Sequence[str], sets: Sequence[Scores], calibrations: Mapping[str, Calibration]) -> None:
    """Print the shares of questions whose best passage reaches the threshold."""
    print("| held back | questions |" + "".join(f" {name} |" for name in calibrations))
    for name, one in zip(names, sets, strict=True):
        for kind, cosines in (
            ("answered there", one.answerable),
            ("its text taken away", one.taken_away),
            ("about something else", one.others),
        ):
            if not len(cosines):
                continue
            least = (calibration.cosine(THRESHOLD) for calibration in calibrations.values())
            shares = "".join(f" {(cosines >= limit).mean():.2f} |" for limit in least)
            print(f"| {name}, {kind} | {len(cosines)} |{shares}")


async def measure(folder: Path | None, share: float) -> None:
    data = [await handbook()]
    if folder is not None:
        data += [xquad(folder / "retrieval_xquad"), *excerpts(folder / "chunking_excerpts")]
    embed = MiniLM()
    fitted, held_back, names = [], [], []
    for one in data:
        for size in SIZES:
            names.append(f"{one.name}, {size} characters")
            fitted.append(await scores(one, size, embed, held_back=False))
            held_back.append(await scores(one, size, embed, held_back=True))
    found, used = fit(fitted, share), calibration_of(embed.identity)
    print(f"{embed.identity}: fitted {found}, in use {used}\n")
    report(names, held_back, {"cosine": Calibration(), "fitted": found, "in use": used})
    embed.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder of labelled sets")
    parser.add_argument(
        "--answerable", type=float, default=ANSWERABLE, help="the share of answerable questions"
    )
    arguments = parser.parse_args()
    run_async(measure(arguments.data, arguments.answerable))


if __name__ == "__main__":
    main()
