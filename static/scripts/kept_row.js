// The row of a table that is read keeps its place on the screen while rows come in: the scroll position gives way. It is
// the row below the pointer, else the one that has the focus or is open, else the one in the middle of the window.

(window.openquery ??= {}).kept_row = function ({ data }) {
  const on = new AbortController();
  const rows = () => [...document.querySelectorAll('.st-key-' + data.table + ' tbody tr')];
  const nameOf = (row) => row.querySelector('a[href^="#pick-"]')?.getAttribute('href');
  let pointer = null;
  let kept = null;

  const holds = (row, y) => {
    const box = row.getBoundingClientRect();
    return box.top <= y && y < box.bottom;
  };
  const read = () => {
    const all = rows();
    const pointed = pointer && all.find((row) => row.closest('.st-key-' + data.table).matches(':hover') && holds(row, pointer));
    return pointed || all.find((row) => row.contains(document.activeElement)) ||
      all.find((row) => row.querySelector('[aria-current="true"]') && holds(row, row.getBoundingClientRect().top) && inWindow(row)) ||
      all.find((row) => holds(row, window.innerHeight / 2));
  };
  const inWindow = (row) => {
    const box = row.getBoundingClientRect();
    return box.top >= 0 && box.bottom <= window.innerHeight;
  };
  const remember = () => {
    const row = read();
    if (row) kept = { name: nameOf(row), top: row.getBoundingClientRect().top };
    else if (rows().length) kept = null;
  };
  const scroller = (element) => {
    for (let part = element.parentElement; part; part = part.parentElement) {
      if (part.scrollHeight > part.clientHeight && /auto|scroll/.test(getComputedStyle(part).overflowY)) return part;
    }
    return document.scrollingElement;
  };
  const restore = () => {
    const row = kept && rows().find((each) => nameOf(each) === kept.name);
    if (!row) return; // the table is being replaced, or the row is not among those that are shown
    const moved = row.getBoundingClientRect().top - kept.top;
    if (Math.abs(moved) >= 1) scroller(row).scrollBy({ top: moved, behavior: 'instant' });
  };

  const listen = (name, act) => document.addEventListener(name, act, { capture: true, passive: true, signal: on.signal });
  listen('pointermove', (event) => { pointer = event.clientY; remember(); });
  listen('wheel', () => { kept = null; requestAnimationFrame(remember); });
  listen('scroll', () => { if (rows().length) requestAnimationFrame(remember); });
  listen('focusin', remember);
  const changes = new MutationObserver(restore);
  changes.observe(document.querySelector('[data-testid="stMain"]') || document.body, { childList: true, subtree: true });
  remember();
  return () => { on.abort(); changes.disconnect(); };
};
