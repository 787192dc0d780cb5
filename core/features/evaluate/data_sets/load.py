"""Data sets: documents, and questions with graded documents or marked excerpts. One loader for several layouts.

| layout | found by |
|---|---|
| BEIR | a folder with `corpus.jsonl`, `queries.jsonl` and `qrels/*.tsv` |
| SQuAD | a `.json` file with `data`, versions 1 and 2 |
| excerpts | a `.csv` or `.tsv` with the columns question, excerpt and source; a source is a text file beside it |
| suite | a `.zip` file with documents, questions and results, which `core.features.evaluate.data_sets.suite` writes |
| JSON lines | a `.jsonl` file with a document or a question a line |
| contexts | a `.jsonl`, `.json` or `.csv` of questions with their contexts, as RAGAS and DeepEval write it |

Any layout of several files may be a folder or a zip, and any file but a zip may be packed with gzip (`.gz`). A Parquet file
(`.parquet`) is read as the lines of JSON that its rows make.

Documents are read from the file each time that they are asked for, so a corpus need not fit into memory. What a
message calls a line is counted from 1.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from core.errors import BadInput
from core.features.evaluate.data_sets import beir, context_rows, excerpt_csv, json_lines, squad, suite
from core.features.evaluate.data_sets.data_set import DataSet, Question, Tally
from core.features.evaluate.data_sets.lines import BadLine
from core.features.evaluate.data_sets.source import Source, files_of
from core.model.passage_urls import collection_at_url
from core.text.sanitize import plural, pluralize

EXAMPLES = 3
"""The most ids that a warning names."""
GRADE_LIMIT = 100
"""The highest grade, far above any scale in use. It keeps gains finite."""


def load_data_set(path: Path, name: str = "") -> DataSet:
    """Load and check the data set at a path, reading every document once.

    `name` defaults to the name of the file.

    Raises:
        BadInput: when the layout is not known, or a file cannot be used; the message names file and line.
    """
    try:
        data = _load(path)
        return _checked(replace(data, name=name or data.name))
    except FileNotFoundError as error:
        raise BadInput(f"{error.filename} is not there.", hint="Check the path of the data set.") from error
    except (OSError, UnicodeError) as error:
        raise BadInput(f"{path} cannot be read: {error}.", hint="Check the file.") from error


def _load(path: Path) -> DataSet:
    """Return the unchecked data set, by its layout."""
    suffix = Source(path).suffix
    if path.is_dir() or suffix == suite.SUITE:
        return _load_files(path, files_of(path))
    if suffix in excerpt_csv.TABLES:
        files = (file for file in sorted(path.parent.iterdir()) if file.is_file())
        beside = {file.name: Source(file, length=file.stat().st_size) for file in files}
        return _load_table(Source(path), beside)
    if suffix == ".json":
        listed = context_rows.listed(Source(path))
        return context_rows.load_list(Source(path), listed) if listed else squad.load(path)
    if suffix == json_lines.SUFFIX:
        return _load_lines(Source(path))
    raise _unknown(path)


def _load_table(table: Source, beside: Mapping[str, Source]) -> DataSet:
    return context_rows.load_table(table) if context_rows.is_table(table) else excerpt_csv.load(table, beside)


def _load_lines(source: Source) -> DataSet:
    return context_rows.load_lines(source) if context_rows.begins_lines(source) else json_lines.load(source)


def _load_files(path: Path, files: Mapping[str, Source]) -> DataSet:
    tables = [file for name, file in files.items() if file.suffix in excerpt_csv.TABLES and "/" not in name]
    lines = [file for name, file in files.items() if file.suffix == json_lines.SUFFIX and "/" not in name]
    if suite.QUESTIONS in files:
        return suite.load(files)
    if len(tables) == 1 and not beir.is_complete(files):
        return _load_table(tables[0], files)
    if len(lines) == 1 and not any(name in files for name in beir.FILES):
        return _load_lines(lines[0])
    if path.is_dir() or beir.is_complete(files) or any(name in files for name in beir.FILES):
        return beir.load(files, path.stem if path.is_file() else path.name)
    raise _unknown(path)


_CONVERSIONS = {
    ".xlsx": "Save the table as CSV in the spreadsheet program.",
    ".xls": "Save the table as CSV in the spreadsheet program.",
    ".ods": "Save the table as CSV in the spreadsheet program.",
    ".yaml": "Write the questions as a .csv with the columns question, excerpt and source.",
    ".yml": "Write the questions as a .csv with the columns question, excerpt and source.",
}
"""How files in other formats become data sets, by their suffix."""


def _unknown(path: Path) -> BadInput:
    if conversion := _CONVERSIONS.get(path.suffix.lower()):
        return BadInput(f"{path.name} is not read as a data set.", hint=conversion)
    return BadInput(
        f"No data set is known that looks like {path.name}.",
        hint="Name a folder or .zip in BEIR's layout (corpus.jsonl, queries.jsonl, qrels), a SQuAD file (.json), a "
        ".csv or .tsv with the columns question, excerpt and source, a .jsonl with a document or a question a line, or a "
        ".zip of openquery eval freeze.",
    )


def _checked(data: DataSet) -> DataSet:
    """Return the checked data set with warnings.

    Raises `BadInput` for duplicate ids and for a data set without questions.
    """
    twice = [name for name, count in Counter(question.id for question in data.questions).items() if count > 1]
    if twice:
        raise BadInput(
            f"{data.name}: {_named(twice, 'question id')} there more than once.", hint="Make ids unique."
        )
    if not data.questions:
        raise BadInput(f"{data.name} has no questions.", hint="Check that it is complete.")
    lengths: dict[str, int] = {}
    empty: list[str] = []
    tally = Tally()
    for document in map(tally.add, data.documents()):
        if document.id in lengths:
            raise BadInput(
                f"{data.name}: the document id {document.id!r} is there twice.", hint="Make ids unique."
            )
        lengths[document.id] = len(document.text)
        if not document.text.strip():
            empty.append(document.id)
    for question in data.questions:
        _check_judgements(data, question, lengths)
    judged = {name for question in data.questions for name in question.judgements}
    warnings = (
        (sorted(judged - lengths.keys()), "judged document", "not among the documents"),
        (empty, "document", "without text"),
    )
    messages = tuple(f"{_named(names, noun)} {problem}." for names, noun, problem in warnings if names)
    return replace(
        data,
        warnings=(*data.warnings, *messages),
        counted=tally.contents,
        origins=frozenset(map(collection_at_url, lengths)),
    )


def _check_judgements(data: DataSet, question: Question, lengths: Mapping[str, int]) -> None:
    """Raise `BadInput` for a grade out of bounds, or an excerpt outside its document."""
    if any(abs(grade) > GRADE_LIMIT for grade in question.judgements.values()):
        raise _bad_question(data, question, f"a grade is beyond {GRADE_LIMIT}", "Use small whole numbers.")
    for document, start, end in question.excerpts:
        if document not in lengths:
            raise _bad_question(
                data,
                question,
                f"the document {document[:60]!r} of its excerpt is not there",
                "Add the document, or correct its id.",
            )
        if not 0 <= start < end <= lengths[document]:
            raise _bad_question(
                data,
                question,
                f"the excerpt from {start} to {end} is not in the document {document[:60]!r}",
                f"Write offsets from 0 to {lengths[document]:,}, the characters of its text, the first below the second.",
            )


def _bad_question(data: DataSet, question: Question, problem: str, hint: str) -> BadInput:
    if data.questions_file and question.line:
        return BadLine(data.questions_file, question.line, f": {problem}.", hint=hint)
    return BadInput(f"{data.name}, question {question.id[:60]}: {problem}.", hint=hint)


def _named(ids: Iterable[str], noun: str) -> str:
    """Return a phrase such as `2 documents (a, b) are`, with a few of the ids."""
    ids = list(ids)
    examples = ", ".join(name[:60] for name in ids[:EXAMPLES]) + (", …" if len(ids) > EXAMPLES else "")
    return f"{pluralize(len(ids), noun)} ({examples}) {plural(len(ids), 'is', 'are')}"
