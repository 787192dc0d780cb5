"use strict";

// What is drawn of a run: phases, answer, sources, hits, notices, the reader of a passage, the sheet for paper.

const PHASE_NOTES = { failed: "failed", partial: "with a warning", cut: "cut short", waiting: "not reached" };

const brand = () => el("span", { class: "brand", role: "img", "aria-label": "OpenQuery" },
  el("svg", { viewBox: "2 2 28 28", "aria-hidden": "true" },
    el("path", { class: "ring", d: "M22.9 21.6A11 11 0 1 1 26.2 13.4" }), el("path", { class: "words", d: "M10.2 11.6h9.6M10.2 16.4h5.6" }), el("path", { class: "grip", d: "M20.2 18.9l7.2 7.4" })),
  el("span", { "aria-hidden": "true" }, "Open", el("b", {}, "Query")));

function phasesView(phases) {
  const cells = phases.map(({ phase, title, count, unit, seconds, state }) => el("div", { class: `stp ${state}`, "data-phase": phase, role: "listitem" },
    el("div", { class: "n" }, icon(phase), el("span", {}, title), el("time", {}, duration(seconds))),
    el("div", { class: "c" }, count || "–", unit && el("small", {}, unit), PHASE_NOTES[state] && el("small", { class: "note" }, PHASE_NOTES[state]))));
  return el("div", { class: "steps", role: "list", "aria-label": "Phases of the run" }, cells);
}

/** The elements of core/text/markdown/elements.py; a citation is a button. */
function answerElements(parts, cite) {
  return parts.map(part => {
    if (typeof part === "string") return part;
    if ("cite" in part) return cite(part.cite, part.snippet);
    return el(part.tag, { start: part.start }, answerElements(part.in, cite));
  });
}

function answerView(run, cite) {
  const figures = run.facts.map(([figure, unit]) => (figure ? el("span", {}, el("b", {}, figure), " ", unit) : el("span", { class: "r" }, unit)));
  const missing = run.error ? "The run failed before an answer was written." : "No answer: the run ended before one was written.";
  return el("article", { class: "card lift ans", "aria-label": "Answer" }, el("h2", { class: "unseen" }, "Answer"),
    el("div", { class: "prose", dir: "auto" }, run.answer.length ? answerElements(run.answer, cite) : el("p", { class: "quiet" }, missing)),
    figures.length > 0 && el("div", { class: "facts" }, figures),
    el("p", { class: "gone-note", hidden: true }, "The answer is as it was written. A struck number ", el("span", { class: "cite gone" }, "n"), " has left the context."));
}

const SHOWN_WARNINGS = 2;

/** Failure and notices of the run, worst first. */
function noticesView({ error, notices }) {
  const flags = notices.filter(({ severity }) => severity === "warning");
  const notes = notices.filter(({ severity }) => severity !== "warning");
  const folded = (lines, noun) => lines.length > 0 && el("details", { class: "fold" }, el("summary", {}, plural(lines.length, noun)), el("ul", { class: "plain" }, lines.map(notice => el("li", {}, line(notice)))));
  const line = ({ phase, message, hint }) => [el("b", {}, phase[0].toUpperCase() + phase.slice(1)), ` ${message} `, hint && el("em", {}, hint)];
  return [
    error && el("div", { class: "flag bad" }, icon("broken"), el("div", {}, el("b", {}, "The run failed. "), `${error.message} `, error.hint && el("em", {}, error.hint))),
    ...flags.slice(0, SHOWN_WARNINGS).map(notice => el("div", { class: "flag" }, icon("warning"), el("div", {}, line(notice)))),
    folded(flags.slice(SHOWN_WARNINGS), "more warning"),
    folded(notes, "note"),
  ].filter(Boolean);
}

/** A link that a click follows, or the words alone where no browser should be sent to the address. */
const link = (url, words) => (url ? el("a", { href: url, target: "_blank", rel: "noreferrer noopener", dir: "auto" }, words) : el("span", { dir: "auto" }, words));

function hitsView({ queries, hits }) {
  const row = ({ title, site, url, outcome, reason }, place) => el("tr", {}, el("td", { class: "num" }, String(place + 1)),
    el("td", {}, link(url, title), el("small", {}, site)), el("td", {}, outcome, reason && el("small", {}, reason)));
  return el("details", { class: "fold hits" },
    el("summary", {}, `${plural(hits.length, "hit")} of ${queries.length === 1 ? "1 query" : `${queries.length} queries`}`),
    el("ul", { class: "plain" }, queries.map(({ text, author }) => el("li", { dir: "auto" }, el("bdi", {}, text), el("small", {}, ` ${author}`)))),
    hits.length > 0 && el("div", { class: "tbl", tabindex: "0", role: "region", "aria-label": "Hits" }, el("table", {},
      el("thead", {}, el("tr", {}, ["place", "hit", "outcome"].map((name, i) => el("th", { scope: "col", class: i ? null : "num" }, name)))), el("tbody", {}, hits.map(row)))));
}

