"""The documents of a data set as pages, passages and vectors for the stages of a run."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from core.config.knobs import ChunkKnobs
from core.errors import BadInput
from core.features.evaluate.data_sets.data_set import DataSet, Tally
from core.model import Article, Index, Page, Passage
from core.model.passage_urls import document_url
from core.ports import Embed
from core.stages.chunk import folded, passages_of
from core.stages.embedding.language_choice import needs_multilingual
from core.stages.streams import collected, map_in_order, stream
from core.text.language import page_language

Vectors = NDArray[np.float32]
_DOCUMENTS, _QUESTIONS = 500, 100
"""How many documents and questions decide whether their languages differ."""
_WEB = re.compile(r"https?://[^\s/]", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """The passages of one chunking, and their documents."""

    pages: Mapping[str, Page]
    """The documents by id. Their languages and texts affect ranking and context, as in a run."""
    passages: tuple[Passage, ...]
    vectors: Vectors | None
    """One row for each passage, or None without passages or if all settings rank by BM25."""
    embedder: str
    embedder_languages: tuple[str, ...]

    def index(self, question: Vectors | None) -> Index:
        """Return the index of the passages, with vectors if the question has a vector."""
        vectors = None if question is None else self.vectors
        return Index(
            passages=self.passages,
            vectors=vectors,
            question=None if vectors is None else question,
            embedder=self.embedder,
            embedder_languages=self.embedder_languages,
        )


async def build_corpus(
    pages: Mapping[str, Page], chunk: ChunkKnobs, embed: Embed, *, vectors: bool = True, at_once: int = 1
) -> Corpus:
    """Chunk the documents and embed the passages, with at most `at_once` concurrent calls.

    Without `vectors` the embedder is not called.

    Raises:
        EmbedFailed: when passages cannot be embedded.
    """
    passages = await asyncio.to_thread(document_passages, pages, chunk)
    texts = [passage.text for passage in passages]

    async def call(start: int) -> Vectors:
        return (await embed(texts[start : start + embed.batch])).vectors

    starts = stream(range(0, len(texts) if vectors else 0, embed.batch))
    rows = await collected(map_in_order(starts, call, at_once=at_once))
    return Corpus(
        pages=pages,
        passages=passages,
        vectors=np.concatenate(rows) if rows else None,
        embedder=embed.identity,
        embedder_languages=tuple(sorted(embed.languages)),
    )


def document_pages(data: DataSet) -> dict[str, Page]:
    """Return a page for each document, by document id, with the detected language.

    Raises:
        BadInput: when a document cannot be used, or the documents are not those that were checked.
    """
    tally = Tally()
    pages = {
        document.id: Page(
            key=document.id,
            url=document.id if _WEB.match(document.id) else document_url(data.name, document.id),
            title=document.title or document.id,
            article=Article(
                text=document.text,
                extractor="",
                language=document.language or page_language("", document.text),
            ),
        )
        for document in map(tally.add, data.documents())
    }
    if data.counted not in (None, tally.contents):
        raise BadInput(
            f"The documents of {data.name} have changed since they were checked.",
            hint="Start again when nothing writes to them.",
        )
    return pages


def data_needs_multilingual(data: DataSet, multilingual: Embed | None) -> bool:
    """Return whether a run would embed most questions with the multilingual embedder.

    The first documents and some of the questions decide.

    Raises:
        BadInput: as `document_pages`.
    """
    if multilingual is None:
        return False
    first = replace(data, documents=lambda: islice(data.documents(), _DOCUMENTS), counted=None)
    pages = document_pages(first)
    passages = document_passages(pages, ChunkKnobs())
    questions = data.questions[:: len(data.questions) // _QUESTIONS + 1]
    return (
        sum(needs_multilingual(question.text, passages, pages, multilingual) for question in questions)
        > len(questions) / 2
    )


def document_passages(pages: Mapping[str, Page], knobs: ChunkKnobs) -> tuple[Passage, ...]:
    """Return the passages of all pages, merging passages with the same text."""
    return folded(passage for page in pages.values() for passage in passages_of(page, knobs))
