"""What search and reading bring, as it arrives: queries, hits, articles, the best passages so far."""

from __future__ import annotations

import streamlit as st

from core.analysis.progress import Line, PageOutcome, best_so_far, lines, retriable
from core.model import Author, Page
from core.run.state import Run
from core.text.safe_markdown import escape_html, markdown_label
from pages.parts import controls, markup

TONES = 8
"""Colours that sites are told apart by."""
MOST_HITS = 60
MOST_ARTICLES = 60
SHOWN_TEXT = 20_000
"""Characters of an article that are sent to the browser when it is opened."""

FATES = {
    PageOutcome.QUEUED: ("schedule", "waiting", "wait"),
    PageOutcome.FETCHING: ("downloading", "fetching", "busy"),
    PageOutcome.READ: ("check_circle", "read", "good"),
    PageOutcome.SNIPPET: ("short_text", "snippet only", "warn"),
    PageOutcome.SKIPPED: ("block", "skipped", "bad"),
}


def live(run: Run) -> None:
    """Everything that has arrived, while more is coming."""
    if not run.queries:
        st.html(markup.empty("Writing search queries …", "edit_note"))
        return
    found = lines(run)
    parts = [_queries(run)]
    if found:
        parts.append(f'<div class="oq-feed">{"".join(map(_row, found[:MOST_HITS]))}</div>')
    else:
        parts.append(markup.empty("Searching …", "travel_explore"))
    best = "".join(
        f'<div class="oq-best"><b>{cosine:.2f}</b>{markup.meter(cosine)}'
        f"<p>{escape_html(text[:220])}<span>{escape_html(site)}</span></p></div>"
        for cosine, text, site in best_so_far(run)
    )
    if best:
        parts.append(markup.kicker("Best passages so far", "cosine to the question") + best)
    st.html("".join(parts))


def hits(run: Run) -> None:
    """The hits with their lineage: which query and engine found each, at which rank."""
    found = lines(run)
    if not found:
        st.html(
            _queries(run) + markup.empty("No hits yet." if run.live else "Nothing was found.", "search_off")
        )
        return
    more = len(found) - MOST_HITS
    rows = "".join(_hit(run, line) for line in found[:MOST_HITS])
    rest = markup.empty(f"{more} more hits are not drawn.") if more > 0 else ""
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
    return f'<div class="oq-chips" aria-label="Search queries">{"".join(chips)}</div>'


def _tile(line: Line) -> str:
    letter = (line.site or "?")[0].upper()
    return f'<div class="oq-tile tone{sum(map(ord, line.site)) % TONES}" aria-hidden="true">{escape_html(letter)}</div>'


def _row(line: Line) -> str:
    symbol, spoken, tone = FATES[line.fate]
    tags = []
    if line.page:
        tags.append(f"{len(line.page.text) / 1000:.1f}k chars")
    if line.skip:
        tags.append(str(line.skip.reason))
    if line.seconds is not None:
        tags.append(markup.duration(line.seconds))
    inner = "".join(f'<span class="oq-tag">{escape_html(tag)}</span>' for tag in tags)
    return (
        f'<div class="oq-hit">{_tile(line)}<div class="what"><div class="title">{escape_html(line.hit.title or line.site)}</div>'
        f'<div class="where">{escape_html(markup.said(line.hit.url))}</div></div>'
        f'<div class="tags">{inner}{markup.sign(symbol, spoken, f"oq-fate {tone}")}</div></div>'
    )


def _hit(run: Run, line: Line) -> str:
    numbers = {query.text: number for number, query in enumerate(run.queries, 1)}
    found = "".join(
        f'<span class="oq-tag" title="{escape_html(one.query)}">Q{numbers.get(one.query, "?")} '
        f"#{one.rank}{' · ' + escape_html(', '.join(one.engines[:3])) if one.engines else ''}</span>"
        for one in line.hit.found
    )
    symbol, spoken, tone = FATES[line.fate]
    date = f"<span>{escape_html(line.hit.published[:10])}</span>" if line.hit.published else ""
    return (
        f'<div class="oq-hit full"><div class="place">{line.place}</div><div class="what">'
        f'<div class="title">{markup.link_out(line.hit.url, line.hit.title or line.hit.url)}</div>'
        f'<div class="where">{escape_html(markup.said(line.hit.url))}{date}</div>'
        f'<p>{escape_html(line.hit.snippet)}</p><div class="tags">{found}</div></div>'
        f"{markup.sign(symbol, spoken, f'oq-fate {tone}')}</div>"
    )


