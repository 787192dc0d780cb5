"""Relevance judgements as tools write them: divided by tabs, commas, semicolons, bars or blanks, with or without a head.

Three columns are question, document and grade. Four are TREC's, with an iteration in second place. Two are a question
and a relevant document. A head that names the columns decides over all. Lines that begin with `#` and are no judgement
are comments.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import islice

from core.features.evaluate.data_sets.column_names import named_places
from core.features.evaluate.data_sets.lines import BadLine
from core.features.evaluate.data_sets.source import Source
from core.text.decoding import decode

_NUMBER = re.compile(r"[-+]?[0-9]+(?:[.,][0-9]*)?(?:[eE][-+]?[0-9]+)?")
_GRADE = re.compile(r"([-+]?[0-9]{1,9})(?:[.,]0*)?(?:[eE][-+]?0{1,2})?")
"""A whole number, also as programs write it: 1, 1.0, 1,0, 1.00e+00."""
_ITERATION = re.compile(r"[Qq]?[0-9]{1,4}(?:\.[0-9])?")
_LOOKED_AT = 200
"""The number of lines that decide how a file is divided."""
_COLUMNS = ("question id", "document id", "grade")
_PLACES: dict[int, tuple[int, ...]] = {2: (0, 1), 3: (0, 1, 2), 4: (0, 2, 3)}
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
    rows = [(number, divide(line)) for number, line in numbered]
    rows = [(number, cells) for number, cells in rows if not _is_comment(cells)]
    pairs = _are_pairs([cells for _, cells in rows])
    places = _named_places(rows[0][1]) if rows else None
    if rows and (places or not (pairs or _is_judgement(rows[0][1]) or _NUMBER.fullmatch(rows[0][1][-1]))):
        del rows[0]
    grades: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for number, cells in rows:
        used = places or (_PLACES.get(len(cells)) if pairs or len(cells) != 2 else None)
        if not used or len(cells) <= max(used):
            raise BadLine(source, number, " is no judgement.", hint=_HINT)
        question, document, *stated = (cells[column] for column in used)
        grade = _GRADE.fullmatch(*stated or "1")
        unclear = not places and len(cells) == 4 and not _ITERATION.fullmatch(cells[1])
        if not grade:
            raise BadLine(source, number, " is no judgement.", hint=_HINT)
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
    """Return how the first line names the columns, or most of the lines become judgements, or else pairs.

    Any delimiter precedes white space.
    """
    sample = list(islice(lines, _LOOKED_AT))
    dividers = [_Divider(delimiter) for delimiter in ("\t", ",", ";", "|", "")]
    head = next((line for line in sample if not line.startswith("#")), "")
    if named := [divide for divide in dividers if _named_places(divide(head))]:
        return named[0]
    return max(
        dividers,
        key=lambda divide: (
            sum(map(_is_judgement, rows := list(map(divide, sample)))),
            sum(len(cells) == 2 for cells in rows),
        ),
    )


def _is_judgement(cells: Sequence[str]) -> bool:
    return len(cells) in (3, 4) and bool(_GRADE.fullmatch(cells[-1]))


def _is_comment(cells: Sequence[str]) -> bool:
    return cells[0].startswith("#") and not _is_judgement(cells)


def _are_pairs(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether each row is two words, a question and a relevant document."""
    return bool(rows) and all(len(cells) == 2 and " " not in "".join(cells) for cells in rows)


def _named_places(cells: Sequence[str]) -> tuple[int, ...] | None:
    """Return the places of question, document and grade that a head names.

    The grade may be missing from a head of two columns.
    """
    places = named_places(cells, _COLUMNS)
    used = tuple(places[column] for column in _COLUMNS if column in places)
    return used if len(used) == 3 or (len(used) == len(cells) == 2 and _COLUMNS[2] not in places) else None
