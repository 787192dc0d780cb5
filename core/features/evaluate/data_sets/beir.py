"""BEIR's layout (Thakur et al. 2021): corpus.jsonl, queries.jsonl, qrels/*.tsv.

`judgements` reads the qrels.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from core.errors import BadInput
from core.features.evaluate.data_sets.data_set import CorpusDocument, DataSet, Question
from core.features.evaluate.data_sets.judgements import read_judgements
from core.features.evaluate.data_sets.lines import objects, text_field
from core.features.evaluate.data_sets.source import STREAM_LIMIT, Source
from core.text.sanitize import plural, pluralize

FILES = ("corpus.jsonl", "queries.jsonl")
SPLITS = ("test", "dev", "train")
"""The splits in order of preference: the first existing file of qrels is used."""
_QRELS = ("qrels/", "qrels.")
_TABLES = (".tsv", ".csv", ".txt", ".qrels", ".jsonl", ".json")


def load(files: Mapping[str, Source], name: str) -> DataSet:
    """Load the questions with judgements, and the documents.

    Questions without judgements belong to another split.

    Raises:
        BadInput: naming file and line.
        OSError: when a file cannot be read.
    """
    for file in FILES:
        if file not in files:
            packed = f"{file}.gz" in files
            raise BadInput(
                f"{name} has no {file}.",
                hint=f"Unpack {file}.gz."
                if packed
                else "Check the path of the data set, and that it is complete.",
            )
    split, qrels = _qrels_file(files, name)
    judgements = read_judgements(qrels)
    grades = judgements.grades
    corpus, queries = (files[file] for file in FILES)
    texts = [
        (text_field(queries, number, value, "_id", "id"), text_field(queries, number, value, "text"), number)
        for number, value in objects(queries)
    ]
    missing = len(grades.keys() - {name for name, _, _ in texts})
    unknown = [
        f"{pluralize(missing, 'judged question')} {plural(missing, 'is', 'are')} not in {queries.name}."
    ]
    unknown = unknown if missing else []
    return DataSet(
        name=f"{name} ({split})",
        questions=tuple(
            Question(id=name, text=text, judgements=grades[name], line=number)
            for name, text, number in texts
            if name in grades
        ),
        documents=lambda: _documents(replace(corpus, limit=STREAM_LIMIT)),
        questions_file=queries,
        warnings=(*judgements.warnings, *unknown),
    )


def _documents(source: Source) -> Iterator[CorpusDocument]:
    for number, value in objects(source, in_memory=False):
        text, title = text_field(source, number, value, "text"), value.get("title")
        title = title if isinstance(title, str) else ""
        yield CorpusDocument(
            id=text_field(source, number, value, "_id", "id"),
            # Joined like in BEIR's own baselines. Judgements refer to documents, so no offset is shifted.
            text=f"{title}\n\n{text}" if title else text,
            title=title,
        )


def _qrels_file(files: Mapping[str, Source], folder: str) -> tuple[str, Source]:
    """Return the split and its file."""
    qrels = {
        PurePosixPath(name).stem: name
        for suffix in reversed(_TABLES)
        for name in files
        if name.startswith(_QRELS) and name.endswith(suffix)
    }
    for split in SPLITS:
        if split in qrels:
            return split, files[qrels[split]]
    if len(qrels) == 1:  # as in `qrels/validation.tsv`, or `qrels.txt` of TREC's tools beside the documents
        ((split, name),) = qrels.items()
        return split, files[name]
    if qrels:
        raise BadInput(
            f"{folder} has {pluralize(len(qrels), 'file')} of judgements: {', '.join(sorted(qrels.values())[:9])}.",
            hint="Name the one to use qrels/test.tsv.",
        )
    raise BadInput(
        f"{folder} has no judgements.",
        hint="A folder in BEIR's layout has corpus.jsonl, queries.jsonl and qrels/test.tsv.",
    )