# --- articles ---------------------------------------------------------------------------------------------


def articles(run: Run, read_more: object) -> None:
    """Every hit as an article or with the reason why it is none. `read_more` is called with keys."""
    found = lines(run)
    if not found:
        st.html(markup.empty("Articles are fetched as soon as a search answers.", "article"))
        return
    if not run.live and (late := retriable(run)):
        with st.container(key="read_more", horizontal=True, vertical_alignment="center", border=True):
            many = f"{len(late)} pages were" if len(late) > 1 else "1 page was"
            st.markdown(f"{many} left out for want of time.", width="stretch")
            st.button(
                "Fetch these too",
                key="fetch_late",
                icon=":material/download:",
                on_click=read_more,  # type: ignore[arg-type]
                args=(late,),
            )
    with st.container(key="articles", gap="xsmall"):
        for line in found[:MOST_ARTICLES]:
            _article(line)


def _article(line: Line) -> None:
    symbol, spoken, _tone = FATES[line.fate]
    title = markdown_label((line.page.title if line.page else "") or line.hit.title or line.site, 90)
    details = " · ".join(_details(line))
    flag = ":material/flag: " if line.page and line.page.suspect else ""
    label = (
        f"{flag}**{title}** :small[:gray[{markdown_label(line.site, 40)} · {markdown_label(details, 160)}]]"
    )
    opened = st.expander(label, icon=f":material/{symbol}:", key=f"article_{line.place}", on_change="rerun")
    if not opened.open:
        return
    with opened:
        st.html(f'<div class="oq-where">{markup.link_out(line.hit.url, markup.said(line.hit.url))}</div>')
        if line.skip:
            st.html(
                f'<div class="oq-article">{escape_html(line.skip.detail or f"Skipped: {line.skip.reason}.")}</div>'
            )
        if line.page:
            _standing(line.page)
            more = len(line.page.text) - SHOWN_TEXT
            rest = f"\n\n… and {more:,} more characters." if more > 0 else ""
            st.html(
                f'<div class="oq-article" tabindex="0" role="region" aria-label="Article text">'
                f"{escape_html(line.page.text[:SHOWN_TEXT] + rest)}</div>"
            )
        elif not line.skip:
            st.html(markup.empty(spoken))


def _standing(page: Page) -> None:
    """What looks like orders to a model, and whether the page may be among the sources."""
    if page.suspicions:
        found = "".join(
            f"<li><b>{escape_html(str(one.kind).capitalize())}</b><span>“{escape_html(one.quote)}”"
            f"{' (hidden from readers)' if one.hidden else ''}</span></li>"
            for one in page.suspicions[:8]
        )
        st.html(
            f'<div class="oq-flag">{markup.icon("flag")}<div><b>This page may be talking to the model.</b> '
            f'A hint, by which nothing is left out.<ul class="oq-notes">{found}</ul></div></div>'
        )
    out = controls.excluded(page.key)
    st.button(
        "Let it in again" if out else "Exclude this page",
        key=f"exclude_{page.key}",
        icon=":material/undo:" if out else ":material/block:",
        type="tertiary",
        help="Its passages stay in the table, but do not become sources. The ranking follows at once.",
        on_click=controls.exclude,
        args=(page.key,),
        kwargs={"out": not out},
    )


def _details(line: Line) -> list[str]:
    if line.skip:
        standing_in = [FATES[line.fate][1]] if line.page else []
        return [*standing_in, str(line.skip.reason), markup.duration(line.skip.seconds)]
    if not line.page:
        return [FATES[line.fate][1]]
    page = line.page
    told = [page.article.author, page.article.date, page.article.language]
    return [
        "snippet only" if page.snippet_only else markup.size(page.size),
        f"{len(page.text):,} characters",
        "from cache" if page.from_cache else markup.duration(page.seconds),
        page.article.extractor,
        *(part for part in told if part),
    ]
