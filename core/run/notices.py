"""Notices of a run: fallbacks, partial failures and doubts. Every interface shows this list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from core.model import (
    CAVEAT,
    GET_TEXTS,
    AnswerKind,
    Notice,
    Phase,
    Severity,
    SkipReason,
    is_left_out,
    snippet_numbers,
)
from core.model.passage_urls import collection_at_url
from core.text.display import embedder_name
from core.text.facts.claim_doubts import claim_doubts
from core.text.facts.named_facts import unsupported_figures
from core.text.language import dominant_language, language_name
from core.text.sanitize import one_line, plural, pluralize
from core.text.urls import domains, listed_domains, within

if TYPE_CHECKING:
    from core.run.run_values import RunValues

_AROUND = 1_000
"""The characters of a page before and after a source in which a name is looked for."""

NAMED = 5
"""The most engines, queries or numbers that a notice names."""

TIME_SKIPS = frozenset({SkipReason.CUT, SkipReason.DEADLINE, SkipReason.TIMEOUT})
"""Skip reasons about time, after which another fetch may succeed."""

_ORDER = {phase: place for place, phase in enumerate(Phase)}


def notices(run: RunValues) -> tuple[Notice, ...]:
    """Return the notices of a run in phase order. Duplicates are dropped.

    The error that ended the run is `run.error` and is not included.
    """
    unordered = (
        *_of_turn(run),
        *(Notice(phase=n.phase, severity=n.severity, message=n.message, hint=n.hint) for n in run.notes),
        *_of_search(run),
        *_of_reading(run),
        *_of_unread_parts(run),
        *_of_kept_blocks(run),
        *left_out_notices(run),
        *_of_embedding(run),
        *_of_sites(run),
        *_of_sections(run),
        *_of_answer(run),
    )
    return tuple(sorted(dict.fromkeys(unordered), key=lambda notice: _ORDER[notice.phase]))


def not_searched(unresponsive: Iterable[tuple[str, str]]) -> str:
    """Name the searched sources that did not answer, or return "".

    Sources are engines, collections and parts of a search.
    """
    reasons = dict(unresponsive)
    listed = [
        f"{name} ({reason.rstrip('.')})" if reason else name for name, reason in sorted(reasons.items())
    ]
    return f"Not searched: {_some(listed, '; ')}." if listed else ""


def passage_embedder(run: RunValues) -> str:
    """Return the name of the passages' embedder, or ""."""
    index = run.index
    return embedder_name(index.embedder) if index is not None and index.vectors is not None else ""


def _of_turn(run: RunValues) -> Iterator[Notice]:
    for note in (*(run.turn.notes if run.turn else ()), *(run.client.notes if run.client else ())):
        yield _info(Phase.PLAN, note)


def _info(phase: Phase, message: str, hint: str = "") -> Notice:
    return Notice(phase=phase, severity=Severity.INFO, message=message, hint=hint)


def _warning(phase: Phase, message: str, hint: str = "") -> Notice:
    return Notice(phase=phase, severity=Severity.WARNING, message=message, hint=hint)


def _of_search(run: RunValues) -> Iterator[Notice]:
    replies = run.replies.values()
    for answer in dict.fromkeys(answer for reply in replies for answer in reply.answers):
        hint = "These are the words of the search engine, and no source."
        yield _info(Phase.SEARCH, f"The search engine answers: “{answer}”", hint)
    for query, reply in run.replies.items():
        if reply.corrections:
            message = f"The search engine corrects “{query.text}” to {_quoted(reply.corrections)}."
            yield _info(Phase.SEARCH, message, "Ask again with these words.")
    if suggested := tuple(dict.fromkeys(query for reply in replies for query in reply.suggestions)):
        yield _info(Phase.SEARCH, f"The search engine suggests {_quoted(suggested)}.")
    failures: dict[tuple[str, str], list[str]] = {}
    for query, fault in run.search_faults.items():
        failures.setdefault((fault.message, fault.hint), []).append(f"'{query.text}'")
    for (message, hint), queries in failures.items():
        if run.error is None or message != run.error.message:
            failed = f"Search failed for {plural(len(queries), 'query')} {_some(queries)}"
            yield _warning(Phase.SEARCH, f"{failed}: {message}", hint)
    failed_search = run.error is not None and run.error.part == "search"
    unresponsive = not_searched(pair for reply in replies for pair in reply.unresponsive_engines)
    if unresponsive and not failed_search:  # otherwise the error names them
        yield _warning(Phase.SEARCH, unresponsive)


