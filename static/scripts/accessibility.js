// What keyboards and screen readers need and Markdown cannot carry: the focus, names, announcements.
//
// - The question box of an empty page has the focus.
// - A citation is named after its source, by the `data-source` of the source's card.
// - A passage to label takes the focus when its view is opened, and when the one before is labelled;
//   its text is scrolled to what is marked.
// - A passage that a link opened takes the focus. Escape closes it, and the focus returns to the link.
// - A list of an answer has the direction of its words, so that its marks stand where its lines begin.
// - Icons beside words are not read out, and the settings of each side of a comparison are a named group.
// - The column of boxes in which rows of a table are selected has a heading.
// - The link of the open page says so, and the button of the sidebar has the name that is seen.
// - The text of `announcement` is read out when it changes, and not when a page is opened.

const READER = '[class*="st-key-reader_"]';
const PASSAGE = READER + ' .oq-article.reading';
const TO_LABEL = '[class*="st-key-reader_verdict"], [class*="st-key-reader_draft"]';
const CLOSE = READER + '[class*="_close"] button';
const CITATIONS = ':is(.st-key-answer_body, [class*="st-key-version_body"]) a[href^="#"]';
const LISTS = ':is(.st-key-answer_body, [class*="st-key-version_body"]) :is(ul, ol, blockquote):not([dir])';
const BOXES = '[data-testid="stDataFrame"] canvas th:empty';
const ICONS = '[role="img"][aria-label$=" icon"]:not([aria-hidden])';
const SIDES = '[class*="st-key-panel_"]:not([role])';
const PAGES = '.st-key-nav > * a';
const SETTINGS = '[data-testid="stExpandSidebarButton"]:not([aria-label="All settings"])';
const OPENERS = 'a[href^="#src-"], a[href^="#pick-"]';

const greeted = new WeakSet();  // question boxes that were given the focus
const openers = new WeakMap();  // passages, and the address of the link that opened each; "" for no link
let opening = '';               // the address of a link whose passage has not come yet
let inside = null;              // the passage that has the focus
let outside = null;             // what had it last outside of passages
let announced = null;           // the latest announcement; null before the first one of the page

const all = (selector) => Array.from(document.querySelectorAll(selector));
const links = (href) => all('a').filter((link) => link.getAttribute('href') === href);

// A click draws a part of the page anew, so a link is found again by its address and its place among its equals.
function described(element) {
  const href = element.getAttribute('href') || '';
  return { element, href, place: href.startsWith('#') ? links(href).indexOf(element) : -1 };
}

function current({ element, href, place }) {
  return element.isConnected ? element : links(href)[place];
}

function nameCitations() {
  const names = new Map(all('a[data-source]').map((card) => [card.getAttribute('href'), card.dataset.source]));
  all(CITATIONS).forEach((link) => {
    const name = names.get(link.getAttribute('href'));
    const told = name + (link.classList.contains('oq-lost') ? ', left the context' : '');
    if (name && link.getAttribute('aria-label') !== told) link.setAttribute('aria-label', told);
  });
}

function complete() {
  all(LISTS).forEach((list) => { list.dir = 'auto'; });
  all(ICONS).forEach((icon) => { icon.setAttribute('aria-hidden', 'true'); });
  all(SIDES).forEach((side) => {
    side.setAttribute('role', 'group');
    side.setAttribute('aria-label', `Side ${/st-key-panel_(\w)/.exec(side.className)[1].toUpperCase()}`);
  });
  all(BOXES).forEach((heading) => { heading.textContent = 'selected'; });
  all(SETTINGS).forEach((button) => { button.setAttribute('aria-label', 'All settings'); });
  all(PAGES).forEach((link) => {
    const open = link.pathname === location.pathname;
    if (open !== link.hasAttribute('aria-current')) link.toggleAttribute('aria-current', open);
    if (open && link.getAttribute('aria-current') !== 'page') link.setAttribute('aria-current', 'page');
  });
}

function isIdle() {
  return document.activeElement === document.body || document.activeElement.matches('a, .st-key-evaluate_view button');
}

function greet() {
  const box = document.querySelector('.st-key-ask_hero .st-key-question input:not(:disabled)');
  if (!box || greeted.has(box)) return;
  greeted.add(box);
  if (isIdle() && window.matchMedia('(hover: hover)').matches) box.focus({ preventScroll: true });
}

function reveal(passage) {
  const mark = passage.querySelector('mark');
  const room = (passage.clientHeight - mark.offsetHeight) / 2;
  passage.scrollTop = mark.offsetTop - Math.max(room, 12);
}

function follow() {
  all(PASSAGE).forEach((passage) => {
    if (openers.has(passage)) return;
    openers.set(passage, opening);
    const toLabel = passage.closest(TO_LABEL);
    if (opening || (toLabel && isIdle())) passage.focus({ preventScroll: true });
    if (toLabel) reveal(passage);
    opening = '';
  });
  if (document.activeElement !== document.body) return;
  const lost = inside || (outside && outside.element);
  if (!lost || lost.isConnected) return;
  const same = inside && all(PASSAGE).find((passage) => passage.dataset.place === inside.dataset.place);
  const toLabel = all(PASSAGE).find((passage) => passage.closest(TO_LABEL));
  const back = same || current(outside || described(lost)) || toLabel;
  if (back) back.focus({ preventScroll: true });
}

function isDrawn() {
  const app = document.querySelector('[data-testid="stApp"]');
  return app.dataset.testScriptState === 'notRunning' && app.querySelector('[data-testid="stElementContainer"]');
}

function announce() {
  const main = document.querySelector('main');
  if (!main) return;
  let region = document.getElementById('oq-announcements');
  if (!region) {
    region = Object.assign(document.createElement('div'), { id: 'oq-announcements', className: 'oq-unseen' });
    region.setAttribute('role', 'status');
    main.append(region);
  }
  const line = document.querySelector('[data-announce]');
  const text = line ? line.textContent : '';
  // What stands there when the page is drawn for the first time is not read out.
  if (text === announced || (announced === null && !isDrawn())) return;
  if (announced !== null) region.textContent = text;
  announced = text;
}

function onFocus({ target }) {
  const reader = target.closest(READER);
  inside = reader ? target.closest(PASSAGE) || inside || target : null;
  if (!reader) outside = described(target);
}

function onClick({ target }) {
  const link = target.closest && target.closest(OPENERS);
  opening = '';
  if (!link) return;
  const href = link.getAttribute('href');
  outside = described(link);
  const open = all(PASSAGE).find((passage) => openers.get(passage) === href);
  if (open) open.focus({ preventScroll: true });
  else opening = href;
}

function onKey(event) {
  if (event.key !== 'Escape' || event.defaultPrevented) return;
  let part = event.target.closest(READER);
  if (!part && event.target.matches('body, main, ' + OPENERS)) part = document.querySelector(READER);
  while (part && !part.querySelector(CLOSE)) part = part.parentElement;
  if (part) part.querySelector(CLOSE).click();
}

function update() {
  nameCitations();
  complete();
  greet();
  follow();
  announce();
}

new MutationObserver(update).observe(document.body, {
  childList: true, subtree: true, characterData: true, attributeFilter: ['data-test-script-state'],
});
document.addEventListener('focusin', onFocus);
document.addEventListener('click', onClick, true);
document.addEventListener('keydown', onKey);
