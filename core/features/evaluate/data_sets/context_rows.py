"""Questions that bring their contexts: test sets of RAGAS and DeepEval, and rows in the form of SQuAD on a hub.

    {"user_input": "Who nests?", "reference_contexts": ["Gulls nest on cliffs."], "reference": "Gulls do."}
    {"input": "Who nests?", "context": ["Gulls nest on cliffs."], "expected_output": "Gulls do."}

They are lines of JSON, a list in JSON, or a table. Each context is a document, and relevant for its question.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from core.errors import BadInput
from core.features.evaluate.data_sets.column_names import folded, named_places
from core.features.evaluate.data_sets.data_set import CorpusDocument, DataSet, Question
from core.features.evaluate.data_sets.lines import FILE_VALUES, BadLine, objects
from core.features.evaluate.data_sets.source import Source, unpacked_name
from core.features.evaluate.metrics.excerpt_metrics import Range
from core.text.decoding import decode
from core.text.delimited import MalformedRow, delimited_rows
from core.text.digest import text_digest
from core.text.lenient_json import count_values, valid_json
from core.text.sanitize import pluralize

_QUESTIONS = ("user input", "question", "query", "input")
_CONTEXTS = ("reference contexts", "contexts", "context", "ground truth contexts")
"""Fields of the contexts that answer a question."""
_RETRIEVED = ("retrieved contexts", "retrieval context")
"""Fields of the contexts that a system retrieved, whether they answer or not."""
_ANSWERS = ("reference", "ground truth", "ground truths", "expected output", "answers", "answer")
_NOT_THESE = frozenset(("relevant", "source"))
"""Fields of rows whose documents are elsewhere."""
_DEEP_EVAL = frozenset(("input", "actual output", "context", "retrieval context"))
"""Fields of every row of DeepEval, whose tables and lines divide the contexts of a row by `|`."""
_HOP = re.compile(r"<\d+-hop>\s+")
"""What RAGAS writes before each context of a question that needs several."""
_QUOTED = re.compile(r"""\\.|('[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*")(\s+(?=['"]))?""", re.DOTALL)
"""A text in Python's form, and the white space before a next one: NumPy writes lists without commas."""
_LONGEST_LIST = 200_000
"""The longest cell that is read as a list of Python."""


def has_contexts(row: Iterable[str]) -> bool:
    """Return whether a row with these fields is a question with its contexts."""
    names = {folded(name) for name in row}
    has_both = names.intersection(_QUESTIONS) and names.intersection((*_CONTEXTS, *_RETRIEVED))
    return bool(has_both) and not names & _NOT_THESE


def is_table(source: Source) -> bool:
    """Return whether the head of a table names a question and its contexts, and no source."""
    with source.open() as file, suppress(MalformedRow):
        head = next(islice(delimited_rows(decode(file.read())), 1), (0, []))[1]
        is_deep_eval = set(map(folded, head)) >= _DEEP_EVAL  # it names the file of each question
        return has_contexts(head) and (is_deep_eval or not named_places(head, ("source",)))
    return False


def begins_lines(source: Source) -> bool:
    """Return whether the first line of JSON is a question with its contexts."""
    with suppress(BadInput):
        return any(has_contexts(value) for _, value in islice(objects(source), 1))
    return False


def load_table(source: Source) -> DataSet:
    """Load a table. Raises `BadInput` for a row that cannot be used."""
    with source.open() as file:
        text = decode(file.read())
    table = delimited_rows(text)
    try:
        _, head = next(table)
        rows = [(line, dict(zip(head, row, strict=False))) for line, row in table]
    except MalformedRow as error:
        raise BadLine(source, error.line, f": {error}.", hint="Correct the line.") from error
    return _data_set(source, rows)


def load_lines(source: Source) -> DataSet:
    """Load lines of JSON. Raises `BadInput` for a line that cannot be used."""
    return _data_set(source, objects(source))


def listed(source: Source) -> list[dict[str, Any]]:
    """Return the questions with contexts that a file of JSON lists, alone, as `goldens` or by column.

    Any other file gives none.

    Raises:
        BadInput: as `Source.open`, or for too many values.
    """
    with source.open() as file:
        body = file.read()
    if count_values(body) > FILE_VALUES:
        raise BadInput(f"{source.name} has more than {FILE_VALUES:,} values.", hint="Write JSON lines.")
    value: Any = None
    with suppress(ValueError):
        value = valid_json(body)
    if isinstance(value, dict):
        value = _rows_of_columns(value) if has_contexts(value) else value.get("goldens")
    rows = value if isinstance(value, list) else []
    return rows if rows and all(isinstance(row, dict) and has_contexts(row) for row in rows) else []


