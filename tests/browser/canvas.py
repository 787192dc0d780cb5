"""What a person sees of a table: Streamlit draws it on a canvas, and the page has the text of every cell in full."""

from collections.abc import Mapping

from playwright.sync_api import Locator, Page

_RECORD = """
window.writings = new WeakMap();
const write = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
  if (!window.writings.has(this.canvas)) window.writings.set(this.canvas, new Map());
  window.writings.get(this.canvas).set(`${Math.round(x)} ${Math.round(y)}`, { text, x, y, font: this.font, align: this.textAlign });
  return write.call(this, text, x, y, ...rest);
};
"""

_SEEN = """
(table, [header, row]) => {
  const canvases = Array.from(table.querySelectorAll('canvas'));
  if (!canvases.length) return [];  // the table is still to be drawn
  const { top, width } = canvases[0].getBoundingClientRect();
  const all = canvases.flatMap((canvas) => Array.from((window.writings.get(canvas) || new Map()).values()));
  const heads = all.filter(({ y }) => y < header).sort((one, other) => one.x - other.x);
  const pen = document.createElement('canvas').getContext('2d');
  const seen = ({ text, x, font, align }, end) => {
    pen.font = font;
    if (align === 'right') return x > end ? '' : text;
    let count = text.length;
    while (count && x + pen.measureText(text.slice(0, count)).width > end) count -= 1;
    return text.slice(0, count);
  };
  const rows = new Map();
  for (const cell of all.filter(({ y }) => y > header)) {
    const number = Math.floor((cell.y - header) / row);
    const bottom = top + header + row * (number + 1);
    const place = heads.findLastIndex(({ x }) => x <= cell.x + 2);
    if (place < 0 || bottom > window.innerHeight) continue;
    const end = Math.min(width, place + 1 < heads.length ? heads[place + 1].x - 8 : width);
    const cells = rows.get(number) || rows.set(number, {}).get(number);
    cells[heads[place].text] = `${cells[heads[place].text] || ''} ${seen(cell, end)}`.trim();
  }
  return Array.from(rows.keys()).sort((one, other) => one - other).map((number) => rows.get(number));
}
"""


def record(page: Page) -> None:
    """Record what is written on canvases, from the next page on."""
    page.add_init_script(_RECORD)


def seen_rows(table: Locator, row_height: int = 33) -> list[Mapping[str, str]]:
    """The rows of a table that are whole in the window: by column, the part of the text that is not cut off.

    Columns out of view are missing. Lines of a cell that wraps are joined by a space.
    """
    rows: list[Mapping[str, str]] = table.evaluate(_SEEN, [33, row_height])
    return rows
