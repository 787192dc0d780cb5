"""A CSV file of questions with exact excerpts, and the text files that hold the excerpts.

The columns are question, excerpt and source, and optionally answer, a short answer. A question with several excerpts or
answers has several rows. A question that the sources do not answer has a row with the question alone. All text files in
the folder of the CSV are documents. A table may be divided by commas, semicolons, tabs or bars.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import PurePosixPath

from core.errors import BadInput
from core.features.evaluate.data_sets.data_set import CorpusDocument, DataSet, Question
from core.features.evaluate.data_sets.lines import BadLine, rows
from core.features.evaluate.data_sets.source import HELD_LIMIT, Source
from core.features.evaluate.metrics.excerpt_metrics import Range
from core.reading.plain_text import read_markdown, read_text
from core.text.decoding import decode

COLUMNS = ("question", "excerpt", "source")
ANSWER = "answer"
TABLES = (".csv", ".tsv", ".tab")
SUFFIXES = (".md", ".txt")


def load(table: Source, beside: Mapping[str, Source]) -> DataSet:
    """Load a table and the text files `beside` it.

    White space in an excerpt matches any white space of its source.

    Raises:
        BadInput: for a missing column, an unknown source, or an excerpt that is not in its source, with the line.
        OSError: when a file cannot be read.
    """
    files = {name: file for name, file in beside.items() if file.suffix in SUFFIXES}
    if sum(file.length for file in files.values()) > HELD_LIMIT:
        raise BadInput(
            f"The text files beside {table.name} have more than {HELD_LIMIT:,} bytes.",
            hint="Use BEIR's layout.",
        )
    located = cache(lambda source: _named_file(source, files))
    words = cache(lambda name: _Words(_read(name, files[name]).text))
    excerpts: defaultdict[str, list[Range]] = defaultdict(list)
    answers: defaultdict[str, list[str]] = defaultdict(list)
    first: dict[str, int] = {}
    for line, (question, excerpt, source, answer) in rows(table, COLUMNS, (ANSWER,)):
        if not question:
            raise BadLine(table, line, " has no question.", hint="Add one.")
        first.setdefault(question, line)
        answers[question] += [answer] if answer else []
        if not excerpt and not source and not answer:
            excerpts[question] += []
            continue
        file = located(source)
        if not file:
            raise BadLine(
                table,
                line,
                f": the source {source[:60]!r} is not there.",
                hint=f"Name a text file ({', '.join(SUFFIXES)}) beside it.",
            )
        span, count = words(file).find(excerpt)
        if count != 1:
            raise BadLine(
                table,
                line,
                f": the excerpt {excerpt[:60]!r} is in {file} {count} times.",
                hint="Copy it exactly, and long enough to be there once.",
            )
        excerpts[question].append((file, *span))
    return DataSet(
        name=table.path.stem,
        questions=tuple(
            Question(
                id=str(number),
                text=question,
                judgements={document: 1 for document, _, _ in ranges},
                excerpts=tuple(dict.fromkeys(ranges)),
                answers=tuple(dict.fromkeys(answers[question])),
                line=first[question],
            )
            for number, (question, ranges) in enumerate(excerpts.items(), 1)
        ),
        documents=lambda: (_read(name, file) for name, file in files.items()),
        questions_file=table,
    )


def _named_file(source: str, files: Iterable[str]) -> str:
    """Return the file that a cell names, or "". Folders, case and suffix are left out where that leaves one file."""
    path = PurePosixPath(source.replace("\\", "/"))
    parts: tuple[Callable[[PurePosixPath], str], ...] = (
        str,
        lambda name: str(name).casefold(),
        lambda name: name.name.casefold(),
        lambda name: name.stem.casefold(),
    )
    for part in () if ".." in path.parts else parts:
        if len(found := [name for name in files if part(PurePosixPath(name)) == part(path)]) == 1:
            return found[0]
    return ""


class _Words:
    """A text that finds excerpts regardless of white space, in linear time."""

    def __init__(self, text: str) -> None:
        spans = [word.span() for word in re.finditer(r"\S+", text)]
        self._text = " ".join(text[start:end] for start, end in spans)
        self._starts = [start for start, _ in spans]
        self._places: list[int] = []
        """The offset of each word in the text with single blanks."""
        place = 0
        for start, end in spans:
            self._places.append(place)
            place += end - start + 1

    def find(self, excerpt: str) -> tuple[tuple[int, int], int]:
        """Return the first range that matches an excerpt, and the number of matches."""
        excerpt = " ".join(excerpt.split())
        place = self._text.find(excerpt)
        if not excerpt or place < 0:
            return (0, 0), 0
        last = place + len(excerpt) - 1
        return (self._original(place), self._original(last) + 1), self._text.count(excerpt)

    def _original(self, place: int) -> int:
        word = bisect_right(self._places, place) - 1
        return self._starts[word] + place - self._places[word]


def _read(name: str, file: Source) -> CorpusDocument:
    with file.open() as stream:
        body = stream.read()
    text = decode(body)
    article = read_markdown(text) if file.suffix == ".md" else read_text(text)
    return CorpusDocument(id=name, text=article.text, title=article.title)