def _rows_of_columns(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of columns that are lists, or objects as pandas writes them."""
    values = [column.values() if isinstance(column, dict) else column for column in columns.values()]
    if not all(isinstance(column, Iterable) and not isinstance(column, str) for column in values):
        return []
    return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=False)]


def load_list(source: Source, rows: Iterable[dict[str, Any]]) -> DataSet:
    """Load the rows of `listed`."""
    return _data_set(source, enumerate(rows, 1))


def _data_set(source: Source, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> DataSet:
    documents: dict[str, CorpusDocument] = {}
    questions: list[Question] = []
    for number, row in rows:
        fields = {folded(name): value for name, value in row.items()}
        question = _first(fields, _QUESTIONS)
        if not isinstance(question, str) or not question.strip():
            raise BadLine(source, number, " has no question.", hint=f"Write it as {_QUESTIONS[1]}, a text.")
        texts = _contexts(source, number, fields)
        ids = [text_digest(text) for text in texts]
        for name, text in zip(ids, texts, strict=True):
            documents.setdefault(name, CorpusDocument(id=name, text=text, title=_title(fields, texts)))
        answers = _first(fields, _ANSWERS)
        questions.append(
            Question(
                id=str(number),
                text=question,
                judgements=dict.fromkeys(ids, 1),
                excerpts=tuple(_excerpts(ids, texts, answers)),
                answers=tuple(
                    dict.fromkeys(_texts(answers.get("text") if isinstance(answers, dict) else answers))
                ),
                line=number,
            )
        )
    contexts = tuple(documents.values())
    return DataSet(
        name=unpacked_name(source.name).rpartition(".")[0],
        questions=tuple(questions),
        documents=lambda: iter(contexts),
        questions_file=source,
        warnings=(
            f"The documents are the {pluralize(len(contexts), 'context')} of the questions alone. Among more documents "
            "they would be harder to find.",
        ),
    )


def _contexts(source: Source, number: int, fields: Mapping[str, Any]) -> list[str]:
    """Return the contexts that answer the question of a row. Raises `BadLine` for a row that can have none."""
    if fields.keys().isdisjoint(_CONTEXTS):
        raise BadLine(
            source,
            number,
            " has only contexts that a system retrieved.",
            hint="Add those that answer the question, as reference_contexts or context.",
        )
    value = _first(fields, _CONTEXTS)
    if isinstance(value, str) and fields.keys() >= _DEEP_EVAL:
        value = value.split("|")
    return [text[found.end() :] if (found := _HOP.match(text)) else text for text in _texts(value)]


def _title(fields: Mapping[str, Any], texts: list[str]) -> str:
    title = fields.get("title")
    return title if isinstance(title, str) and len(texts) == 1 else ""


def _first(fields: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((fields[name] for name in names if fields.get(name)), None)


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of a field: a text, a list, or a list that a table writes as JSON or in Python's form."""
    if isinstance(value, str):
        value = _written_list(value.strip())
    for text in value if isinstance(value, list | tuple) else [value]:
        if isinstance(text, str) and text.strip():
            yield text.strip()


def _written_list(text: str) -> Any:
    if text.startswith("[") and text.endswith("]") and len(text) <= _LONGEST_LIST:
        with suppress(ValueError):
            return valid_json(text.encode())
        with_commas = _QUOTED.sub(lambda found: f"{found[1]}," if found[2] else found[0], text)
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            return ast.literal_eval(with_commas)
    return text


def _excerpts(ids: list[str], texts: list[str], answers: Any) -> Iterator[Range]:
    """Yield the places of answers that have an offset, as in SQuAD."""
    if not isinstance(answers, dict) or len(texts) != 1:
        return
    for text, start in zip(answers.get("text") or (), answers.get("answer_start") or (), strict=False):
        if (
            isinstance(start, int)
            and isinstance(text, str)
            and text
            and texts[0].startswith(text, max(start, 0))
        ):
            yield ids[0], start, start + len(text)
