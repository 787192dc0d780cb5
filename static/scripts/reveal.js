// Scrolls a new part of the page into view: the container with the key `data.key`, once for each `data.of`. Its text
// field gets the focus. It is drawn piece by piece, so it is followed for a moment, until the person scrolls or types.

const FOLLOWED = 1500;
let revealed = '';

(window.openquery ??= {}).reveal = function ({ data }) {
  if (data.of === revealed) return undefined;
  revealed = data.of;
  const done = new AbortController();
  const end = () => done.abort();
  for (const name of ['wheel', 'touchmove', 'keydown', 'pointerdown']) {
    document.addEventListener(name, end, { signal: done.signal, passive: true });
  }
  const follow = (part) => {
    let focused = false;
    const size = new ResizeObserver(() => {
      const field = focused ? null : part.querySelector('textarea');
      if (field) {
        focused = true;
        field.focus({ preventScroll: true });
        field.setSelectionRange(field.value.length, field.value.length);
      }
      part.scrollIntoView({ behavior: 'auto', block: 'nearest' });
    });
    size.observe(part);
    done.signal.addEventListener('abort', () => size.disconnect());
    setTimeout(end, FOLLOWED);
  };
  const look = () => document.querySelector('.st-key-' + data.key);
  if (look()) follow(look());
  else {
    const added = new MutationObserver(() => {
      if (!look()) return;
      added.disconnect();
      follow(look());
    });
    added.observe(document.body, { childList: true, subtree: true });
    done.signal.addEventListener('abort', () => added.disconnect());
  }
  return end;
}
