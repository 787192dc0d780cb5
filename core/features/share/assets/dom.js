"use strict";

// Elements are made one by one and texts are text nodes: nothing of a run is ever read as HTML.

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "g", "path", "circle", "line", "polyline", "polygon", "text"]);

/** An element with attributes (functions are listeners, `null` and `false` leave one out) and children. */
function el(tag, attributes = {}, ...children) {
  const made = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== null && value !== false && value !== undefined) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(9).filter(child => child !== null && child !== false && child !== undefined && child !== ""));
  return made;
}

/** Icons of 16 units, drawn with strokes. */
const ICONS = {
  plan: "M2 4h8M2 8h6M2 12h4M10 12l4-4-1.6-1.6-4 4V12z",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.4 10.4 14 14",
  read: "M3.5 2h9v12h-9zM6 5.5h4M6 8h4M6 10.5h2.5",
  chunk: "M2 4h12M2 8h12M2 12h7",
  embed: "M8 8 3.5 4M8 8l4.5-4M8 8l-4 4.5M8 8l4.5 4M8 6.4a1.6 1.6 0 1 0 .01 0M3 2.5a1 1 0 1 0 .01 0M13 2.5a1 1 0 1 0 .01 0M3.5 12a1 1 0 1 0 .01 0M13 11.5a1 1 0 1 0 .01 0",
  rank: "M3 14V8M8 14V3M13 14v-4M1.5 14h13",
  answer: "M6.5 3 8 7l4 1.5L8 10l-1.5 4L5 10 1 8.5 5 7zM12.5 1.5v4M10.5 3.5h4",
  seal: "M8 1.5 9.8 3 12 2.8l.6 2.2L14.5 6.3 13.6 8.4l.9 2.1-2 1.2-.6 2.2-2.2-.2L8 15l-1.8-1.3-2.2.2-.6-2.2-1.9-1.2.9-2.1-.9-2.1L3.4 5 4 2.8 6.2 3zM5.5 8.3l1.8 1.8 3.3-3.5",
  broken: "M8 1.5 13.5 3.5v4c0 3.5-2.3 5.8-5.5 7-3.2-1.2-5.5-3.5-5.5-7v-4zM6 6l4 4M10 6l-4 4",
  label: "M2 3.5h7.5L14 8l-4.5 4.5H2z",
  print: "M4 6V2h8v4M4 11H2V6h12v5h-2M4.5 9.5h7V14h-7z",
  undo: "M5.5 3 2.5 6l3 3M2.5 6H10a3.5 3.5 0 0 1 0 7H6",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  skip: "M8 2a6 6 0 1 0 .01 0M5 8h6",
  tune: "M2 5h7M13 5h1M2 11h1M7 11h7M11 3.2v3.6M5 9.2v3.6",
  warning: "M8 2 14.5 13.5h-13zM8 6.5v3M8 11.3v.4",
  check: "M3 8.5l3.2 3.2L13 5",
};
const icon = name => el("svg", { class: "i", viewBox: "0 0 16 16", "aria-hidden": "true" }, el("path", { d: ICONS[name] }));

const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
const sum = numbers => numbers.reduce((all, each) => all + each, 0);
const short = digest => `${digest.slice(0, 8)} … ${digest.slice(-8)}`;

/** Seconds as milliseconds, seconds or minutes. */
function duration(seconds) {
  if (seconds === null) return "";
  if (seconds < 0.0995) return `${Math.round(1000 * seconds)} ms`;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(Math.round(seconds) / 60)} min ${Math.round(seconds) % 60} s`;
}

/** A moment (ISO 8601) as day and minute in UTC. */
const moment = iso => new Date(iso).toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short", timeZone: "UTC" }) + " UTC";

/** A score with three digits, or a dash where there is none. */
const score = value => (value === undefined || isNaN(value) ? "–" : value.toFixed(3));

const sectionHeading = (title, note = "", attributes = {}) => el("div", { class: "section-heading", ...attributes }, el("h2", {}, title), note && el("span", {}, note));
const button = (name, text, attributes) => el("button", { class: "btn", type: "button", ...attributes }, icon(name), el("span", {}, text));