def _of_reading(run: RunValues) -> Iterator[Notice]:
    """Yield how many results were not read. Nothing is said before reading has ended. A majority makes it a warning."""
    reading = run.timeline.phases.get(Phase.READ)
    skips = run.skips.values()
    if not skips or reading is None or reading.end is None or (run.error and run.error.part == "read"):
        return
    reasons = Counter(str(skip.reason) for skip in skips)
    counts = ", ".join(f"{count:,} × {reason}" for reason, count in reasons.most_common())
    may_succeed = any(skip.reason in TIME_SKIPS for skip in skips)
    yield Notice(
        phase=Phase.READ,
        severity=Severity.WARNING if 2 * len(skips) > len(run.hits) else Severity.INFO,
        message=f"{len(skips):,} of {pluralize(len(run.hits), 'search result')} {plural(len(skips), 'was', 'were')} "
        f"not read: {counts}.",
        hint="A longer page timeout may help." if may_succeed else "",
    )


def _of_unread_parts(run: RunValues) -> Iterator[Notice]:
    """Yield which parts of the answer's sources were not read, such as pictures or the end of a long document."""
    pages = {source.passage.place.page: run.pages.get(source.passage.place.page) for source in run.sources}
    unread = [
        f"“{one_line(page.title or page.url, 80)}” ({one_line(page.article.left_out, 200)})"
        for page in pages.values()
        if page and page.article.left_out
    ]
    if unread:
        yield _info(
            Phase.READ, f"Parts of {pluralize(len(unread), 'source')} were not read: {_some(unread, '; ')}."
        )


def _of_kept_blocks(run: RunValues) -> Iterator[Notice]:
    """Yield notices for pages with manually kept blocks."""
    for page in run.pages.values():
        if count := len(page.article.kept):
            title = one_line(page.title or page.url, 80)
            yield _info(Phase.READ, f"{pluralize(count, 'block')} kept by hand on “{title}”.")


def left_out_notices(run: RunValues) -> Iterator[Notice]:
    """Yield notices about texts and answers left out."""
    if lacking := sum(page.lacks_text for page in run.pages.values()):
        yield _warning(
            Phase.READ,
            f"The {plural(lacking, 'text')} of {lacking:,} of {pluralize(len(run.pages), 'page')} "
            f"{plural(lacking, 'was', 'were')} left out of the file of this run. "
            "Their passages cannot be read, compared or ranked again.",
            GET_TEXTS,
        )
    if is_left_out(run.text):
        yield _info(
            Phase.ANSWER, "The answer quotes what others wrote, so it was left out of the file.", GET_TEXTS
        )


def _of_embedding(run: RunValues) -> Iterator[Notice]:
    """Yield notices about embedding.

    They name mixed languages, late vectors and passages without a vector. If no passage has a vector, BM25 ranks all of
    them, and a note of the stage says so.
    """
    if run.index is not None and run.index.vectors is not None and len(run.index.embedder_languages) > 1:
        question_language = dominant_language([run.question])
        languages = {page.article.language.lower()[:2] for page in run.pages.values()}
        languages -= {"", question_language}
        names = " and ".join(map(language_name, sorted(languages)))
        message = f"The question is in {language_name(question_language)}, and pages are in {names}: {passage_embedder(run)} read all of them."
        searched = any(map(collection_at_url, run.pages))
        hint = "Collections were searched by the embedder that they were ingested with." if searched else ""
        yield _info(Phase.EMBED, message, hint)
    if run.embedded_for_answer and run.index is not None:
        total, waiting = len(run.index.passages), len(run.index.waiting)
        yield _info(
            Phase.EMBED,
            f"When the context was chosen, {len(run.embedded_for_answer):,} of {pluralize(total, 'passage')} had a vector: "
            "those that could enter it.",
        )
        if waiting and not run.live:
            yield _info(
                Phase.EMBED,
                f"{waiting:,} of {pluralize(total, 'passage')} {plural(waiting, 'has', 'have')} no vector yet and "
                f"{plural(waiting, 'is', 'are')} ranked by words.",
            )
    is_noted = any(note.phase is Phase.EMBED for note in run.notes)
    if is_noted and run.index is not None and not run.index.not_embedded:
        return
    counts: Counter[tuple[str, str]] = Counter()
    for fault in run.embed_faults:
        counts[fault.message, fault.hint] += fault.texts
    for (message, hint), count in counts.items():
        passages = f"{count:,} of {pluralize(len(run.passages), 'passage')}"
        yield _warning(
            Phase.EMBED,
            f"{passages} {plural(count, 'is', 'are')} not ranked, for lack of a vector: {message}",
            hint,
        )


def _of_sites(run: RunValues) -> Iterator[Notice]:
    """Yield site filters, and whether they leave no passage."""
    only, without = run.knobs.rank.only_domains, run.knobs.rank.without_domains
    allowed, excluded = domains(only), domains(without)
    if run.queries and (allowed or excluded):
        parts = [
            only and f"only {', '.join(listed_domains(only))}",
            without and f"without {', '.join(listed_domains(without))}",
        ]
        yield _info(
            Phase.SEARCH, f"The search was narrowed to these sites: {'; '.join(filter(None, parts))}."
        )
    if not (only or without) or run.index is None or run.ranking is None or run.ranking.context:
        return
    pages = {passage.place.page for passage in run.index.passages}
    if pages and not any(
        (not allowed or within(page, allowed)) and not within(page, excluded) for page in pages
    ):
        sites = (
            f"the allowed sites ({only})" if allowed else f"sites other than the excluded ones ({without})"
        )
        yield _warning(
            Phase.RANK,
            f"No source is left: none of {pluralize(len(pages), 'page')} is of {sites}.",
            "Change “Only these sites” and “Excluded sites”, or search again with them.",
        )


