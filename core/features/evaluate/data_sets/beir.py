"""BEIR's layout (Thakur et al. 2021): corpus.jsonl, queries.jsonl, qrels/*.tsv. Or MS MARCO's: collection.tsv, queries.tsv.

`judgements` reads the qrels.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, NoReturn

from core.errors import BadInput
from core.features.evaluate.data_sets.data_set import CorpusDocument, DataSet, Question
from core.features.evaluate.data_sets.judgements import read_judgements
from core.features.evaluate.data_sets.lines import lines, objects, text_field
from core.features.evaluate.data_sets.source import STREAM_LIMIT, Source
from core.text.sanitize import plural, pluralize

FILES = ("corpus.jsonl", "queries.jsonl")
_NAMES = (
    ("corpus.jsonl", "collection.jsonl", "documents.jsonl", "corpus.tsv", "collection.tsv"),
    ("queries.jsonl", "topics.jsonl", "queries.tsv", "topics.tsv"),
)
"""The names of the files of documents and of questions, in order of preference."""
_IDS = (("_id", "id", "docid", "doc_id", "docno", "pid"), ("_id", "id", "qid", "query_id", "query-id"))
_TEXTS = (("text", "contents", "body", "passage"), ("text", "query", "question"))
"""The names of their fields, also BEIR's first."""
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
    corpus, queries = _files(files, name)
    split, qrels = _qrels_file(files, name)
    judgements = read_judgements(qrels)
    grades = judgements.grades
    texts = [
        (text_field(queries, number, value, *_IDS[1]), text_field(queries, number, value, *_TEXTS[1]), number)
        for number, value in _records(queries, _IDS[1], _TEXTS[1])
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


def is_complete(files: Mapping[str, Source]) -> bool:
    """Return whether there are files of documents and of questions."""
    return all(any(name in files for name in names) for names in _NAMES)


def _files(files: Mapping[str, Source], folder: str) -> tuple[Source, Source]:
    corpus, queries = (
        next((files[name] for name in names if name in files), None) or _missing(files, folder, file)
        for names, file in zip(_NAMES, FILES, strict=True)
    )
    return corpus, queries


def _missing(files: Mapping[str, Source], folder: str, file: str) -> NoReturn:
    part = file.removesuffix(".jsonl")
    in_parts = any(name.startswith(f"{part}/") for name in files)
    raise BadInput(
        f"{folder} has no {file}.",
        hint=f'Its Parquet file is in parts. Join them: pandas.concat(map(pandas.read_parquet, glob("{part}/*.parquet")))'
        f'.to_parquet("{part}.parquet").'
        if in_parts
        else "Check the path of the data set, and that it is complete.",
    )


def _records(
    source: Source, ids: Sequence[str], texts: Sequence[str]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a file: its lines, or id, title and text of its rows, which tabs divide.

    A first row that names the columns is none.
    """
    if source.suffix == ".jsonl":
        yield from objects(source, in_memory=False)
        return
    names: list[str] = []
    for number, line in lines(source):
        cells = line.split("\t")
        if not names:
            names = [cell.strip().lower() for cell in cells]
            if set(ids) & set(names) and set(texts) & set(names):
                continue
            names = [ids[0], "title", texts[0]] if len(cells) > 2 else [ids[0], texts[0]]
        yield number, dict(zip(names, cells, strict=False))


def _documents(source: Source) -> Iterator[CorpusDocument]:
    for number, value in _records(source, _IDS[0], _TEXTS[0]):
        text, title = text_field(source, number, value, *_TEXTS[0]), value.get("title")
        title = title if isinstance(title, str) else ""
        yield CorpusDocument(
            id=text_field(source, number, value, *_IDS[0]),
            # Joined like in BEIR's own baselines. Judgements refer to documents, so no offset is shifted.
            text=f"{title}\n\n{text}" if title else text,
            title=title,
        )


def _qrels_file(files: Mapping[str, Source], folder: str) -> tuple[str, Source]:
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
