"""Data sets: documents, and questions with graded documents or marked excerpts. One loader for several layouts.

| layout | found by |
|---|---|
| BEIR | a folder with `corpus.jsonl`, `queries.jsonl` and `qrels/*.tsv` |
| SQuAD | a `.json` file with `data`, versions 1 and 2 |
| excerpts | a `.csv` file with the columns question, excerpt and source; a source is a text file beside it |
| suite | a `.zip` file with documents, questions and results, which `core.evaluation.data_sets.suite` writes |

Documents are read from the file each time that they are asked for, so a corpus need not fit into memory. What a
message calls a line is counted from 1.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from core.errors import BadInput
from core.evaluation.data_sets import beir, excerpt_csv, squad, suite
from core.evaluation.data_sets.data_set import DataSet, Question
from core.text.sanitize import plural, pluralize

EXAMPLES = 3
"""The most ids that a warning names."""
GRADE_LIMIT = 100
"""The highest grade, far above that of any scale in use; gains stay numbers."""


def load_data_set(path: Path, name: str = "") -> DataSet:
    """The data set at a path, checked: every document is read once. Without a `name` it is called as its file is.

    Raises:
        BadInput: when the layout is not known, or a file cannot be used; the message names file and line.
    """
    try:
        if path.is_dir():
            data = beir.load(path)
        elif path.suffix.lower() == ".csv":
            data = excerpt_csv.load(path)
        elif path.suffix.lower() == ".json":
            data = squad.load(path)
        elif path.suffix.lower() == suite.SUITE:
            data = suite.load(path)
        else:
            raise BadInput(
                f"No data set is known that looks like {path}.",
                hint="Name a folder in BEIR's layout (corpus.jsonl, queries.jsonl, qrels), a SQuAD file (.json), a "
                ".csv with the columns question, excerpt and source, or a .zip of openquery eval freeze.",
            )
        return _checked(replace(data, name=name or data.name))
    except FileNotFoundError as error:
        raise BadInput(f"{error.filename} is not there.", hint="Check the path of the data set.") from error
    except (OSError, UnicodeError) as error:
        raise BadInput(f"{path} cannot be read: {error}.", hint="Check the file.") from error


def _checked(data: DataSet) -> DataSet:
    """The data set with warnings. Raises `BadInput` for ids that stand twice, and for one without questions."""
    twice = [name for name, count in Counter(question.id for question in data.questions).items() if count > 1]
    if twice:
        raise BadInput(
            f"{data.name}: {_named(twice, 'question id')} there more than once.", hint="Make ids unique."
        )
    if not data.questions:
        raise BadInput(f"{data.name} has no questions.", hint="Check that it is complete.")
    lengths: dict[str, int] = {}
    empty: list[str] = []
    for document in data.documents():
        if document.id in lengths:
            raise BadInput(
                f"{data.name}: the document id {document.id!r} is there twice.", hint="Make ids unique."
            )
        lengths[document.id] = len(document.text)
        if not document.text.strip():
            empty.append(document.id)
    for question in data.questions:
        _check_judgements(data.name, question, lengths)
    judged = {name for question in data.questions for name in question.judgements}
    warnings = (
        (sorted(judged - lengths.keys()), "judged document", "not among the documents"),
        (empty, "document", "without text"),
    )
    messages = tuple(f"{_named(names, noun)} {problem}." for names, noun, problem in warnings if names)
    return replace(data, warnings=(*data.warnings, *messages))


def _check_judgements(name: str, question: Question, lengths: Mapping[str, int]) -> None:
    """Raises `BadInput` for a grade that is none, or an excerpt that is not in its document."""
    if any(abs(grade) > GRADE_LIMIT for grade in question.judgements.values()):
        raise BadInput(
            f"{name}, question {question.id[:60]}: a grade is beyond {GRADE_LIMIT}.",
            hint="Use small whole numbers.",
        )
    for document, start, end in question.excerpts:
        if not 0 <= start < end <= lengths.get(document, 0):
            raise BadInput(
                f"{name}, question {question.id[:60]}: the excerpt from {start} to {end} is not in the document "
                f"{document[:60]!r}.",
                hint="Offsets count the characters of the document's text from 0.",
            )


def _named(ids: Iterable[str], noun: str) -> str:
    """`2 documents (a, b) are`, with a few of the ids."""
    ids = list(ids)
    examples = ", ".join(name[:60] for name in ids[:EXAMPLES]) + (", …" if len(ids) > EXAMPLES else "")
    return f"{pluralize(len(ids), noun)} ({examples}) {plural(len(ids), 'is', 'are')}"
