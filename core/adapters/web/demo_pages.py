"""The demo library's pages: the handbook's articles as HTML, without any network."""

import asyncio
import html
import re
from pathlib import Path

from markdown_it import MarkdownIt

from core.adapters.web.safe_url import check_url
from core.config.knobs import ReadKnobs
from core.model import Document, SkipReason, Unreadable
from core.ports import Web

DEMO_HOST = "handbook.openquery.example"
"""A reserved name (RFC 2606): nobody can ever own it, so no real page is hidden."""

SITE = "OpenQuery Handbook"
EDITION = "2026-11-21"
_SLUG = re.compile(r"/([a-z0-9-]{1,80})(?:\.html)?")
_SEE_ALSO = re.compile(r"\n+See also:(.*)\s*\Z")


def demo_url(slug: str) -> str:
    """Return the address of a demo library article."""
    return f"https://{DEMO_HOST}/{slug}"


class DemoWeb:
    """A `Web` port over a folder of Markdown articles: `https://<DEMO_HOST>/<slug>` is `<slug>.md`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._markdown = MarkdownIt("commonmark", {"html": False}).enable("table")

    async def __call__(self, url: str, knobs: ReadKnobs) -> Document:
        """Return an article as HTML.

        Raises:
            Unreadable: STATUS for an unknown article.
        """
        slug = _SLUG.fullmatch(check_url(url).path.partition("?")[0].rstrip("/"))
        path = self._folder / f"{slug[1]}.md" if slug else None
        if path is None or not path.is_file():
            raise Unreadable(SkipReason.STATUS, "HTTP 404 Not Found")
        source = await asyncio.to_thread(path.read_text, "utf-8")
        return Document(
            url=demo_url(path.stem),
            status=200,
            media_type="text/html",
            charset="utf-8",
            body=self._page(path.stem, source).encode(),
        )

    async def cached_page(self, url: str) -> Document | None:
        """Return the article, which needs no network. Raises `Unreadable`."""
        return await self(url, ReadKnobs())

    def _page(self, slug: str, source: str) -> str:
        heading, _, rest = source.partition("\n")
        title = html.escape(heading.removeprefix("# ").strip())
        match = _SEE_ALSO.search(rest)
        article = self._markdown.render(rest[: match.start()] if match else rest)
        related = self._markdown.renderInline(_as_addresses(match[1].strip())) if match else ""
        return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title} | {SITE}</title>
<link rel="canonical" href="{demo_url(slug)}">
<meta name="author" content="The OpenQuery authors">
<meta property="og:title" content="{title}">
<meta property="og:type" content="article">
<meta property="og:site_name" content="{SITE}">
<meta property="article:published_time" content="{EDITION}">
</head>
<body>
<header><nav><a href="/">{SITE}</a> <a href="/search">Search</a> <a href="/about">About</a></nav>
<p class="byline">By The OpenQuery authors, <time datetime="{EDITION}">{EDITION}</time></p></header>
<main>
<article>
<h1>{title}</h1>
{article}</article>
<aside><h2>See also</h2><p>{related}</p></aside>
</main>
<footer><p>The demo library of OpenQuery: short articles about retrieval.</p></footer>
</body>
</html>
"""


class RoutedWeb:
    """A `Web` port that sends demo addresses to the demo library and all others to the web."""

    def __init__(self, demo: Web, web: Web) -> None:
        self._demo = demo
        self._web = web

    async def __call__(self, url: str, knobs: ReadKnobs) -> Document:
        """Fetch a page from the demo library or the web. Raises `Unreadable`."""
        return await self._web_of(url)(url, knobs)

    async def cached_page(self, url: str) -> Document | None:
        """Return a page that needs no network, or None. It is from the demo library or a cache."""
        return await self._web_of(url).cached_page(url)

    def _web_of(self, url: str) -> Web:
        is_demo = re.match(rf"(?i)https?://{re.escape(DEMO_HOST)}(?:[/?#]|$)", url)
        return self._demo if is_demo else self._web


def _as_addresses(markdown: str) -> str:
    """Replace links between articles by links between pages."""
    return re.sub(r"\(([a-z0-9-]+)\.md\)", lambda match: f"({demo_url(match[1])})", markdown)
