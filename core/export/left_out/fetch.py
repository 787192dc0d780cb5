"""Texts that were left out of a file, fetched again through the same guarded web as the pages of any run."""

import asyncio
from contextlib import suppress
from dataclasses import replace

from pydantic import TypeAdapter

from core.config.knobs import ReadKnobs
from core.errors import BadInput, ReadFailed
from core.export.left_out.digests import compared
from core.export.left_out.rewrite import Json, with_articles
from core.model import Article, Hit, Page, PassageState, TextDigests
from core.ports import Ports
from core.run import events as e
from core.run.recorded_run import RecordedRun
from core.stages.read import read
from core.stages.streams import collected, stream

DEADLINE = 60.0
"""Seconds for all pages together. The file's own limits are a stranger's, and do not count."""

_ARTICLE = TypeAdapter(Article)


async def fetch_texts(recorded: RecordedRun, ports: Ports) -> RecordedRun:
    """The run with the texts of its pages as far as they are the same today; each passage says what became of it.

    A page whose text has the digest of before is whole again. Of any other the passages that it still has are put where
    they were. Nothing is searched, ranked or answered.

    Raises:
        BadInput: when the run lacks no text.
    """
    run = recorded.run
    lacking = {key: page for key, page in run.pages.items() if page.lacks_text}
    if not lacking:
        raise BadInput("No texts were left out of this run.", hint="It can be read and ranked as it is.")
    hits = {hit.key: replace(hit, snippet="") for hit in run.hits}
    lacking_hits = [
        hits.get(key) or Hit(key=key, url=page.url, title=page.title, snippet="", found=(), score=0.0)
        for key, page in lacking.items()
    ]
    knobs = ReadKnobs(
        extractor=run.knobs.read.extractor,
        fresh=True,
        early_cut_percent=0,
        deadline=DEADLINE,
        page_timeout=15,
    )
    events: list[e.Event] = []
    with suppress(ReadFailed):  # then every page has its reason
        await collected(read(stream(lacking_hits), knobs, ports.web, ports.extract, events.append))
    fetched = {event.page.key: event.page.article for event in events if isinstance(event, e.PageRead)}
    reasons = {
        event.skip.key: f"{event.skip.reason}{event.skip.detail and f', {event.skip.detail}'}"
        for event in events
        if isinstance(event, e.PageSkipped)
    }

    def articles() -> dict[str, Article]:
        return {
            key: _found_again(page, fetched[key]) if key in fetched else _gone(page, reasons.get(key, ""))
            for key, page in lacking.items()
        }

    return await asyncio.to_thread(_with_articles, recorded, await asyncio.to_thread(articles))


def _with_articles(recorded: RecordedRun, articles: dict[str, Article]) -> RecordedRun:
    documents = {key: _ARTICLE.dump_python(article, mode="json") for key, article in articles.items()}

    def article_of(key: str, article: Json) -> Json:
        digests = article.get("digests")
        new = documents.get(key)
        if not new or not digests or new["digests"]["sha256"] != digests["sha256"]:
            return article  # of another reading of the page
        return new if len(new["text"]) == len(article["text"]) else article

    return with_articles(recorded, article_of)


def _found_again(page: Page, fetched: Article) -> Article:
    """The page's article with what it has in common with the one that was fetched."""
    digests, text = compared(_digests(page), len(page.text), fetched.text)
    own = replace(page.article, text=text, digests=digests)
    if not digests.whole:
        return own
    return replace(
        own,
        hidden=fetched.hidden,
        injection_signs=fetched.injection_signs,
        sections=fetched.sections,
        structures=fetched.structures,
        metadata=fetched.metadata,
    )


def _gone(page: Page, reason: str) -> Article:
    """The page's article after it could not be read. Passages that were fetched before stay."""
    digests = _digests(page)
    passages = tuple(
        passage if passage.here else replace(passage, state=PassageState.GONE) for passage in digests.passages
    )
    return replace(page.article, digests=replace(digests, passages=passages, problem=reason))


def _digests(page: Page) -> TextDigests:
    return page.article.digests or TextDigests(sha256="")
