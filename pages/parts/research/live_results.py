"""Live results: queries, hits, articles, the best passages so far."""

from functools import partial

import streamlit as st
from htpy import Element, Node, b, bdi, div, li, p, span, ul

from core.analysis.progress import (
    MOST_BEST,
    HitProgress,
    PageOutcome,
    best_so_far,
    hit_progress,
    missing_hits,
    retriable,
)
from core.model import Author, Page
from core.model.passage_urls import site
from core.run.run_ids import is_link
from core.run.state import Run
from core.text.display import decimal
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import pluralize
from pages.parts import markup, runtime, widgets
from pages.parts.passage_reader import with_structures
from pages.parts.sidebar import controls

TONES = 8
"""Number of colours for sites' initials."""
MAX_HITS = 60
MAX_ARTICLES = 60
BEST_CHARACTERS = 260
SHOWN_CHARACTERS = 20_000
"""Characters of an opened article to send to the browser."""

OUTCOMES = {
    PageOutcome.QUEUED: ("schedule", "waiting", "wait"),
    PageOutcome.FETCHING: ("downloading", "fetching", "busy"),
    PageOutcome.UNREAD: ("remove_circle", "not read", "wait"),
    PageOutcome.READ: ("check_circle", "read", "good"),
    PageOutcome.SNIPPET: ("short_text", "snippet only", "warn"),
    PageOutcome.SKIPPED: ("block", "skipped", "bad"),
}


def live(run: Run) -> None:
    """Draw the current queries and hits in a scrolling list. Hits have their outcome."""
    if not run.queries:
        text = "Writing search queries …" if run.live else "The run ended before a query was written."
        text = "Nothing is searched before the plan is approved." if run.waits_for_approval else text
        markup.show_empty(text, "edit_note")
        return
    progress = hit_progress(run)
    feed = (
        markup.region("oq-feed live", "Search hits")[map(_row, progress[:MAX_HITS])]
        if progress
        else markup.empty(missing_hits(run), "travel_explore")
    )
    markup.show(query_chips(run), feed)


def best_passages(run: Run) -> Node:
    """Return the first passages of the context, before the ranking the best embedded ones. Empty before any."""
    if run.sources:
        context = [
            div(".oq-best")[
                b[str(source.number)], p[source.passage.text[:BEST_CHARACTERS]], span[site(source.url)]
            ]
            for source in run.sources[:MOST_BEST]
        ]
        return [markup.section_heading("Passages in the context", "in their order"), *context]
    rows = [
        div(".oq-best")[b[decimal(cosine, 2)], markup.meter(cosine), p[text[:BEST_CHARACTERS]], span[site]]
        for cosine, text, site in best_so_far(run)
    ]
    return rows and [
        markup.section_heading("Best passages so far", "cosine similarity to the question"),
        *rows,
    ]


def hits(run: Run) -> None:
    """Draw the hits with their queries, ranks and engines."""
    progress = hit_progress(run)
    if not progress:
        markup.show(query_chips(run), markup.empty(missing_hits(run), "search_off"))
        return
    more = len(progress) - MAX_HITS
    markup.show(
        query_chips(run),
        div(".oq-feed")[(_hit(run, line) for line in progress[:MAX_HITS])],
        more > 0 and markup.empty(f"{pluralize(more, 'more hit', 'more hits')} not shown."),
    )


def query_chips(run: Run) -> Element:
    """Return the search queries with number, state and result count."""
    chips = []
    for number, query in enumerate(run.queries, 1):
        state = (
            "bad" if query in run.search_faults else "busy" if run.live and query not in run.replies else ""
        )
        count = f" · {len(run.replies[query].results)}" if query in run.replies else ""
        by = " (your question)" if query.author is Author.QUESTION else ""
        chips.append(markup.chip([f"Q{number} ", bdi[query.text], by, count], "search", state))
    return div(".oq-chips", role="group", aria_label="Search queries")[chips]


def _row(line: HitProgress) -> Element:
    symbol, label, tone = OUTCOMES[line.outcome]
    tags = []
    if line.page:
        tags.append(f"{len(line.page.text) / 1000:.1f}k chars")
    if line.skip:
        tags.append(str(line.skip.reason))
    if line.seconds is not None:
        tags.append(markup.duration(line.seconds))
    colour = f"tone{sum(map(ord, line.site)) % TONES}"
    return div(".oq-hit")[
        div(class_=["oq-initial", colour], aria_hidden="true")[(line.site or "?")[0].upper()],
        div(".what")[
            div(".title")[line.hit.title or line.site], div(".where")[markup.display_url(line.hit.url)]
        ],
        div(".tags")[
            (span(".oq-tag")[tag] for tag in tags), markup.status_icon(symbol, label, f"oq-status {tone}")
        ],
    ]