def _of_sections(run: RunValues) -> Iterator[Notice]:
    """Yield which report sections were not researched, and why."""
    reasons = [f"“{one_line(part.question, 80)}” ({part.reason})" for part in run.sections if part.reason]
    if reasons:
        count = f"{len(reasons)} of {pluralize(len(run.sections), 'sub-question')}"
        yield _warning(
            Phase.ANSWER,
            f"{count} {plural(len(reasons), 'was', 'were')} not researched: {_some(reasons, '; ')}.",
            "Go on with the run to research them, with its budget anew.",
        )


def _of_answer(run: RunValues) -> Iterator[Notice]:
    """Yield doubts about the answer.

    They concern unknown sources, snippets, unsupported figures and names, and opposites. The last three are checked only in a
    complete answer.
    """
    is_task = run.client is not None and run.client.task is not None  # a task has no sources
    if run.answer is None or run.answer.kind is AnswerKind.NOT_FOUND or is_task:
        return
    has_snippets_only = run.pages and all(page.snippet_only for page in run.pages.values())
    is_doubted = any(note.message.startswith(CAVEAT) for note in run.notes)
    if run.answer.kind is AnswerKind.EXTRACTIVE and has_snippets_only and not is_doubted:
        reason = (
            "Only snippets of search results could be read, and a snippet seldom tells whether it answers."
        )
        yield _warning(Phase.ANSWER, f"{CAVEAT} {reason}", "Compare the answer with its sources.")
    counts = run.check.citation_counts
    if of_snippets := {
        number: counts[number] for number in sorted(snippet_numbers(run.sources)) if counts[number]
    }:
        count = sum(of_snippets.values())
        yield _warning(
            Phase.CHECK,
            f"{count:,} of {pluralize(counts.total(), 'citation')} {plural(count, 'is', 'are')} of a search engine's snippet, "
            f"not of a page: {_some(f'[{number}]' for number in of_snippets)}.",
            "A snippet is no source: open the page and compare.",
        )
    if run.check.unknown:
        numbers = _some([f"[{number}]" for number in run.check.unknown])
        yield _warning(Phase.CHECK, f"The answer cites {numbers}, but there is no source with that number.")
    may_doubt = run.answer.complete and not any(page.lacks_text for page in run.pages.values())
    doubts = unsupported_figures(run.check.sentences, run.sources) if may_doubt else ()
    for sentence, figures in doubts[:NAMED]:
        cited = "the sources it cites" if sentence.cites else "any source"
        yield _warning(
            Phase.CHECK,
            f"{_some(figures)} {plural(len(figures), 'is', 'are')} not in {cited}: “{one_line(sentence.text, 120)}”",
            "Compare the sentence with its sources.",
        )
    if may_doubt and run.answer.kind is not AnswerKind.EXTRACTIVE:  # quotations are the sources' own words
        yield from _of_claims(run)


def _of_claims(run: RunValues) -> Iterator[Notice]:
    """Yield doubts about names and about sentences that say the opposite of a cited source."""
    for doubt in claim_doubts(run.check.sentences, _texts_of_sources(run))[:NAMED]:
        said = one_line(doubt.sentence.text, 120)
        if doubt.names:
            message = f"{_some(doubt.names)} {plural(len(doubt.names), 'is', 'are')} not in the sources it cites: “{said}”"
        else:
            message = f"A cited source may say the opposite: “{said}”; the source: “{one_line(doubt.opposite, 120)}”"
        yield _warning(Phase.CHECK, message, "Compare the sentence with its sources.")


def _texts_of_sources(run: RunValues) -> tuple[tuple[int, str], ...]:
    """Return the number and the text of each source, with its title and its surroundings on the page."""
    texts = []
    for source in run.sources:
        place, page = source.place, run.pages.get(source.place.page)
        text = page.text[max(place.start - _AROUND, 0) : place.end + _AROUND] if page else source.text
        texts.append((source.number, f"{source.title}\n\n{text}"))
    return tuple(texts)


def _quoted(queries: Iterable[str]) -> str:
    return _some(f"“{query}”" for query in queries)


def _some(names: Iterable[str], separator: str = ", ") -> str:
    """Join the first `NAMED` names and the number of others."""
    listed = list(names)
    more = len(listed) - NAMED
    return separator.join(listed[:NAMED]) + (f" and {more:,} more" if more > 0 else "")
