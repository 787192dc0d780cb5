"""Relevance judgements as tools write them: divided by tabs, commas, semicolons, bars or blanks, with or without a head,
or as JSON: an object a line, or the grades of documents by question.

Three columns are question, document and grade. Four are TREC's, with an iteration in second place. A fifth is a comment,
as are the fourth and fifth after question, document and grade. Two are a question and a relevant document. A head that names the columns decides over all. Lines that begin with `#` and are no judgement
are comments.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from core.errors import BadInput
from core.features.evaluate.data_sets.column_names import named_places
from core.features.evaluate.data_sets.lines import FILE_VALUES, BadLine, objects
from core.features.evaluate.data_sets.source import Source
from core.text.decoding import decode
from core.text.lenient_json import count_values, valid_json
from core.text.sanitize import pluralize

_NUMBER = re.compile(r"[-+]?[0-9]+(?:[.,][0-9]*)?(?:[eE][-+]?[0-9]+)?")
_GRADE = re.compile(r"([-+]?[0-9]{1,9})(?:[.,]0*)?(?:[eE][-+]?0{1,2})?")
"""A whole number, also as programs write it: 1, 1.0, 1,0, 1.00e+00."""
_TRUTHS = {"true": "1", "false": "0"}
_ITERATION = re.compile(r"[Qq]?[0-9]{1,4}(?:\.[0-9])?")
_ROUNDED = re.compile(r"[0-9](?:[.,][0-9]{1,14})?[eE]\+[0-9]{2,3}")
"""An id of more than 15 digits, as a spreadsheet rounds it."""
_RUN = re.compile(
    r"\S+[ \t]+Q0[ \t]+\S+[ \t]+[0-9]+[ \t]+[-+0-9.eE]+[ \t]+\S+[ \t]*(?:\r|\n|\Z)", re.IGNORECASE
)
"""The first line of a run in TREC's format: a rank and a score in place of the grade."""
_TREC = (0, 2, 3)
_LOOKED_AT = 200
"""The number of lines that decide how a file is divided."""
_COLUMNS = ("question id", "document id", "grade")
_PLACES: dict[int, tuple[int, ...]] = {2: (0, 1), 3: (0, 1, 2), 4: _TREC}
"""The places of question, document and grade without a head, by the number of columns."""
_HINT = (
    "Write question id, document id and grade (a whole number), or TREC's four columns, divided by tabs, commas, "
    "semicolons or blanks, or name the columns query-id, corpus-id and score in the first line."
)


@dataclass(frozen=True, slots=True)
class Judgements:
    """The grades by question and document, and warnings of what the file leaves in doubt."""

    grades: dict[str, dict[str, int]]
    warnings: tuple[str, ...] = ()


def read_judgements(source: Source) -> Judgements:
    """Return the grades by question and document. Of two for one document, the last counts.

    The first line is a head if it ends with no number. All lines are divided in the same way, so that no part of an id is
    read as another id.

    Raises:
        BadInput: for a line that is no judgement, with its number, and as `Source.open`.
        OSError: when the file cannot be read.
    """
    with source.open() as file:
        text = decode(file.read()).removeprefix("\ufeff").rstrip("\x1a\0")
    rows = list(_json_rows(source, text) if text.lstrip().startswith("{") else _divided_rows(text))
    if _RUN.match(text.lstrip()):
        raise BadInput(
            f"{source.name} is a run: rankings of a system, not judgements.",
            hint="Name the file of judgements, with question id, document id and grade.",
        )
    pairs = _are_pairs([cells for _, cells in rows])
    places = _named_places(rows[0][1]) if rows else None
    if rows and (places or not (pairs or _is_judgement(rows[0][1]) or _NUMBER.fullmatch(rows[0][1][-1]))):
        del rows[0]
    grades: defaultdict[str, dict[str, int]] = defaultdict(dict)
    by_width = _PLACES | {5: _places_of_five([cells for _, cells in rows])}
    changed: list[str] = []
    for number, cells in rows:
        used = places or (by_width.get(len(cells)) if pairs or len(cells) != 2 else None)
        if not used or len(cells) <= max(used):
            raise BadLine(source, number, " is no judgement.", hint=_HINT)
        question, document, *stated = (cells[column] for column in used)
        grade = _graded(*stated or "1")
        unclear = not places and used == _TREC and not _ITERATION.fullmatch(cells[1])
        if not grade:
            raise BadLine(source, number, " is no judgement.", hint=_HINT)
        if not question or not document or unclear:
            problem = (
                " has four columns, of which the second is no iteration." if unclear else " lacks an id."
            )
            raise BadLine(source, number, problem, hint=_HINT)
        if grades[question].setdefault(document, int(grade[1])) != int(grade[1]):
            changed.append(f"line {number:,}: {question} and {document}")
        grades[question][document] = int(grade[1])
    return Judgements(dict(grades), tuple(_warnings(source, grades, changed)))


def _divided_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each line that is no comment."""
    numbered = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    divide = _divider([line for _, line in numbered])
    for number, line in numbered:
        cells = divide(line)
        if not cells[0].startswith("#") or _is_judgement(cells):
            yield number, cells


def _json_rows(source: Source, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of judgements in JSON after a head, with their lines."""
    body = text.encode()
    try:
        whole = valid_json(body) if count_values(body) <= FILE_VALUES else None
    except ValueError:  # an object a line
        whole = None
    if isinstance(whole, dict) and all(isinstance(documents, dict) for documents in whole.values()):
        yield 1, list(_COLUMNS)
        for question, documents in whole.items():
            yield from ((1, [question, document, _cell(grade)]) for document, grade in documents.items())
        return
    names: list[str] = []
    for number, judgement in objects(source):
        if not names:
            yield number, (names := list(judgement))
        yield number, [_cell(judgement.get(name)) for name in names]


def _cell(value: object) -> str:
    return "" if value is None else str(value)


def _warnings(
    source: Source, grades: Mapping[str, Mapping[str, int]], changed: Sequence[str]
) -> Iterator[str]:
    if changed:
        yield repeated_grades(source, changed)
    ids = [name for question, documents in grades.items() for name in (question, *documents)]
    if rounded := next(filter(_ROUNDED.fullmatch, ids), ""):
        yield (
            f"{source.name} has ids such as {rounded}: a spreadsheet has rounded numbers of more than 15 digits. "
            "Export it again with ids as text."
        )


def repeated_grades(source: Source, changed: Sequence[str]) -> str:
    """Return the warning that documents are judged twice for a question with different grades."""
    return (
        f"{source.name} judges {pluralize(len(changed), 'document')} again with another grade, of which the last "
        f"counts ({changed[0]})."
    )


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


def _graded(cell: str) -> re.Match[str] | None:
    """Return the match of a grade, or of a truth as one."""
    return _GRADE.fullmatch(_TRUTHS.get(cell.lower(), cell))


def _is_judgement(cells: Sequence[str]) -> bool:
    if len(cells) == 5:
        return any(_graded(cells[place]) for place in (2, 3))
    return len(cells) in (3, 4) and bool(_graded(cells[-1]))


def _places_of_five(rows: Sequence[Sequence[str]]) -> tuple[int, ...]:
    """Return the places of question, document and grade in five columns, of which the last is a comment."""
    five = [cells for cells in rows if len(cells) == 5]
    trec = all(_ITERATION.fullmatch(cells[1]) and _GRADE.fullmatch(cells[3]) for cells in five)
    return _TREC if trec else (0, 1, 2)


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