def _hit(run: Run, line: HitProgress) -> Element:
    numbers = {query.text: number for number, query in enumerate(run.queries, 1)}
    ranks = (
        span(".oq-tag", title=hit.query)[
            f"Q{numbers.get(hit.query, '?')} #{hit.rank}",
            hit.engines and f" · {', '.join(hit.engines[:3])}",
        ]
        for hit in line.hit.found
    )
    symbol, label, tone = OUTCOMES[line.outcome]
    return div(".oq-hit.full")[
        div(".place")[line.place],
        div(".what")[
            div(".title")[markup.link_out(line.hit.url, line.hit.title or line.hit.url)],
            div(".where")[
                markup.display_url(line.hit.url), line.hit.published and span[line.hit.published[:10]]
            ],
            p[line.hit.snippet],
            div(".tags")[ranks],
        ],
        markup.status_icon(symbol, label, f"oq-status {tone}"),
    ]


# --- articles ---------------------------------------------------------------------------------------------


def articles(run: Run) -> None:
    """Draw every hit with its article or skip reason. Hits not read in time can be fetched."""
    progress = hit_progress(run)
    if not progress:
        markup.show_empty(f"No pages. {missing_hits(run)}", "article")
        return
    if not run.live and not is_link(run.id) and (late := retriable(run)):
        with st.container(key="read_more", horizontal=True, vertical_alignment="center", border=True):
            unread = all(key not in run.skips for key in late)
            st.markdown(
                f"{pluralize(len(late), 'page')} {'not read' if unread else 'timed out'}.", width="stretch"
            )
            widgets.button(
                "Fetch now" if unread else "Fetch again",
                "download",
                runtime.continue_run,
                run.id,
                runtime.runs().read_more,
                late,
                key="fetch_late",
            )
    with st.container(key="articles", gap="xsmall"):
        for line in progress[:MAX_ARTICLES]:
            _article(line)


def _article(line: HitProgress) -> None:
    symbol, outcome, _tone = OUTCOMES[line.outcome]
    title = markdown_label((line.page.title if line.page else "") or line.hit.title or line.site, 90)
    details = " · ".join(_details(line))
    flag = ":material/flag: " if line.page and line.page.has_strong_sign else ""
    label = (
        f"{flag}**{title}** :small[:gray[{markdown_label(line.site, 40)} · {markdown_label(details, 160)}]]"
    )
    opened = st.expander(label, icon=f":material/{symbol}:", key=f"article_{line.place}", on_change="rerun")
    if not opened.open:
        return
    with opened:
        markup.show(div(".oq-where")[markup.link_out(line.hit.url, markup.display_url(line.hit.url))])
        if line.skip:
            markup.show(div(".oq-article")[line.skip.detail or f"Skipped: {line.skip.reason}."])
        if line.page:
            _injection_warning(line.page)
            _exclusion_button(line.page)
            more = len(line.page.text) - SHOWN_CHARACTERS
            markup.show(
                markup.region("oq-article", "Article text")[
                    with_structures(line.page.article, 0, line.page.text[:SHOWN_CHARACTERS]),
                    more > 0 and f"\n\n… and {pluralize(more, 'more character')}.",
                ]
            )
        elif not line.skip:
            markup.show_empty(outcome)


def _injection_warning(page: Page) -> None:
    """Signs of prompt injection in the page, if any."""
    if page.injection_signs:
        rows = (
            li[
                b[str(sign.kind).capitalize()],
                span[f"“{sign.quote}”", sign.hidden and " (invisible on the page)"],
            ]
            for sign in page.injection_signs[:8]
        )
        markup.show(
            div(".oq-flag")[
                markup.icon("flag"),
                div[
                    b["Possible prompt injection."],
                    " This is a warning only; the page stays in the ranking.",
                    ul(".oq-notes")[rows],
                ],
            ]
        )


def _exclusion_button(page: Page) -> None:
    excluded = controls.is_excluded(page.key)
    widgets.button(
        "Include" if excluded else "Exclude",
        "undo" if excluded else "block",
        partial(controls.set_excluded, excluded=not excluded),
        page.key,
        key=f"exclude_{page.key}",
        type="tertiary",
        help="Excluded pages stay in the ranking, but their passages are never put into the context.",
    )


def _details(line: HitProgress) -> list[str]:
    if line.skip:
        snippet = [OUTCOMES[line.outcome][1]] if line.page else []
        return [*snippet, str(line.skip.reason), markup.duration(line.skip.seconds)]
    if not line.page:
        return [OUTCOMES[line.outcome][1]]
    page = line.page
    metadata = [page.article.kind_and_parts, page.article.author, page.article.date[:10], _language(page)]
    return [
        "snippet only" if page.snippet_only else markup.size(page.size),
        pluralize(len(page.text), "character"),
        "from cache" if page.from_cache else markup.duration(page.seconds),
        _extractor(page),
        *(part for part in metadata if part),
    ]


def _language(page: Page) -> str:
    """Return the article's language, and a different declared language."""
    article = page.article
    reason = f" by its text, declared {article.declared_language}" if article.declared_language else ""
    return f"{article.language}{reason}"


def _extractor(page: Page) -> str:
    """Return the article's extractor, and the reason for a fallback."""
    article = page.article
    return f"{article.extractor} ({article.fallback})" if article.fallback else article.extractor
