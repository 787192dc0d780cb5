"""Live results of search and reading: queries, hits, articles, the best passages so far."""

from __future__ import annotations

import streamlit as st

from core.analysis.progress import (
    HitProgress,
    PageOutcome,
    best_so_far,
    hit_progress,
    missing_hits,
    retriable,
)
from core.model import Author, Page
from core.run.state import Run
from core.text.display import decimal
from core.text.markdown.safe_markdown import escape_html, markdown_label
from core.text.sanitize import pluralize
from pages.parts import controls, markup

TONES = 8
"""Number of colours for sites' initials."""
MAX_HITS = 60
MAX_ARTICLES = 60
BEST_CHARACTERS = 260
SHOWN_CHARACTERS = 20_000
"""Characters of an article that are sent to the browser when it is opened."""

OUTCOMES = {
    PageOutcome.QUEUED: ("schedule", "waiting", "wait"),
    PageOutcome.FETCHING: ("downloading", "fetching", "busy"),
    PageOutcome.UNREAD: ("remove_circle", "not read", "wait"),
    PageOutcome.READ: ("check_circle", "read", "good"),
    PageOutcome.SNIPPET: ("short_text", "snippet only", "warn"),
    PageOutcome.SKIPPED: ("block", "skipped", "bad"),
}


def live(run: Run) -> None:
    """Results so far of a search: queries, and hits with their outcome, in a list that scrolls by itself."""
    if not run.queries:
        text = "Writing search queries …" if run.live else "The run ended before a query was written."
        st.html(markup.empty(text, "edit_note"))
        return
    progress = hit_progress(run)
    parts = [_queries(run)]
    if progress:
        rows = "".join(map(_row, progress[:MAX_HITS]))
        parts.append(
            f'<div class="oq-feed live" tabindex="0" role="region" aria-label="Search hits">{rows}</div>'
        )
    else:
        parts.append(markup.empty(missing_hits(run), "travel_explore"))
    st.html("".join(parts))


def best_passages(run: Run) -> str:
    """HTML of the best passages embedded so far; empty before the first batch."""
    rows = "".join(
        f'<div class="oq-best"><b>{decimal(cosine, 2)}</b>{markup.meter(cosine)}'
        f"<p>{escape_html(text[:BEST_CHARACTERS])}</p><span>{escape_html(site)}</span></div>"
        for cosine, text, site in best_so_far(run)
    )
    return markup.kicker("Best passages so far", "cosine similarity to the question") + rows if rows else ""


def hits(run: Run) -> None:
    """The hits, each with the queries, ranks and engines that found it."""
    progress = hit_progress(run)
    if not progress:
        st.html(_queries(run) + markup.empty(missing_hits(run), "search_off"))
        return
    more = len(progress) - MAX_HITS
    rows = "".join(_hit(run, line) for line in progress[:MAX_HITS])
    rest = markup.empty(f"{pluralize(more, 'more hit', 'more hits')} not shown.") if more > 0 else ""
    st.html(f'{_queries(run)}<div class="oq-feed">{rows}</div>{rest}')


def _queries(run: Run) -> str:
    chips = []
    for number, query in enumerate(run.queries, 1):
        state = (
            "bad" if query in run.search_faults else "busy" if run.live and query not in run.replies else ""
        )
        count = f" · {len(run.replies[query].results)}" if query in run.replies else ""
        by = " (your question)" if query.author is Author.QUESTION else ""
        chips.append(markup.chip(f"Q{number} {query.text}{by}{count}", "search", state))
    return f'<div class="oq-chips" role="group" aria-label="Search queries">{"".join(chips)}</div>'


def _initial(line: HitProgress) -> str:
    letter = (line.site or "?")[0].upper()
    return f'<div class="oq-initial tone{sum(map(ord, line.site)) % TONES}" aria-hidden="true">{escape_html(letter)}</div>'


def _row(line: HitProgress) -> str:
    symbol, label, tone = OUTCOMES[line.outcome]
    tags = []
    if line.page:
        tags.append(f"{len(line.page.text) / 1000:.1f}k chars")
    if line.skip:
        tags.append(str(line.skip.reason))
    if line.seconds is not None:
        tags.append(markup.duration(line.seconds))
    inner = "".join(f'<span class="oq-tag">{escape_html(tag)}</span>' for tag in tags)
    return (
        f'<div class="oq-hit">{_initial(line)}<div class="what"><div class="title">{escape_html(line.hit.title or line.site)}</div>'
        f'<div class="where">{escape_html(markup.display_url(line.hit.url))}</div></div>'
        f'<div class="tags">{inner}{markup.status_icon(symbol, label, f"oq-status {tone}")}</div></div>'
    )


