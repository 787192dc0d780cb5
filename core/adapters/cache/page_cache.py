"""Cache pages and articles: a `Web` and an `Extract` port that reuse stored results."""

import hashlib
import time
from dataclasses import replace
from functools import cache as once
from importlib.metadata import version

from pydantic import TypeAdapter, ValidationError

from core import injection, reading
from core.adapters.cache.write_behind_cache import WriteBehindCache
from core.config.knobs import ReadKnobs
from core.model import Article, Document, Extractor
from core.ports import Extract, Web
from core.text.urls import canonical_url

PAGES, ARTICLES = "pages", "articles"

_ARTICLE = TypeAdapter(Article)


class CachedWeb:
    """A `Web` port over `web`, which is called only for pages without a fresh cached copy.

    Only complete replies are cached, and only for the time that their server allows. Keys are addresses, without a
    person's key or session.
    """

    def __init__(self, web: Web, cache: WriteBehindCache) -> None:
        self._web = web
        self._cache = cache

    async def __call__(self, url: str, knobs: ReadKnobs) -> Document:
        """Return the cached page while it is fresh, else fetch it. Raises `Unreadable`."""
        key = _page_key(url)
        if not knobs.fresh:
            cached = await self.cached_page(url)
            if cached and cached.max_age > 0 and len(cached.body) <= knobs.max_megabytes * 1_000_000:
                return cached
        document = await self._web(url, knobs)
        if document.max_age > 0:
            await self._cache.put_many(PAGES, {key: _document_to(document)})
        return document

    async def cached_page(self, url: str) -> Document | None:
        """Return the cached page, fresh or stale, or None."""
        stored = await self._cache.get_many(PAGES, [_page_key(url)])
        return next((_document_from(data) for data in stored.values()), None)


class CachedExtract:
    """An `Extract` port over `extract`, which is called only for documents without a cached article."""

    def __init__(self, extract: Extract, cache: WriteBehindCache) -> None:
        self._extract = extract
        self._cache = cache

    async def __call__(self, document: Document, extractor: Extractor) -> Article:
        """Return the cached article, else extract it. Raises `Unreadable`."""
        if document.kept:
            return await self._extract(document, extractor)
        key = _article_key(document, extractor)
        stored = await self._cache.get_many(ARTICLES, [key])
        if key in stored:
            try:
                return replace(_ARTICLE.validate_json(stored[key]), seconds=0.0)
            except ValidationError:
                pass  # another version: extracted again below, and replaced
        article = await self._extract(document, extractor)
        if article.fallback:
            return article  # the next run may have the time for the chosen extractor
        await self._cache.put_many(ARTICLES, {key: _ARTICLE.dump_json(article)})
        return article


def _page_key(url: str) -> str:
    """Build a page's key from scheme and canonical address.

    A page received unencrypted must not be used as received over TLS.
    """
    return f"{url.partition(':')[0].lower()} {canonical_url(url)}"


def _document_to(document: Document) -> bytes:
    until = time.time() + document.max_age
    fields = (document.url, str(document.status), document.media_type, document.charset or "", f"{until:.0f}")
    return "\t".join(fields).encode() + b"\n" + document.body


def _document_from(data: bytes) -> Document:
    head, _, body = data.partition(b"\n")
    url, status, media_type, charset, until = head.decode().split("\t")
    return Document(
        url=url,
        status=int(status),
        media_type=media_type,
        charset=charset or None,
        body=body,
        max_age=max(float(until) - time.time(), 0.0),
        from_cache=True,
    )


def _article_key(document: Document, extractor: Extractor) -> str:
    digest = hashlib.sha256(document.body)
    for part in (document.url, document.media_type, document.charset or "", extractor, _extractors()):
        digest.update(f"\0{part}".encode())
    return digest.hexdigest()


@once
def _extractors() -> str:
    """Return the versions that an article depends on. A new version causes a new extraction."""
    libraries = (f"{name} {version(name)}" for name in ("trafilatura", "resiliparse", "pypdfium2"))
    return " ".join((*libraries, f"reading {reading.EDITION}", f"suspicion {injection.EDITION}"))
