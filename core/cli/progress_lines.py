"""Lines of a run's progress: phase steps, and the details of `--verbose`."""

from collections.abc import Iterable
from math import ceil
from urllib.parse import urlsplit

from core.analysis.progress import PhaseProgress, PhaseState
from core.analysis.run_activity import current_activity
from core.analysis.steps import step_rows
from core.config.knobs import SearchScope
from core.model.passage_urls import passage_at_url, site
from core.run import events as e
from core.run.state import Run
from core.run.step_events import StepEnded, StepStarted
from core.text.sanitize import one_line, pluralize


class PhaseLines:
    """The next step of a run, as a line in square brackets.

    `batch` is the most texts of an embedding call. Pages are fetched and embedded while searches are still open, so
    totals are preliminary and grow.
    """

    def __init__(self, batch: int, *, last_step: str = "Generating answer...") -> None:
        self._batch = max(batch, 1)
        self._last_step = last_step
        self._texts = 0

    def line(self, event: e.Event, run: Run) -> str:
        """Return the line of an event, or "" if it starts nothing. `run` is the state after it."""
        match event:
            case StepStarted():
                *_, row = step_rows(run)
                return f"[Step {row.number}: {row.tool} {row.argument}...]"
            case e.SearchStarted(query=query):
                where = "your documents" if run.knobs.search.origin is SearchScope.LIBRARY else "web"
                return f"[Searching {where} for '{query.text}'...]"
            case e.FetchStarted(url=url):
                return f"[Fetching article {len(run.fetching)}/{len(run.hits)}: {_host(url)}]"
            case e.ModelRetry():
                return f"[{current_activity(run, run.seconds)}]"
            case e.EmbedStarted(batch=number, texts=texts):
                self._texts += texts
                waiting = max(len(run.passages) - self._texts, 0)
                return f"[Generating embeddings: batch {number}/{number + ceil(waiting / self._batch)}]"
            case e.Ranked(ranking=ranking):
                context_size = f"Found top {len(ranking.context)} most relevant chunks overall."
                return f"[{context_size} {self._last_step}".rstrip() + "]"
            case _:
                return ""


def detail(event: e.Event) -> str:
    """Return the result of an event on one line, or "" for other events."""
    match event:
        case StepEnded(number=number, result=result, size=size, error=error):
            outcome = f"failed: {one_line(result, 120)}" if error else pluralize(size, "result")
            return f"step     {number} {outcome}"
        case e.QueryPlanned(query=query):
            return f"query    {query.text}"
        case e.SearchAnswered(query=query, reply=reply):
            return f"search   {pluralize(len(reply.results), 'hit')} from {reply.backend} for “{query.text}”"
        case e.QueryFailed(query=query):
            return f"search   failed for “{query.text}”"
        case e.BatchFailed(texts=texts):
            return f"embed    failed for {pluralize(texts, 'passage')}"
        case e.PageSkipped(skip=skip):
            why = f" ({skip.detail})" if skip.detail else ""
            return f"Warning: Failed to fetch article {skip.url}: {skip.reason}{why}"
        case e.ModelRetry(phase=phase, retry=retry):
            return f"retry    {retry.reason} of {retry.server} ({phase}), retrying in {retry.seconds:.1f} s"
        case e.PageRead(page=page):
            kind = "snippet only" if page.snippet_only else page.article.extractor
            kind += f" ({page.article.fallback})" if page.article.fallback else ""
            length = pluralize(len(page.text), "character")
            return f"page     {page.title} · {site(page.url)} · {length} · {page.seconds:.2f} s · {kind}"
        case e.PageChunked(passages=passages):
            return f"chunked  {pluralize(len(passages), 'passage')}"
        case e.Embedded(passages=passages, reused=reused):
            return f"embedded {pluralize(len(passages), 'passage')}, {reused:,} from the cache"
        case e.Ranked(ranking=ranking):
            ranked = f"{pluralize(len(ranking.order), 'passage')} by {ranking.strategy}"
            return f"ranked   {ranked}, {len(ranking.context)} in the context"
        case e.Prompted(messages=messages, model=model):
            characters = sum(len(message.content) for message in messages)
            return f"prompted {model}, {pluralize(characters, 'character')} of prompt"
        case _:
            return ""


def counts(run: Run) -> str:
    """Return the progress of a run in numbers."""
    return (
        f"{run.seconds:.1f} s · {pluralize(run.full_pages, 'page')}, {len(run.skips):,} skipped · "
        f"{len(run.live_cosine):,} of {pluralize(len(run.passages), 'passage')} embedded"
    )


def phase_times(phases: Iterable[PhaseProgress]) -> str:
    """Return a line on the phases of an ended run: seconds, retry waits, and troubles."""
    parts = []
    for step in phases:
        seconds = "not started" if step.seconds is None else f"{step.seconds:.1f} s"
        waited = f" + {step.waited:.1f} s waiting" if step.waited >= 0.05 else ""
        trouble = "" if step.state in (PhaseState.DONE, PhaseState.WAITING) else f" ({step.state})"
        parts.append(f"{step.title} {seconds}{waited}{trouble}")
    return f"phases   {' · '.join(parts)}"


def _host(url: str) -> str:
    return site(url) if passage_at_url(url) else urlsplit(url).hostname or ""
