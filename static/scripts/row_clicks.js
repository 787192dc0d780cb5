// A click on a row of a table opens it, and so does Enter. Streamlit reports which cell is marked, but not how that
// came: an arrow key marks a cell too, and must not leave the page.

const pointed = { waits: false, cell: '' };

(window.openquery ??= {}).row_clicks = function ({ data, setTriggerValue }) {
  const on = new AbortController();
  const inside = (event) => event.target.closest && event.target.closest('.st-key-' + data.table);
  const listen = (name, act) => document.addEventListener(name, act, { capture: true, signal: on.signal });
  const open = () => {
    pointed.waits = false;
    setTriggerValue('open', data.row);
  };
  listen('pointerdown', (event) => {
    pointed.waits = Boolean(inside(event));
    pointed.cell = data.cell;
  });
  listen('keydown', (event) => {
    if (!inside(event)) return;
    pointed.waits = false;
    if (event.key !== 'Enter' || !data.row) return;
    event.preventDefault();
    event.stopPropagation();
    open();
  });
  if (pointed.waits && data.row && data.cell !== pointed.cell) open();
  return () => on.abort();
}
