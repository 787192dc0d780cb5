"use strict";

// The passages by rank. However many there are, only the rows in sight (and some around them) are elements.

const ROW_HEIGHT = 46;
const AROUND = 12;

/** A table of which `draw(rows, rowOf)` shows a window: `rowOf` makes the `<tr>` of one of the rows. */
function windowedTable(label, columns) {
  const body = el("tbody"), before = el("tr", { class: "space", "aria-hidden": "true" }), after = before.cloneNode();
  const head = el("tr", {}, columns.map(([name, kind]) => el("th", { class: kind, scope: "col" }, name)));
  const table = el("table", {}, el("thead", {}, head), body);
  const box = el("div", { class: "list", tabindex: "0", role: "region", "aria-label": label, scroll: () => fill() }, table);
  let shown = [], make = null, range = "";

  function fill() {
    const first = Math.max(0, Math.floor(box.scrollTop / ROW_HEIGHT) - AROUND);
    const last = Math.min(shown.length, Math.ceil((box.scrollTop + (box.clientHeight || 600)) / ROW_HEIGHT) + AROUND);
    if (range === `${first} ${last}`) return;
    range = `${first} ${last}`;
    const focused = body.contains(document.activeElement) ? document.activeElement.closest("tr").dataset.row : null;
    before.style.height = `${first * ROW_HEIGHT}px`;
    after.style.height = `${(shown.length - last) * ROW_HEIGHT}px`;
    const rows = shown.slice(first, last).map((row, i) => {
      const line = make(row, first + i);
      line.setAttribute("aria-rowindex", first + i + 2);
      return line;
    });
    body.replaceChildren(...(first ? [before] : []), ...rows, ...(last < shown.length ? [after] : []));
    if (focused !== null) body.querySelector(`tr[data-row="${focused}"] button`)?.focus({ preventScroll: true });
  }

  function draw(rows, rowOf) {
    [shown, make, range] = [[...rows], rowOf, ""];
    table.setAttribute("aria-rowcount", shown.length + 1);
    fill();
  }
  window.addEventListener("resize", fill);
  return { box, draw };
}
