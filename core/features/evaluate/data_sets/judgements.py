"""Relevance judgements as tools write them: divided by tabs, commas, semicolons or blanks, with or without a head.

Three columns are question, document and grade. Four are TREC's, with an iteration in second place. A head that names
the columns decides over both.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import islice

from core.features.evaluate.data_sets.lines import BadLine
from core.features.evaluate.data_sets.source import Source
from core.text.decoding import decode
from core.text.delimited import folded_column

_NUMBER = re.compile(r"-?[0-9]+(?:[.,][0-9]+)?")
_GRADE = re.compile(r"(-?[0-9]{1,9})(?:[.,]0+)?")
_ITERATION = re.compile(r"[Qq]?[0-9]{1,4}")
_LOOKED_AT = 200
"""The number of lines that decide how a file is divided."""
_NAMES = {
    "question": "query-id query_id queryid query qid topic topic-id topic_id question question-id question_id q_id",
    "document": "corpus-id corpus_id corpusid doc-id doc_id docid docno doc document document-id document_id did pid "
    "passage-id passage_id passage",
    "grade": "score relevance rel grade label judgement judgment relevancy rating qrel",
}
"""The names of columns in heads."""
_PLACES = {3: (0, 1, 2), 4: (0, 2, 3)}
"""The places of question, document and grade without a head, by the number of columns."""
_HINT = (
    "Write question id, document id and grade (a whole number), or TREC's four columns, divided by tabs, commas, "
    "semicolons or blanks, or name the columns query-id, corpus-id and score in the first line."
)


def read_judgements(source: Source) -> dict[str, dict[str, int]]:
    """Return the grades by question and document.

    The first line is a head if it ends with no number. All lines are divided in the same way, so that no part of an id is
    read as another id.

    Raises:
        BadInput: for a line that is no judgement, with its number, and as `Source.open`.
        OSError: when the file cannot be read.
    """
    with source.open() as file:
        text = decode(file.read())
    numbered = [
        (number, line)
        for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1)
        if line.strip()
    ]
    divide = _divider([line for _, line in numbered])
    grades: defaultdict[str, dict[str, int]] = defaultdict(dict)
    places: Sequence[int] | None = None
    for place, (number, line) in enumerate(numbered):
        cells = divide(line)
        if place == 0:
            places = _named_places(cells)
            if places or not (_is_judgement(cells) or _NUMBER.fullmatch(cells[-1])):
                continue
        used = places or _PLACES.get(len(cells))
        if not used or len(cells) <= max(used) or not (grade := _GRADE.fullmatch(cells[used[2]])):
            raise BadLine(source, number, " is no judgement.", hint=_HINT)
        question, document = (cells[column] for column in used[:2])
        unclear = not places and len(cells) == 4 and not _ITERATION.fullmatch(cells[1])
        if not question or not document or unclear:
            problem = (
                " has four columns, of which the second is no iteration." if unclear else " lacks an id."
            )
            raise BadLine(source, number, problem, hint=_HINT)
        grades[question][document] = int(grade[1])
    return dict(grades)


class _Divider:
    """Divides lines at a delimiter, or at white space if it is ""."""

    def __init__(self, delimiter: str) -> None:
        self.delimiter = delimiter

    def __call__(self, line: str) -> list[str]:
        if not self.delimiter:
            return line.split()
        if '"' in line:
            import csv

            return [
                cell.strip() for cell in next(csv.reader([line.strip(" \r\n")], delimiter=self.delimiter))
            ]
        return [cell.strip() for cell in line.strip(" \r\n").split(self.delimiter)]


def _divider(lines: Sequence[str]) -> _Divider:
    """Return how the first line names the columns, or most of the lines become judgements.

    A tab, comma or semicolon precedes white space.
    """
    sample = list(islice(lines, _LOOKED_AT))
    dividers = [_Divider(delimiter) for delimiter in ("\t", ",", ";", "")]
    if named := [divide for divide in dividers if sample and _named_places(divide(sample[0]))]:
        return named[0]
    return max(dividers, key=lambda divide: sum(_is_judgement(divide(line)) for line in sample))


def _is_judgement(cells: Sequence[str]) -> bool:
    return len(cells) in _PLACES and bool(_GRADE.fullmatch(cells[-1]))


def _named_places(cells: Sequence[str]) -> tuple[int, int, int] | None:
    """Return the places of question, document and grade that a head names, if it names all three."""
    names = [folded_column(cell) for cell in cells]
    found = [
        next((names.index(name) for name in _NAMES[kind].split() if name in names), -1) for kind in _NAMES
    ]
    question, document, grade = found
    return (question, document, grade) if min(found) >= 0 else None
