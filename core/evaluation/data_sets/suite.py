"""A suite: one zip with frozen documents, their questions, and the results to compare with.

`documents.jsonl` has id, text, title and language; `questions.jsonl` has id, text, judgements by document, excerpts as document, start
and end, and reference answers; `results.jsonl` is that of a results folder. Members are read by these names alone, as
streams: nothing is unpacked.
"""

import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from core.errors import BadInput
from core.evaluation.data_sets.data_set import CorpusDocument, DataSet, Question
from core.evaluation.data_sets.lines import BadLine, objects, text_field
from core.evaluation.data_sets.source import Source
from core.storage.atomic_write import replacing

DOCUMENTS, QUESTIONS, RESULTS = "documents.jsonl", "questions.jsonl", "results.jsonl"
SUITE = ".zip"
SUITE_LIMIT = 4_000_000_000
"""Bytes of the documents, as they are read."""


def load(files: Mapping[str, Source]) -> DataSet:
    """The data set in a suite, or in a folder with the same files.

    Raises:
        BadInput: when the zip or a line of it cannot be used, naming file and line.
        OSError: when the file cannot be read.
    """
    questions = files[QUESTIONS]
    if DOCUMENTS not in files:
        raise BadInput(
            f"{questions.path.name} has no {DOCUMENTS}.", hint="Write it with openquery eval freeze."
        )
    return DataSet(
        name=questions.path.stem,
        questions=tuple(_question(questions, number, value) for number, value in objects(questions)),
        documents=lambda: _documents(replace(files[DOCUMENTS], limit=SUITE_LIMIT)),
        questions_file=questions,
    )


def save(path: Path, data: DataSet, results: str) -> None:
    """Write a suite of a data set and of the text of `results.jsonl`. A file that is there is replaced at the end.

    Raises:
        BadInput: when a document of the data set cannot be used.
        OSError: when the file cannot be written.
    """
    documents = map(asdict, data.documents())
    questions = (
        {
            "id": question.id,
            "text": question.text,
            "judgements": dict(question.judgements),
            "excerpts": [list(excerpt) for excerpt in question.excerpts],
            "answers": list(question.answers),
        }
        for question in data.questions
    )
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as suite:
        _write(suite, DOCUMENTS, documents)
        _write(suite, QUESTIONS, questions)
        suite.writestr(RESULTS, results)


def _write(suite: zipfile.ZipFile, name: str, values: Iterable[Mapping[str, Any]]) -> None:
    with suite.open(name, "w", force_zip64=True) as file:
        for value in values:
            file.write(json.dumps(value, ensure_ascii=False).encode() + b"\n")


def _documents(source: Source) -> Iterator[CorpusDocument]:
    for number, value in objects(source, in_memory=False):
        yield CorpusDocument(
            id=text_field(source, number, value, "id"),
            text=text_field(source, number, value, "text"),
            title=str(value.get("title", "")),
            language=str(value.get("language", "")),
        )


def _question(source: Source, number: int, value: dict[str, Any]) -> Question:
    try:
        return Question(
            id=text_field(source, number, value, "id"),
            text=text_field(source, number, value, "text"),
            judgements={str(name): int(grade) for name, grade in value.get("judgements", {}).items()},
            excerpts=tuple(
                (str(name), int(start), int(end)) for name, start, end in value.get("excerpts", [])
            ),
            answers=tuple(map(str, value.get("answers", []))),
            line=number,
        )
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise BadLine(
            source, number, f" is no question: {error}.", hint="Write it with openquery eval freeze."
        ) from error
