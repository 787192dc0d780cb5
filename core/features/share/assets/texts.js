"use strict";

// Texts of pages and passages. Offsets count code points, as in Python; a JavaScript string counts UTF-16 units.

const SURROGATE = /[\ud800-\udfff]/;

/** Pages with their text in pieces, and the passages by row as slices of them. */
class Texts {
  constructor({ pages, places }, pageOf) {
    this.pages = pages.map(page => ({ ...page, pieces: page.pieces.map(([start, text]) => new Piece(start, text)) }));
    this.places = places;
    this.pageOf = pageOf;
  }

  page(row) {
    return this.pages[this.pageOf[row]];
  }

  /** The passage's text; null where the file does not have it. */
  passage(row) {
    const [start, end] = this.places[row];
    return this.page(row).pieces.find(piece => piece.start <= start && end <= piece.end)?.slice(start, end) ?? null;
  }

  /** What is there of the page of a passage, as runs of text: `row` is the passage, or one of `others`, that a run belongs to. */
  runs(row, others) {
    const rows = [row, ...others.filter(other => other !== row && this.pageOf[other] === this.pageOf[row])];
    return this.page(row).pieces.map(piece => {
      const edges = rows.flatMap(each => this.places[each]).filter(edge => piece.start < edge && edge < piece.end);
      const cuts = [...new Set([piece.start, ...edges, piece.end])].sort((a, b) => a - b);
      return cuts.slice(1).map((end, i) => {
        const owner = rows.find(each => this.places[each][0] <= cuts[i] && end <= this.places[each][1]);
        return { text: piece.slice(cuts[i], end), row: owner ?? null };
      });
    });
  }

  /** The passage as lines of qrels name it. */
  qrelsName(row) {
    return `${this.page(row).qrels}#char=${this.places[row].join(",")}`;
  }
}

/** A text that stands at `start` in its page. */
class Piece {
  constructor(start, text) {
    this.start = start;
    this.units = SURROGATE.test(text) ? Array.from(text) : text;
    this.end = start + this.units.length;
  }

  slice(start, end) {
    const part = this.units.slice(start - this.start, end - this.start);
    return typeof part === "string" ? part : part.join("");
  }
}
