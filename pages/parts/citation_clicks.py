"""Clicks on citations, reported to Python, and scrolling to the passage inside its article."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

_SCRIPT = """
const marked = 'on';

function light(number) {
  document.querySelectorAll('.oq-source.on, a.oq-on').forEach((one) => one.classList.remove(marked, 'oq-on'));
  const card = document.getElementById('src-' + number);
  if (card) card.classList.add(marked);
  document.querySelectorAll('a[href="#src-' + number + '"]').forEach((one) => one.classList.add('oq-on'));
}

function reveal() {
  document.querySelectorAll('.oq-article.reading').forEach((article) => {
    const place = article.dataset.place;
    if (article.dataset.revealed === place) return;
    const mark = article.querySelector('mark');
    if (!mark) return;
    article.dataset.revealed = place;
    const room = (article.clientHeight - mark.offsetHeight) / 2;
    article.scrollTop = mark.offsetTop - article.offsetTop - Math.max(room, 12);
    const card = article.closest('[class*="st-key-reader"]') || article;
    const box = card.getBoundingClientRect();
    if (box.top < 60 || box.top > window.innerHeight - 160) {
      const calm = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
      card.scrollIntoView({ behavior: calm ? 'auto' : 'smooth', block: 'start' });
    }
  });
}

export default function (component) {
  const { setTriggerValue, data } = component;
  const onClick = (event) => {
    const link = event.target.closest && event.target.closest('a[href^="#src-"]');
    if (!link) return;
    event.preventDefault();
    const number = parseInt(link.getAttribute('href').slice(5), 10);
    if (!(number > 0)) return;
    light(number);
    setTriggerValue('cite', number);
  };
  if (document.openqueryForget) document.openqueryForget();
  document.addEventListener('click', onClick);
  const watch = new MutationObserver(reveal);
  watch.observe(document.body, { childList: true, subtree: true });
  reveal();
  if (data && data.cited) light(data.cited);
  // A citation that was clicked before this script was there has changed the address instead.
  const early = /^#src-([1-9][0-9]{0,5})$/.exec(location.hash);
  if (early) {
    history.replaceState(history.state, '', location.pathname + location.search);
    light(early[1]);
    setTriggerValue('cite', parseInt(early[1], 10));
  }
  const forget = () => {
    document.removeEventListener('click', onClick);
    watch.disconnect();
  };
  document.openqueryForget = forget;
  return forget;
}
"""

_component = st.components.v2.component("openquery_citations", html="<span></span>", js=_SCRIPT)


def citation_clicks(cited: int | None, on_cite: Callable[[], None]) -> None:
    """Call `on_cite` when a citation is clicked; `cited_number` returns which."""
    with st.container(key="citation_component"):
        _component(key="citation", data={"cited": cited or 0}, on_cite_change=on_cite)


def cited_number() -> int | None:
    state = st.session_state.get("citation")
    number = getattr(state, "cite", None)
    return int(number) if isinstance(number, int | float) else None
