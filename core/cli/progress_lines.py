"""The lines that tell the progress of a run: one for each step of a phase, and the details of `--verbose`."""

from __future__ import annotations

from math import ceil
from urllib.parse import urlsplit

from core.config.knobs import Origin
from core.model.passage_urls import passage_at_url, site
from core.run import events as e
from core.run.state import Run


class PhaseLines:
    """What a run is about to do, as one line in square brackets.

    `batch` is the most texts of an embedding call. Pages are fetched and embedded while searches are still
    open, so totals are what is known by then, and grow.
    """

    def __init__(self, batch: int, *, then: str = "Generating answer...") -> None:
        self._batch = max(batch, 1)
        self._then = then
        self._texts = 0

    def line(self, event: e.Event, run: Run) -> str:
        """The line of an event, `run` being the state after it; empty when it begins nothing."""
        match event:
            case e.SearchStarted(query=query):
                where = "your documents" if run.knobs.search.origin is Origin.LIBRARY else "web"
                return f"[Searching {where} for '{query.text}'...]"
            case e.FetchStarted(url=url):
                return f"[Fetching article {len(run.fetching)}/{len(run.hits)}: {_host(url)}]"
            case e.EmbedStarted(batch=number, texts=texts):
                self._texts += texts
                waiting = max(len(run.passages) - self._texts, 0)
                return f"[Generating embeddings: batch {number}/{number + ceil(waiting / self._batch)}]"
            case e.Ranked(ranking=ranking):
                found = f"Found top {len(ranking.context)} most relevant chunks overall."
                return f"[{found} {self._then}".rstrip() + "]"
            case _:
                return ""


def warning(event: e.Event) -> str:
    """A search that failed, or an article that was not read; empty for any other event."""
    match event:
        case e.QueryFailed(query=query, message=message, hint=hint):
            return f"Warning: Search failed for query '{query.text}': {message} {hint}".rstrip()
        case e.PageSkipped(skip=skip):
            detail = f" ({skip.detail})" if skip.detail else ""
            return f"Warning: Failed to fetch article {skip.url}: {skip.reason}{detail}"
        case _:
            return ""


def detail(event: e.Event) -> str:
    """What an event brought, as one line; empty for events that are shown in another way."""
    match event:
        case e.QueryPlanned(query=query):
            return f"query    {query.text}"
        case e.SearchAnswered(query=query, reply=reply):
            silent = "".join(f"; {name} did not answer ({why})" for name, why in reply.silent)
            return f"search   {len(reply.results)} hits from {reply.backend} for “{query.text}”{silent}"
        case e.ModelRetry(phase=phase, retry=retry):
            return f"retry    {retry.reason} of {retry.server} ({phase}), retrying in {retry.seconds:.1f} s"
        case e.PageRead(page=page):
            kind = "snippet only" if page.snippet_only else page.article.extractor
            kind += f" ({page.article.fallback})" if page.article.fallback else ""
            return f"page     {page.title} · {site(page.url)} · {len(page.text):,} characters · {page.seconds:.2f} s · {kind}"
        case e.PageChunked(passages=passages):
            return f"chunked  {len(passages)} passages"
        case e.Embedded(passages=passages, reused=reused):
            return f"embedded {len(passages)} passages, {reused} from the cache"
        case e.Ranked(ranking=ranking):
            return f"ranked   {len(ranking.order)} passages by {ranking.strategy}, {len(ranking.context)} in the context"
        case e.Prompted(messages=messages, model=model):
            return f"prompted {model}, {sum(len(m.content) for m in messages):,} characters of prompt"
        case _:
            return ""


def counts(run: Run) -> str:
    """How far a run has come, in numbers."""
    return (
        f"{run.seconds:.1f} s · {len(run.pages)} pages, {len(run.skips)} skipped · "
        f"{len(run.live_cosine)} of {len(run.passages)} passages embedded"
    )


def _host(url: str) -> str:
    return site(url) if passage_at_url(url) else urlsplit(url).hostname or ""
