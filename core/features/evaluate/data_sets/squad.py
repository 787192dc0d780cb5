"""SQuAD's layout (Rajpurkar et al. 2016, 2018).

A paragraph is a document, and an answer with its offset an excerpt.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.errors import BadInput
from core.features.evaluate.data_sets.data_set import CorpusDocument, DataSet, Question
from core.features.evaluate.data_sets.lines import FILE_VALUES
from core.features.evaluate.data_sets.source import Source
from core.text.lenient_json import count_values, valid_json


def load(path: Path) -> DataSet:
    """Load the data set. Questions with `is_impossible` have no answer.

    Raises:
        BadInput: naming the article and the question.
        OSError: when the file cannot be read.
    """
    with Source(path).open() as file:
        body = file.read()
    if count_values(body) > FILE_VALUES:
        raise BadInput(
            f"{path.name} has more than {FILE_VALUES:,} values.", hint="Use BEIR's layout, which is streamed."
        )
    try:
        paragraphs = tuple(_paragraphs(valid_json(body)["data"]))
        questions = tuple(_questions(path, paragraphs))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise BadInput(
            f"{path.name} is not in SQuAD's layout: {type(error).__name__} {error}.",
            hint="It needs data, paragraphs, context and qas.",
        ) from error
    documents = tuple(document for document, _ in paragraphs)
    return DataSet(name=path.stem, questions=questions, documents=lambda: iter(documents))


def _paragraphs(articles: list[Any]) -> Iterator[tuple[CorpusDocument, list[Any]]]:
    for place, article in enumerate(articles):
        title = _text(article.get("title", place))
        for number, paragraph in enumerate(article["paragraphs"]):
            text = _text(paragraph["context"])
            yield CorpusDocument(id=f"{place}-{number} {title}", text=text, title=title), paragraph["qas"]


def _questions(path: Path, paragraphs: tuple[tuple[CorpusDocument, list[Any]], ...]) -> Iterator[Question]:
    for document, entries in paragraphs:
        for entry in entries:
            name, answers = _text(entry["id"]), [] if entry.get("is_impossible") else entry["answers"]
            spans = [(_text(answer["text"]), answer["answer_start"]) for answer in answers]
            for text, start in spans:
                offset = isinstance(start, int) and 0 <= start <= len(document.text)
                if not offset or document.text[start : start + len(text)] != text:
                    raise BadInput(
                        f"{path.name}, question {name[:60]}: the answer {text[:60]!r} does not begin at {str(start)[:20]}.",
                        hint="Correct answer_start, which counts characters from 0.",
                    )
            yield Question(
                id=name,
                text=_text(entry["question"]),
                judgements={document.id: int(bool(spans))},
                excerpts=tuple(
                    dict.fromkeys((document.id, start, start + len(text)) for text, start in spans if text)
                ),
                answers=tuple(dict.fromkeys(text for text, _ in spans)),
            )


def _text(value: Any) -> str:
    """Return a value as text, converting a number. Raises TypeError for anything else."""
    if not isinstance(value, str | int):
        raise TypeError(f"{type(value).__name__} instead of a text")
    return str(value)
