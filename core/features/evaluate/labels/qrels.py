"""Labels in the format of TREC's relevance judgements (qrels): `question 0 document grade`, one label a line.

The document is a page's key with the range of characters in RFC 5147's form, `https://a.example/#char=120,480`. White
space and non-ASCII characters are percent-encoded. The question is a digest of its text.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from core.errors import BadInput
from core.features.evaluate.labels.passage_labels import label
from core.model import Grade, Label, Page, Place
from core.text.qrels_names import page_name, question_id

_LINE = re.compile(
    r"(?P<question>\S+)\s+\S+\s+(?P<page>\S+)#char=(?P<start>\d{1,9}),(?P<end>\d{1,9})\s+(?P<grade>-?\d{1,3})(?:\.0+)?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedLabels:
    """The labels of a file for a question and the known pages, with counts of the other lines."""

    labels: tuple[Label, ...]
    other_questions: int
    other_pages: int


def to_qrels(question: str, labels: Iterable[Label]) -> str:
    """Return one line per label, sorted by page and range."""
    ordered = sorted(labels, key=lambda label: (label.place.page, label.place.start, label.place.end))
    return "".join(
        f"{question_id(question)} 0 {page_name(label.place.page)}#char={label.place.start},{label.place.end} {int(label.grade)}\n"
        for label in ordered
    )


def from_qrels(text: str, question: str, pages: Mapping[str, Page]) -> ImportedLabels:
    """Read the labels of this question for these pages.

    Grades above 2 count as relevant, grades below 0 as not relevant.

    Raises:
        BadInput: for a line that is no judgement of a range of characters, with its number.
    """
    labels: list[Label] = []
    other_questions = other_pages = 0
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        digest, place, grade = _parsed(line, number)
        page = pages.get(place.page)
        if digest != question_id(question):
            other_questions += 1
        elif page is None or place.end > len(page.text):
            other_pages += 1
        else:
            labels.append(label(page, place, Grade(min(max(grade, 0), max(Grade)))))
    return ImportedLabels(labels=tuple(labels), other_questions=other_questions, other_pages=other_pages)


def _parsed(line: str, number: int) -> tuple[str, Place, int]:
    match = _LINE.fullmatch(line.strip())
    if match is None or int(match["start"]) >= int(match["end"]):
        raise BadInput(
            f"Line {number} is no label: {line[:80]!r}.",
            hint="Each line needs a question, 0, a page with #char=start,end, and a grade.",
        )
    place = Place(page=unquote(match["page"]), start=int(match["start"]), end=int(match["end"]))
    return match["question"], place, int(match["grade"])