def _hit(run: Run, line: HitProgress) -> str:
    numbers = {query.text: number for number, query in enumerate(run.queries, 1)}
    rows = "".join(
        f'<span class="oq-tag" title="{escape_html(hit.query)}">Q{numbers.get(hit.query, "?")} '
        f"#{hit.rank}{' · ' + escape_html(', '.join(hit.engines[:3])) if hit.engines else ''}</span>"
        for hit in line.hit.found
    )
    symbol, label, tone = OUTCOMES[line.outcome]
    date = f"<span>{escape_html(line.hit.published[:10])}</span>" if line.hit.published else ""
    return (
        f'<div class="oq-hit full"><div class="place">{line.place}</div><div class="what">'
        f'<div class="title">{markup.link_out(line.hit.url, line.hit.title or line.hit.url)}</div>'
        f'<div class="where">{escape_html(markup.display_url(line.hit.url))}{date}</div>'
        f'<p>{escape_html(line.hit.snippet)}</p><div class="tags">{rows}</div></div>'
        f"{markup.status_icon(symbol, label, f'oq-status {tone}')}</div>"
    )


# --- articles ---------------------------------------------------------------------------------------------


def articles(run: Run, read_more: object) -> None:
    """Every hit with its article or the reason why it was skipped. `read_more` is called with keys of hits."""
    progress = hit_progress(run)
    if not progress:
        st.html(markup.empty(f"No pages. {missing_hits(run)}", "article"))
        return
    if not run.live and (late := retriable(run)):
        with st.container(key="read_more", horizontal=True, vertical_alignment="center", border=True):
            unread = all(key not in run.skips for key in late)
            st.markdown(
                f"{pluralize(len(late), 'page')} {'not read' if unread else 'timed out'}.", width="stretch"
            )
            st.button(
                "Fetch now" if unread else "Fetch again",
                key="fetch_late",
                icon=":material/download:",
                on_click=read_more,  # type: ignore[arg-type]
                args=(late,),
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
        st.html(
            f'<div class="oq-where">{markup.link_out(line.hit.url, markup.display_url(line.hit.url))}</div>'
        )
        if line.skip:
            st.html(
                f'<div class="oq-article">{escape_html(line.skip.detail or f"Skipped: {line.skip.reason}.")}</div>'
            )
        if line.page:
            _injection_warning(line.page)
            _exclusion_button(line.page)
            more = len(line.page.text) - SHOWN_CHARACTERS
            rest = f"\n\n… and {pluralize(more, 'more character')}." if more > 0 else ""
            st.html(
                f'<div class="oq-article" tabindex="0" role="region" aria-label="Article text">'
                f"{escape_html(line.page.text[:SHOWN_CHARACTERS] + rest)}</div>"
            )
        elif not line.skip:
            st.html(markup.empty(outcome))


def _injection_warning(page: Page) -> None:
    """Signs of prompt injection in the page, if any."""
    if page.injection_signs:
        rows = "".join(
            f"<li><b>{escape_html(str(sign.kind).capitalize())}</b><span>“{escape_html(sign.quote)}”"
            f"{' (invisible on the page)' if sign.hidden else ''}</span></li>"
            for sign in page.injection_signs[:8]
        )
        st.html(
            f'<div class="oq-flag">{markup.icon("flag")}<div><b>Possible prompt injection.</b> '
            f'This is a warning only; the page stays in the ranking.<ul class="oq-notes">{rows}</ul></div></div>'
        )


def _exclusion_button(page: Page) -> None:
    excluded = controls.is_excluded(page.key)
    st.button(
        "Include" if excluded else "Exclude",
        key=f"exclude_{page.key}",
        icon=":material/undo:" if excluded else ":material/block:",
        type="tertiary",
        help="Excluded pages stay in the ranking, but their passages are never put into the context.",
        on_click=controls.set_excluded,
        args=(page.key,),
        kwargs={"excluded": not excluded},
    )


def _details(line: HitProgress) -> list[str]:
    if line.skip:
        snippet = [OUTCOMES[line.outcome][1]] if line.page else []
        return [*snippet, str(line.skip.reason), markup.duration(line.skip.seconds)]
    if not line.page:
        return [OUTCOMES[line.outcome][1]]
    page = line.page
    metadata = [page.article.author, page.article.date[:10], page.article.language]
    return [
        "snippet only" if page.snippet_only else markup.size(page.size),
        pluralize(len(page.text), "character"),
        "from cache" if page.from_cache else markup.duration(page.seconds),
        _extractor(page),
        *(part for part in metadata if part),
    ]


def _extractor(page: Page) -> str:
    """The extractor of the article, and why the chosen one did not make it."""
    article = page.article
    return f"{article.extractor} ({article.fallback})" if article.fallback else article.extractor
