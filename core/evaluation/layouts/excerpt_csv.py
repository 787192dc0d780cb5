"""A CSV file of questions with exact excerpts and the text files that hold them.

The columns are question, excerpt and source, and where it is known how a short answer reads, answer. A question with
several excerpts or answers has several rows; one without an answer in the sources has a row with the question alone.
All text files beside the CSV are documents.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from core.errors import BadInput
from core.evaluation.data_sets import CorpusDocument, DataSet, Question
from core.evaluation.excerpts import Range
from core.reading.plain_text import read_markdown, read_text

COLUMNS = ("question", "excerpt", "source")
ANSWER = "answer"
SUFFIXES = (".md", ".txt")


def load(path: Path) -> DataSet:
    """The data set. White space in an excerpt matches any white space of its source.

    Raises:
        BadInput: for a missing column, an unknown source, or an excerpt that is not in its source, with the line.
        OSError: when a file cannot be read.
    """
    files = {file.name: file for file in sorted(path.parent.iterdir()) if file.suffix in SUFFIXES}
    text = cache(lambda name: _read(files[name]).text)
    excerpts: defaultdict[str, list[Range]] = defaultdict(list)
    answers: defaultdict[str, list[str]] = defaultdict(list)
    for line, question, excerpt, source, answer in _rows(path):
        answers[question] += [answer] if answer else []
        if not excerpt and not source and not answer:
            excerpts[question] += []
            continue
        if source not in files:
            raise BadInput(
                f"{path.name}, line {line}: the source {source[:60]!r} is not there.",
                hint=f"Name a text file ({', '.join(SUFFIXES)}) in {path.parent}.",
            )
        found = list(re.finditer(r"\s+".join(map(re.escape, excerpt.split())), text(source)))
        if len(found) != 1 or not excerpt:
            raise BadInput(
                f"{path.name}, line {line}: the excerpt {excerpt[:60]!r} is in {source} {len(found)} times.",
                hint="Copy it exactly, and long enough to be there once.",
            )
        excerpts[question].append((source, found[0].start(), found[0].end()))
    return DataSet(
        name=path.stem,
        questions=tuple(
            Question(
                id=str(number),
                text=question,
                judgements={document: 1 for document, _, _ in ranges},
                excerpts=tuple(dict.fromkeys(ranges)),
                answers=tuple(dict.fromkeys(answers[question])),
            )
            for number, (question, ranges) in enumerate(excerpts.items(), 1)
        ),
        documents=lambda: map(_read, files.values()),
    )


def _read(file: Path) -> CorpusDocument:
    text = file.read_text("utf-8")
    article = read_markdown(text) if file.suffix == ".md" else read_text(text)
    return CorpusDocument(id=file.name, text=article.text, title=article.title, language=article.language)


def _rows(path: Path) -> Iterator[tuple[int, str, str, str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        if missing := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
            raise BadInput(
                f"{path.name} has no column {missing[0]}.",
                hint=f"The first line names the columns {', '.join(COLUMNS)}.",
            )
        try:
            for row in reader:
                values = [(row.get(name) or "").strip() for name in (*COLUMNS, ANSWER)]
                if not values[0]:
                    raise BadInput(f"{path.name}, line {reader.line_num} has no question.", hint="Add one.")
                yield reader.line_num, values[0], values[1], values[2], values[3]
        except csv.Error as error:
            raise BadInput(
                f"{path.name}, line {reader.line_num}: {error}.", hint="Correct the line."
            ) from error
