"""A suite: one zip with frozen documents, their questions, and results to compare with.

`documents.jsonl` and `questions.jsonl` have the lines of `json_lines`, `results.jsonl` those of a results folder.
Members are read by these names alone, as streams: nothing is unpacked.
"""

import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from core.errors import BadInput
from core.features.evaluate.data_sets.data_set import DataSet
from core.features.evaluate.data_sets.json_lines import question_line, read_documents, read_questions
from core.features.evaluate.data_sets.source import Source
from core.storage.atomic_write import replacing

DOCUMENTS, QUESTIONS, RESULTS = "documents.jsonl", "questions.jsonl", "results.jsonl"
SUITE = ".zip"
SUITE_LIMIT = 4_000_000_000
"""The size limit of the documents, unpacked, in bytes."""


def load(files: Mapping[str, Source]) -> DataSet:
    """Load the data set of a suite, or of a folder with the same files.

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
        questions=read_questions(questions),
        documents=lambda: read_documents(replace(files[DOCUMENTS], limit=SUITE_LIMIT)),
        questions_file=questions,
    )


def save(path: Path, data: DataSet, results: str) -> None:
    """Write a suite of a data set and the text of `results.jsonl`.

    An existing file is replaced at the end.

    Raises:
        BadInput: when a document of the data set cannot be used.
        OSError: when the file cannot be written.
    """
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as suite:
        _write(suite, DOCUMENTS, map(asdict, data.documents()))
        _write(suite, QUESTIONS, map(question_line, data.questions))
        suite.writestr(RESULTS, results)


def _write(suite: zipfile.ZipFile, name: str, values: Iterable[Mapping[str, Any]]) -> None:
    with suite.open(name, "w", force_zip64=True) as file:
        for value in values:
            file.write(json.dumps(value, ensure_ascii=False).encode() + b"\n")
