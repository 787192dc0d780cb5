"""SQuAD's layout (Rajpurkar et al. 2016, 2018): a paragraph is a document, an answer's sentence offset an excerpt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.errors import BadInput
from core.evaluation.data_sets import CorpusDocument, DataSet, Question

SIZE_LIMIT = 500_000_000
"""The largest file, in bytes: the layout is one JSON value, which cannot be read in parts."""


def load(path: Path) -> DataSet:
    """Questions with `is_impossible` have no answer in the data set.

    Raises:
        BadInput: naming the article and the question.
        OSError: when the file cannot be read.
    """
    if path.stat().st_size > SIZE_LIMIT:
        raise BadInput(
            f"{path.name} is larger than {SIZE_LIMIT:,} bytes.", hint="Use BEIR's layout, which is streamed."
        )
    try:
        articles = json.loads(path.read_text("utf-8-sig"))["data"]
        paragraphs = tuple(_paragraphs(articles))
        questions = tuple(_questions(path, paragraphs))
    except (KeyError, TypeError, AttributeError, RecursionError, json.JSONDecodeError) as error:
        raise BadInput(
            f"{path.name} is not in SQuAD's layout: {type(error).__name__} {error}.",
            hint="It needs data, paragraphs, context and qas.",
        ) from error
    documents = tuple(document for document, _ in paragraphs)
    return DataSet(name=path.stem, questions=questions, documents=lambda: iter(documents))


def _paragraphs(articles: list[Any]) -> Iterator[tuple[CorpusDocument, list[Any]]]:
    for place, article in enumerate(articles):
        title = str(article.get("title", place))
        for number, paragraph in enumerate(article["paragraphs"]):
            text = str(paragraph["context"])
            yield CorpusDocument(id=f"{place}-{number} {title}", text=text, title=title), paragraph["qas"]


def _questions(path: Path, paragraphs: tuple[tuple[CorpusDocument, list[Any]], ...]) -> Iterator[Question]:
    for document, entries in paragraphs:
        for entry in entries:
            name, given = str(entry["id"]), [] if entry.get("is_impossible") else entry["answers"]
            spans = [(str(one["text"]), int(one["answer_start"])) for one in given]
            for text, start in spans:
                if document.text[start : start + len(text)] != text:
                    raise BadInput(
                        f"{path.name}, question {name}: the answer {text[:60]!r} does not begin at {start}.",
                        hint="Correct answer_start, which counts characters from 0.",
                    )
            yield Question(
                id=name,
                text=str(entry["question"]),
                judgements={document.id: int(bool(spans))},
                excerpts=tuple(
                    dict.fromkeys((document.id, start, start + len(text)) for text, start in spans if text)
                ),
                answers=tuple(dict.fromkeys(text for text, _ in spans)),
            )
