"""One file of JSON lines: a document or a question per line, in any order.

    {"id": "gulls", "title": "Gulls", "text": "Gulls nest on cliffs."}
    {"question": "Who nests on cliffs?", "relevant": [{"doc": "gulls", "start": 0, "end": 21}], "answers": ["Gulls"]}

For a relevant document its id is enough. A `grade` other than 1 and a range of characters are optional. A question
without `relevant` has no answer in the data set.
"""

from collections.abc import Iterator
from typing import Any

from core.features.evaluate.data_sets.data_set import CorpusDocument, DataSet, Question
from core.features.evaluate.data_sets.judgements import repeated_grades
from core.features.evaluate.data_sets.lines import BadLine, objects, text_field
from core.features.evaluate.data_sets.source import STREAM_LIMIT, Source, unpacked_name

SUFFIX = ".jsonl"
EXAMPLE = '{"question": "Who nests?", "relevant": [{"doc": "gulls", "start": 0, "end": 11}]}'


def load(source: Source) -> DataSet:
    """Load the data set. Documents are read one at a time.

    Raises:
        BadLine: for a line that cannot be used.
        OSError: when the file cannot be read.
    """
    source = Source(source.path, source.member, STREAM_LIMIT)
    changed: list[str] = []
    questions = read_questions(source, in_memory=False, changed=changed)
    return DataSet(
        name=unpacked_name(source.name).removesuffix(SUFFIX),
        questions=questions,
        documents=lambda: read_documents(source),
        warnings=(repeated_grades(source, changed),) if changed else (),
        questions_file=source,
    )


def read_documents(source: Source) -> Iterator[CorpusDocument]:
    """Yield the documents among the lines. Raises `BadLine` for an unusable line."""
    for number, value in objects(source, in_memory=False):
        if "question" not in value:
            yield CorpusDocument(
                id=text_field(source, number, value, "id", "_id"),
                text=text_field(source, number, value, "text"),
                title=str(value.get("title") or ""),
                language=str(value.get("language") or ""),
            )


def read_questions(
    source: Source, *, in_memory: bool = True, changed: list[str] | None = None
) -> tuple[Question, ...]:
    """Return the questions among the lines. Raises `BadLine` for an unusable line.

    `in_memory` limits the number of JSON values in the file. `changed` receives the documents that a question judges
    twice with different grades.
    """
    lines = objects(source, in_memory=in_memory)
    changed = [] if changed is None else changed
    return tuple(_question(source, number, value, changed) for number, value in lines if "question" in value)


def question_line(question: Question) -> dict[str, Any]:
    """Return a question as the fields of its line."""
    marked = {document for document, _, _ in question.excerpts}
    judged = [
        {"doc": document, "grade": grade}
        for document, grade in question.judgements.items()
        if document not in marked
    ]
    excerpts = [
        {"doc": document, "grade": question.judgements.get(document, 1), "start": start, "end": end}
        for document, start, end in question.excerpts
    ]
    return {
        "id": question.id,
        "question": question.text,
        "relevant": judged + excerpts,
        "answers": question.answers,
    }


def _relevant(value: dict[str, Any]) -> list[Any]:
    """Return the judged documents of a question: a list, the grades by document, or one document."""
    relevant = value.get("relevant")
    if isinstance(relevant, dict) and "doc" not in relevant:
        return [{"doc": document, "grade": grade} for document, grade in relevant.items()]
    return relevant if isinstance(relevant, list) else [] if relevant is None else [relevant]


def _answers(value: dict[str, Any]) -> tuple[str, ...]:
    """Return the reference answers: a list, or one."""
    answers = value.get("answers", value.get("answer"))
    return tuple(map(str, answers if isinstance(answers, list) else [] if answers is None else [answers]))


def _question(source: Source, number: int, value: dict[str, Any], changed: list[str]) -> Question:
    try:
        relevant = [{"doc": entry} if isinstance(entry, str | int) else entry for entry in _relevant(value)]
        judgements: dict[str, int] = {}
        for entry in relevant:
            document, grade = str(entry["doc"]), int(entry.get("grade", 1))
            if judgements.setdefault(document, grade) != grade:
                changed.append(f"line {number:,}: {document}")
            judgements[document] = grade
        return Question(
            id=str(value.get("id", number)),
            text=text_field(source, number, value, "question"),
            judgements=judgements,
            excerpts=tuple(
                (str(entry["doc"]), int(entry["start"]), int(entry["end"]))
                for entry in relevant
                if "start" in entry
            ),
            answers=_answers(value),
            line=number,
        )
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise BadLine(
            source, number, f" is no question: {type(error).__name__} {error}.", hint=f"Write {EXAMPLE}."
        ) from error
