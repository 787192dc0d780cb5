"""Collection passages as pages, through the `Web` and `Extract` ports."""

import json
import re

from core.config.knobs import ReadKnobs
from core.errors import LibraryFailed
from core.features.library.qdrant.payload import to_payload
from core.features.library.search_ports import SearchableCollections, title_of
from core.injection import injection_signs
from core.model import Article, Document, Extractor, LibraryPassage, SkipReason, Unreadable
from core.model.passage_urls import passage_at_url
from core.ports import Extract, Web
from core.text.markdown.safe_markdown import web_address
from core.text.sanitize import one_line

PASSAGE = "application/vnd.openquery.passage+json"
"""The media type of a passage's body: its fields as JSON."""

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]+)*")
"""The code of a language. Other tools also write its name."""


class CollectionFetcher:
    """The `Web` port for URLs of passages. All other URLs go to `web`."""

    def __init__(self, collections: SearchableCollections, web: Web) -> None:
        self._collections = collections
        self._web = web

    async def __call__(self, url: str, knobs: ReadKnobs) -> Document:
        """Return the body at a URL.

        Raises:
            Unreadable: when the passage was deleted, its database does not answer, or `web` fails.
        """
        return await self._passage(url) or await self._web(url, knobs)

    async def cached_page(self, url: str) -> Document | None:
        """Return the passage or the cached page at a URL, or None, without a request to the web."""
        if (document := await self._passage(url)) is not None:
            return document
        return await self._web.cached_page(url)

    async def _passage(self, url: str) -> Document | None:
        if (collection_and_id := passage_at_url(url)) is None:
            return None
        try:
            passage = await self._collections.get(*collection_and_id)
        except LibraryFailed as error:
            raise Unreadable(SkipReason.NETWORK, error.message) from error
        if passage is None:
            raise Unreadable(SkipReason.STATUS, "it is no longer in the collection")
        fields = {name: getattr(passage, name) for name in passage.__dataclass_fields__}
        fields["metadata"] = to_payload(passage)["metadata"]
        return Document(
            url=_web_url(passage) or url,
            status=200,
            media_type=PASSAGE,
            charset="utf-8",
            body=json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace"),
        )


class CollectionExtract:
    """The `Extract` port for passages, whose text is already extracted.

    All other documents go to `extract`.
    """

    def __init__(self, extract: Extract) -> None:
        self._extract = extract

    async def __call__(self, document: Document, extractor: Extractor) -> Article:
        """Return the article of a document.

        Raises:
            Unreadable: when a passage is empty, or `extract` fails.
        """
        if document.media_type != PASSAGE:
            return await self._extract(document, extractor)
        passage = LibraryPassage(**json.loads(document.body))
        if not passage.content.strip():
            raise Unreadable(SkipReason.EMPTY, "there is no text in it")
        return Article(
            text=passage.content,
            extractor="collection",
            title=title_of(passage),
            author=one_line(passage.author, 200),
            date=one_line(passage.created_at, 100),
            site=one_line(passage.source, 200),
            language=passage.language if _LANGUAGE.fullmatch(passage.language) else "",
            page_starts=(0,) if passage.page else (),
            first_page=passage.page or 1,
            sections=((0, section),) if (section := one_line(passage.section)) else (),
            injection_signs=injection_signs(passage.content),
            metadata=passage.metadata,
        )


def _web_url(passage: LibraryPassage) -> str:
    """Return the passage's web address, or "".

    Tools that load web pages store the address only as the source.
    """
    return web_address(passage.url) or web_address(passage.source)
