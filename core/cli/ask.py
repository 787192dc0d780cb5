"""`openquery ask`: progress on stderr, the streamed answer and its sources on stdout."""

from __future__ import annotations

import sys

from core.config.knobs import Knobs
from core.config.settings import Settings
from core.model import AnswerKind, Source
from core.model.passage_urls import passage_at_url, site
from core.pipeline import research
from core.run import events as e
from core.run.codec import run_to_json
from core.run.state import Run, RunStatus
from core.runtime.engine import Engine


async def answer_in_terminal(
    question: str, knobs: Knobs, settings: Settings, *, verbose: bool = False, as_json: bool = False
) -> int:
    """Answer a question in the terminal and return the exit code. With `as_json`, stdout has the run as JSON only."""
    async with Engine(settings) as engine:
        terminal = Terminal(verbose=verbose, stream=not as_json)
        run = await research(question, knobs, await engine.ports(knobs), terminal.show)
    if as_json:
        sys.stdout.buffer.write(run_to_json(run) + b"\n")
    else:
        terminal.finish(run)
    return run.error.exit_code if run.error else 0


class Terminal:
    """Prints events. Without `verbose`, progress is one line that is rewritten, if stderr is a terminal."""

    def __init__(self, *, verbose: bool, stream: bool) -> None:
        self._verbose = verbose
        self._stream = stream
        self._compact = not verbose and sys.stderr.isatty()

    def show(self, record: e.Record, run: Run) -> None:
        event = record.event
        if isinstance(event, e.TokensWritten):
            self._clear_progress()
            if self._stream:
                print(event.text, end="", flush=True)
        elif isinstance(event, e.Note):
            self._print(f"note: {event.message} {event.hint}".rstrip())
        elif isinstance(event, e.QueryFailed):
            self._print(f"note: “{event.query.text}” was not searched: {event.message} {event.hint}".rstrip())
        elif isinstance(event, e.BatchFailed):
            self._print(
                f"note: {event.texts} passages were not embedded: {event.message} {event.hint}".rstrip()
            )
        elif self._verbose and (line := _line(event)):
            self._print(f"{record.at:6.2f} s  {line}")
        elif self._compact and not run.text:
            print(f"\r\033[K{_progress(run)}", end="", file=sys.stderr, flush=True)

    def finish(self, run: Run) -> None:
        self._clear_progress()
        if run.text:
            print()
        if run.error:
            partial = " The part written before is above." if run.text else ""
            print(f"openquery: {run.error.message} {run.error.hint}{partial}".rstrip(), file=sys.stderr)
        if run.check.unknown:
            numbers = ", ".join(f"[{number}]" for number in run.check.unknown)
            print(f"note: no source has the number {numbers}.", file=sys.stderr)
        if run.sources and run.answer and run.answer.kind is not AnswerKind.NOTHING:
            print("\nSources")
            for source in run.sources:
                mark = "*" if source.number in run.check.cited else " "
                print(f"{mark}[{source.number}] {source.title}\n     {_where(source)}")
        if run.status is RunStatus.DONE:
            self._print(_summary(run))

    def _print(self, line: str) -> None:
        self._clear_progress()
        print(line, file=sys.stderr)

    def _clear_progress(self) -> None:
        if self._compact:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _progress(run: Run) -> str:
    return (
        f"{run.seconds:.1f} s · {len(run.queries)} queries · {len(run.hits)} hits · "
        f"{len(run.pages)} pages, {len(run.skips)} skipped · {len(run.live_cosine)} of {len(run.passages)} "
        "passages embedded"
    )


def _summary(run: Run) -> str:
    authors = {AnswerKind.WRITTEN: "written by {}", AnswerKind.EXTRACTIVE: "extractive: quoted sentences"}
    answer = run.answer
    by = authors.get(answer.kind, "nothing relevant found").format(answer.model) if answer else ""
    used = run.usage
    tokens = f" · {used.prompt_tokens}+{used.completion_tokens} tokens" if used else ""
    return f"{run.seconds:.1f} s · searched by {run.backend} · {len(run.pages)} pages · {by}{tokens}"


def _line(event: e.Event) -> str:
    """An event as one line; empty for events that are shown in another way."""
    match event:
        case e.QueryPlanned(query=query):
            return f"query    {query.text}"
        case e.SearchAnswered(query=query, reply=reply):
            silent = "".join(f"; {name} did not answer ({why})" for name, why in reply.silent)
            return f"search   {len(reply.results)} hits from {reply.backend} for “{query.text}”{silent}"
        case e.PageRead(page=page):
            kind = "snippet only" if page.snippet_only else page.article.extractor
            return f"page     {page.title} · {site(page.url)} · {len(page.text):,} characters · {page.seconds:.2f} s · {kind}"
        case e.PageSkipped(skip=skip):
            return f"skipped  {skip.url} · {skip.reason}{f': {skip.detail}' if skip.detail else ''}"
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


def _where(source: Source) -> str:
    """The address to open, or the collection and the file that a passage comes from."""
    named = passage_at_url(source.url)
    return f"{source.site} in the collection {named[0]}" if named else source.url