/** The steps of an agent; each opens to why the model took it, and what it was told. */
function stepsView({ steps }) {
  if (!steps.length) return null;
  const row = ({ number, tool, argument, outcome, seconds, reason, result }) => el("tr", {}, el("td", { class: "num" }, String(number)),
    el("td", {}, reason || result ? el("details", {}, el("summary", {}, el("b", {}, tool), " ", el("span", { dir: "auto" }, argument)), reason && el("p", { dir: "auto" }, reason), result && el("p", { class: "told", dir: "auto" }, result)) : [el("b", {}, tool), " ", el("span", { dir: "auto" }, argument)]),
    el("td", {}, outcome), el("td", { class: "num" }, duration(seconds)));
  return el("details", { class: "fold hits" }, el("summary", {}, `${plural(steps.length, "step")} of the agent`),
    el("div", { class: "tbl", tabindex: "0", role: "region", "aria-label": "Steps of the agent" }, el("table", {},
      el("thead", {}, el("tr", {}, ["step", "tool", "outcome", "time"].map((name, i) => el("th", { scope: "col", class: i % 3 ? null : "num" }, name)))), el("tbody", {}, steps.map(row)))));
}

/** The sub-questions of a deep run with what became of each. */
function sectionsView({ sections }) {
  if (!sections.length) return null;
  const figures = ({ state, sources, tokens, seconds }) => (state === "written" ? [plural(sources.length, "source"), `${tokens.toLocaleString("en")} tokens`, duration(seconds)].filter(Boolean).join(", ") : state);
  return el("details", { class: "fold hits" }, el("summary", {}, plural(sections.length, "sub-question")),
    el("ol", { class: "plain" }, sections.map(section => el("li", { dir: "auto" }, el("bdi", {}, section.question), el("small", {}, ` ${figures(section)}`), section.sources?.length > 0 && el("small", {}, ` [${section.sources.join("] [")}]`)))));
}

/** The number of a passage in the run's context; a plus sign for one that is new there. */
const numberBox = (number, kind = "") => el("span", { class: `nbox ${kind}${number ? "" : " plus"}`, title: number ? null : "new in the context" }, number ? String(number) : "+");

function meter(value) {
  const bar = el("i");
  bar.style.width = `${Math.round(100 * Math.min(Math.max(value || 0, 0), 1))}%`;
  return el("span", { class: "meter" }, bar);
}

/** A card of a source. `kind` is new, left or empty; `tag` says why. */
function sourceCard(row, { title, site, text, value, number, kind, tag, isChosen }, choose) {
  return el("button", { class: `src ${kind} ${isChosen ? "on" : ""}`, type: "button", "data-row": row, click: () => choose(row) },
    numberBox(number, kind === "left" ? "out" : ""),
    el("span", { class: "b" }, el("span", { class: "t" }, el("span", { class: "cut", dir: "auto" }, title), tag && el("span", { class: `tag ${kind === "new" ? "m" : ""}` }, tag)),
      el("span", { class: "s", dir: "auto" }, text ?? "Its text was left out of this file."),
      el("span", { class: "d" }, el("span", { class: "cut" }, site), value !== null && el("span", {}, score(value))), value !== null && meter(value)));
}

const GRADES = [["Relevant", 2], ["Partly", 1], ["Not relevant", 0]];

/** The passage in what is there of its page, and the buttons that label it. */
function fillReader(box, row, { texts, number, inContext, context, place, value, reason, grade, isExcluded }, { close, label, exclude }) {
  const page = texts.page(row);
  const paragraphs = texts.runs(row, context).map((runs, i) => [i > 0 && el("p", { class: "gap" }, "Text left out"),
    el("p", { dir: "auto" }, runs.map(run => (run.row === null ? run.text : el("mark", { class: run.row === row ? "own" : "other" }, run.text))))]);
  const figures = [place !== null && ["rank ", el("b", {}, place.toLocaleString("en")), ", "], value !== null && ["cosine ", el("b", {}, score(value)), ", "],
    inContext ? [el("b", {}, "in"), " the context"] : reason];
  box.replaceChildren(
    el("div", { class: "h" }, (number || inContext) && numberBox(number, inContext ? "on" : "out"), el("h2", { class: "cut" }, link(page.url, page.title)), button(isExcluded ? "undo" : "skip", isExcluded ? "Include page" : "Exclude page", { class: "btn plain r xp", click: exclude }), button("close", "Close", { class: "btn plain", click: close })),
    el("div", { class: "body", tabindex: "0", role: "region", "aria-label": "Text of the page" }, texts.passage(row) === null ? el("p", { class: "quiet" }, "The text of this passage was left out of this file. Its scores are here, and it is ranked with the others.") : paragraphs),
    el("div", { class: "f", role: "group", "aria-label": "Label this passage" },
      GRADES.map(([name, value], i) => el("button", { class: "btn lb", type: "button", "aria-pressed": String(grade === value), click: () => label(value) }, name, " ", el("kbd", {}, String(i + 1)))),
      el("span", { class: "r" }, figures)));
  const mark = box.querySelector("mark.own"), body = box.querySelector(".body");
  if (mark) body.scrollTop = Math.max(0, mark.offsetTop - 24);
}

function paperSources(cards) {
  return cards.map(({ number, title, url, site, text, value }) => el("div", { class: "pr" }, el("b", {}, String(number || "+")),
    el("div", {}, el("b", { dir: "auto" }, title), " ", el("span", { class: "u" }, [url || site, value !== null && `cosine ${score(value)}`].filter(Boolean).join(", ")), el("div", { class: "x", dir: "auto" }, text ?? ""))));
}
