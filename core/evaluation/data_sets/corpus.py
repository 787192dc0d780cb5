"""The documents of a data set as the pages and passages that the stages of a run take."""

from __future__ import annotations

from collections.abc import Mapping

from core.config.knobs import ChunkKnobs
from core.evaluation.data_sets.data_set import DataSet
from core.model import Article, Page, Passage
from core.stages.chunk import folded, passages_of
from core.text.language import page_language


def document_pages(data: DataSet) -> dict[str, Page]:
    """A page for each document, by the document's id, in the language that a run would find for it.

    Raises:
        BadInput: when a document cannot be used.
    """
    return {
        document.id: Page(
            key=document.id,
            url=document.id,
            title=document.title or document.id,
            article=Article(
                text=document.text,
                extractor="",
                language=document.language or page_language("", document.text),
            ),
        )
        for document in data.documents()
    }


def document_passages(pages: Mapping[str, Page], knobs: ChunkKnobs) -> tuple[Passage, ...]:
    """The passages of all pages; those with the same text are one, with all of its places."""
    return folded(passage for page in pages.values() for passage in passages_of(page, knobs))
