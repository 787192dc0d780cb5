// Citations: their clicks, reported to Python, the preview of a source, and the passage in its article.

function light(number) {
  document.querySelectorAll('.oq-source.on, a.oq-on').forEach((lit) => lit.classList.remove('on', 'oq-on'));
  const card = document.getElementById('src-' + number);
  if (card) card.classList.add('on');
  document.querySelectorAll('a[href="#src-' + number + '"]').forEach((link) => link.classList.add('oq-on'));
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

// What was closed by a click, by Escape or by scrolling: its citation and where the pointer was. Streamlit draws the
// answer and this script again after a click, and a new element under a pointer that rests is pointed at once more.
let closed = null;
let forget = null;
let pointer = [0, 0];

// A preview of the source whose citation is pointed at or focused. Its words are those of the source's card.
function preview(parent) {
  const box = document.createElement('div');
  box.id = 'oq-preview';
  box.className = 'oq-preview';
  box.setAttribute('role', 'tooltip');
  box.setAttribute('popover', 'manual');
  parent.append(box);
  let link = null;
  let byFocus = false;
  let leaving = 0;

  const stay = () => { clearTimeout(leaving); leaving = 0; };
  const hide = () => {
    stay();
    if (!link) return;
    link.removeAttribute('aria-describedby');
    link = null;
    box.hidePopover();
  };
  const close = (citation) => {
    closed = { href: citation.getAttribute('href'), pointer };
    hide();
  };
  const isClosed = (citation) => {
    const rests = closed && closed.pointer.every((place, axis) => place === pointer[axis]);
    const same = closed && citation && citation.getAttribute('href') === closed.href;
    if (!rests && !same) closed = null;
    return rests || same;
  };
  const place = () => {
    const { left, top, bottom, width } = link.getBoundingClientRect();
    if (bottom < 0 || top > window.innerHeight) return hide();
    const start = left + width / 2 - box.offsetWidth / 2;
    box.style.left = Math.max(8, Math.min(start, window.innerWidth - box.offsetWidth - 8)) + 'px';
    const below = bottom + 6;
    const fits = below + box.offsetHeight < window.innerHeight;
    box.style.top = (fits ? below : Math.max(8, top - box.offsetHeight - 6)) + 'px';
  };
  const add = (tag, from) => {
    const text = from && from.textContent.trim();
    if (!text) return;
    const part = document.createElement(tag);
    part.dir = 'auto';
    part.textContent = text;  // never as markup: pages and models wrote it
    box.append(part);
  };
  const show = (next, focused = false) => {
    stay();
    if (next === link) return;
    hide();
    const card = document.getElementById(next.getAttribute('href').slice(1));
    if (!card) return;
    const page = card.closest('.oq-source-page');
    box.replaceChildren();
    add('b', page && page.querySelector('.head b'));
    add('em', card.querySelector('.t'));
    add('p', card.querySelector('.s'));
    link = next;
    byFocus = focused;
    link.setAttribute('aria-describedby', box.id);
    box.showPopover();
    place();
  };
  const citations = 'a[href^="#src-"]:not(.oq-source)';
  const citation = (event) => event.target.closest && event.target.closest(citations);
  const on = new AbortController();
  const listen = (name, act, options) => document.addEventListener(name, act, { signal: on.signal, ...options });
  listen('pointerover', (event) => {
    if (event.pointerType === 'touch') return;
    pointer = [event.screenX, event.screenY];
    const next = citation(event);
    if (isClosed(next)) return;
    if (next) show(next);
    else if (box.contains(event.target)) stay();
    else if (link && !leaving && !byFocus) leaving = setTimeout(hide, 200);
  });
  listen('focusin', (event) => {
    const next = citation(event);
    if (next && next.matches(':focus-visible')) show(next, true);
  });
  listen('focusout', (event) => { if (event.target === link) hide(); });
  listen('pointerout', (event) => { if (!event.relatedTarget) hide(); });
  listen('keydown', (event) => { if (event.key === 'Escape' && link) close(link); });
  listen('click', (event) => { if (citation(event)) close(citation(event)); });
  listen('scroll', (event) => {
    if (!link || !event.target.contains(link)) return;
    if (byFocus) place();  // the focus scrolls it into view
    else close(link);
  }, { capture: true, passive: true });
  const pointed = matchMedia('(hover: hover)').matches && document.querySelector(citations + ':hover');
  if (pointed && !closed) show(pointed);
  return {
    follow: () => { if (link && !link.isConnected) hide(); },
    end: () => { on.abort(); hide(); box.remove(); },
  };
}

(window.openquery ??= {}).citations = function ({ setTriggerValue, data, parentElement }) {
  const onClick = (event) => {
    const link = event.target.closest && event.target.closest('a[href^="#src-"]');
    if (!link) return;
    event.preventDefault();
    const number = parseInt(link.getAttribute('href').slice(5), 10);
    if (!(number > 0)) return;
    light(number);
    setTriggerValue('cite', number);
  };
  if (forget) forget();
  document.addEventListener('click', onClick);
  const shown = preview(parentElement);
  const watch = new MutationObserver(() => { reveal(); shown.follow(); });
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
  forget = () => {
    document.removeEventListener('click', onClick);
    watch.disconnect();
    shown.end();
  };
  return forget;
}
