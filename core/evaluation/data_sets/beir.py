"""BEIR's layout (Thakur et al. 2021): corpus.jsonl, queries.jsonl, qrels/*.tsv. TREC's four columns are read too."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from core.errors import BadInput
from core.evaluation.data_sets.data_set import CorpusDocument, DataSet, Question
from core.evaluation.data_sets.lines import lines, objects, text_field
from core.evaluation.data_sets.source import STREAM_LIMIT, Source

SPLITS = ("test", "dev", "train")
"""Which file of qrels is taken when there are several: the first that is there."""
_GRADE = re.compile(r"-?[0-9]{1,9}")


def load(folder: Path) -> DataSet:
    """Only questions with judgements are in the data set: others belong to another split.

    Raises:
        BadInput: naming file and line.
        OSError: when a file cannot be read.
    """
    qrels = _qrels_file(folder)
    grades = _grades(qrels)
    queries = Source(folder / "queries.jsonl")
    texts = [
        (text_field(queries, number, value, "_id", "id"), text_field(queries, number, value, "text"))
        for number, value in objects(queries)
    ]
    missing = len(grades.keys() - dict(texts).keys())
    return DataSet(
        name=f"{folder.name} ({qrels.stem})",
        questions=tuple(
            Question(id=name, text=text, judgements=grades[name]) for name, text in texts if name in grades
        ),
        documents=lambda: _documents(Source(folder / "corpus.jsonl", limit=STREAM_LIMIT)),
        warnings=(f"{missing:,} judged questions are not in {queries.name}.",) if missing else (),
    )


def _documents(source: Source) -> Iterator[CorpusDocument]:
    for number, value in objects(source, in_memory=False):
        text, title = text_field(source, number, value, "text"), value.get("title")
        title = title if isinstance(title, str) else ""
        yield CorpusDocument(
            id=text_field(source, number, value, "_id", "id"),
            # As BEIR's own baselines have it. The judgements are of documents, so no offset is moved by this.
            text=f"{title}\n\n{text}" if title else text,
            title=title,
        )


def _qrels_file(folder: Path) -> Path:
    files = {file.stem: file for file in sorted((folder / "qrels").glob("*.tsv"))}
    qrels = next((files[split] for split in SPLITS if split in files), None)
    if qrels is None:
        raise BadInput(
            f"{folder} has no judgements.",
            hint="A folder in BEIR's layout has corpus.jsonl, queries.jsonl and qrels/test.tsv.",
        )
    return qrels


def _grades(path: Path) -> dict[str, dict[str, int]]:
    grades: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for number, line in lines(Source(path)):
        columns = line.split(None, 4)
        if number == 1 and not _GRADE.fullmatch(columns[-1]):
            continue  # the header
        if len(columns) not in (3, 4) or not _GRADE.fullmatch(columns[-1]):
            raise BadInput(
                f"{path.name}, line {number} is no judgement.",
                hint="Write question id, document id and grade, or TREC's four columns.",
            )
        grades[columns[0]][columns[-2]] = int(columns[-1])
    return dict(grades)
