"use strict";

// The page: it checks the parts, then draws the run, and draws anew what a knob, a click or a label changes.

function openFile() {
  const page = document.getElementById("page");
  let checked = null;
  try {
    checked = checkedParts();
  } catch {
    return showNotice(page, null, CHANGED, el("p", {}, "Its manifest cannot be read, so nothing of the run is shown. Ask the sender for the file again."));
  }
  if (!checked.parts.every(part => part.same)) return showChanged(page, checked);
  showRun(page, checked, true);
}

const CHANGED = "This file was changed after it was written.";

/** What the comparison does not say. A script that stood before this one could have hidden itself, or written any of these words. */
const LIMITS = "This page has compared all that it can see of itself. It cannot vouch for itself: whoever changes a file can change what it says, too. “openquery open FILE” compares every byte from outside.";

/** The head of the page, with what a run was compared with. */
function header(checked, run = null, ...buttons) {
  const rows = checked?.parts.map(part => [icon(part.same ? "check" : "close"), el("span", {}, part.name), el("code", {}, short(part.present))]) ?? [];
  const seal = run
    ? el("details", { class: "seal" }, el("summary", {}, icon("seal"), el("b", {}, "Matches its manifest"), ` of ${moment(run.written)}`),
      el("div", { class: "pop" }, el("b", {}, "Each part matches its digest in the manifest."), el("div", { class: "dig" }, rows, icon("seal"), el("span", {}, "manifest"), el("code", { class: "whole" }, checked.digest)),
        el("p", {}, LIMITS)))
    : el("span", { class: "seal bad" }, icon("broken"), el("b", {}, checked ? "Changed after it was written" : "Refused"));
  return el("header", { class: "top" }, brand(), el("span", { class: "kind" }, "a run in one file"), el("div", { class: "r" }, seal, buttons));
}

function showNotice(page, checked, title, ...content) {
  const notice = el("section", { class: "notice", role: "alert" }, icon("broken"), el("div", {}, el("h2", {}, title), content));
  page.replaceChildren(header(checked), el("main", {}, page.querySelector("h1"), notice, el("div", { class: "veil" }, "Answer, sources, passages and knobs are not shown.")));
}

function showChanged(page, checked) {
  const changed = checked.parts.filter(part => !part.same).map(part => `“${part.name}”`).join(" and ");
  const extension = checked.parts.some(part => part.name === "page" && !part.same) && "An extension of this browser that adds to pages changes “page” too: try without it. ";
  const rows = checked.parts.map(({ name, wanted, present, same }) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, el("code", {}, short(wanted))), el("td", {}, el("code", {}, short(present))),
    el("td", { class: same ? "ok" : "no" }, icon(same ? "check" : "close"), same ? "unchanged" : "changed")));
  const columns = ["part", "digest in the manifest", "digest of what is here", "state"];
  const anyway = button("warning", "Show it anyway, as unverified", { click: () => {
    try {
      showRun(page, checked, false);
    } catch {
      page.querySelector(".veil").textContent = "The changed part cannot be read.";
    }
  } });
  showNotice(page, checked, CHANGED, el("p", {}, `What does not match its digest: ${changed}. Nothing of the run is shown. Scores, passages and citations may not be those of the run. ${extension || ""}Ask the sender for the file again.`),
    el("table", {}, el("thead", {}, el("tr", {}, columns.map(name => el("th", { scope: "col" }, name)))), el("tbody", {}, rows)), anyway);
}

/** Draws the run; an unverified one without knobs, labels and exports. */
function showRun(page, checked, isSame) {
  const run = JSON.parse(partText("run")), ranking = JSON.parse(partText("ranking"));
  const exported = button("label", "No labels yet", { disabled: true });
  const print_ = button("print", "Print", { click: () => print() });
  const turn = run.turn && el("p", { class: "turn" }, `Question ${run.turn.number} of a conversation, asked as “${run.turn.written}”`);
  const body = ranking ? rankedRun(run, ranking, exported, isSame) : plainRun(run);
  const paper = el("p", { class: "pfoot print" }, isSame ? `Matched its manifest of ${moment(run.written)}, by its own comparison` : "Changed after it was written", `; manifest sha-256 ${checked.digest}. Written by OpenQuery ${run.version}.`, run.started && ` Asked ${moment(run.started)}.`);
  document.title = `${run.question} · OpenQuery run`;
  page.replaceChildren(isSame ? header(checked, run, ranking && exported, print_) : header(checked),
    el("main", {}, el("h1", { class: "question", dir: "auto" }, run.question), turn, !isSame && el("p", { class: "flag bad" }, icon("broken"), "What follows was changed and is shown as unverified."),
      phasesView(run.phases), noticesView(run), body, paper));
  body.ready?.();
}

/** A run that ended before its passages were ranked. */
const plainRun = run => el("div", { class: "lay bare" }, answerView(run, (number, snippet) => `[${number}${snippet ? " · snippet" : ""}]`), sectionsView(run), stepsView(run), hitsView(run));

function rankedRun(run, part, exported, isSame) {
  const data = rankingData(part), texts = new Texts(JSON.parse(partText("texts")), data.page), plane = JSON.parse(partText("map"));
  const numbers = new Map(run.numbers), rowOf = new Map(run.numbers.map(([row, number]) => [number, row]));
  const number = row => numbers.get(row), was = [...numbers.keys()];
  const atFirst = [...data.order], firstPlace = new Map(atFirst.map((row, place) => [row, place]));
  const labels = new Map();
  let knobs = { ...run.knobs }, chosen = null, result = null, place = null;

  const cite = (number_, snippet) => el("button", { class: "cite", type: "button", "data-number": number_, click: () => rowOf.has(number_) && choose(rowOf.get(number_)) }, `${number_}${snippet ? " · snippet" : ""}`);
  const answer = answerView(run, cite);
  const titles = new Map(data.pages.map(({ key }, page) => [key, texts.pages[page].title]));
  const controls = knobsView(run, data, isSame, change => { knobs = { ...(change ? knobs : run.knobs), ...change }; draw(); }, { titles, exclude });
  const reader = el("section", { class: "rdr", "aria-label": "Passage reader", hidden: true });
  const table = windowedTable("Passages by rank", [["rank", "num rank"], ["moved", "num mv"], ["#", "no"], ["cosine", "co"], ["BM25", "num bm"], ["passage", ""], ["label", "la"]]);
  const map = plane && mapView(plane, choose), curve = curveView();
  const tuned = el("div", { class: "tuned", role: "status", hidden: true });
  const sources = el("div", { class: "srcs" }), left = el("div", { class: "srcs" }), leftHead = sectionHeading("Left the context", "", { hidden: true });
  const sourcesNote = el("span"), tableNote = el("span"), curveKind = el("span"), paper = el("div"), paperSettings = el("p", { class: "pfoot" });
  const withNote = (title, note) => { const made = sectionHeading(title); made.append(note); return made; };

  const cosineOfRow = row => (data.cosine ? data.cosine[row] : null);
  const card = row => ({ ...texts.page(row), text: texts.passage(row), value: cosineOfRow(row), number: number(row), isChosen: row === chosen });
  const reasonOf = row => result.reasons[row] ?? "";

  function choose(row) {
    chosen = row;
    draw();
    if (row !== null && innerWidth <= 1100) reader.scrollIntoView({ block: "nearest" });
  }
  function exclude(key) {
    const keys = new Set(knobs.excluded);
    if (!keys.delete(key)) keys.add(key);
    knobs = { ...knobs, excluded: [...new Set([...run.knobs.excluded, ...keys])].filter(each => keys.has(each)) };
    draw();
  }
  function label(grade) {
    if (chosen === null || !isSame) return;
    labels.get(chosen) === grade ? labels.delete(chosen) : labels.set(chosen, grade);
    draw();
  }

  function tableRow(row, index) {
    const inContext = result.context.includes(row), moved = firstPlace.get(row) - index, last = result.context.at(-1);
    const classes = [row === chosen && "on", !inContext && reasonOf(row) !== data.rules.reasons.cut && "low", row === last && "edge"];
    const box = inContext ? numberBox(number(row)) : number(row) ? numberBox(number(row), "out") : null;
    const text = texts.passage(row);
    return el("tr", { "data-row": row, class: classes.filter(Boolean).join(" ") || null, title: inContext ? null : reasonOf(row), click: () => choose(row) },
      el("td", { class: "num rank" }, (index + 1).toLocaleString("en")), el("td", { class: "num mv" }, moved !== 0 && el("span", { class: moved > 0 ? "up" : "dn" }, `${moved > 0 ? "↑" : "↓"}${Math.abs(moved)}`)),
      el("td", { class: "no" }, box), el("td", { class: "co" }, data.cosine && el("span", { class: "bar" }, meter(data.cosine[row]), score(data.cosine[row]))), el("td", { class: "num bm" }, data.bm25[row].toFixed(2)),
      el("td", {}, el("button", { class: "p", type: "button" }, el("span", { class: "cut", dir: "auto" }, (text ?? texts.page(row).title).slice(0, 160)), el("small", { class: "cut" }, text === null ? `${texts.page(row).site}, text left out` : texts.page(row).site))),
      el("td", { class: "la" }, labels.has(row) && el("span", { class: "tag a" }, GRADES.find(([, grade]) => grade === labels.get(row))[0])));
  }

  function draw() {
    const moved = Object.keys(run.knobs).filter(name => String(knobs[name]) !== String(run.knobs[name]));
    result = ranked(data, knobs);
    if (!moved.length) Object.assign(result, { order: atFirst, context: data.context });  // the server's own, to the bit
    place = new Map(result.order.map((row, index) => [row, index + 1]));
    const { context } = result, held = new Set(context);
    const came = context.filter(row => !numbers.has(row)), lost = was.filter(row => !held.has(row));
    controls.show(knobs, moved);
    drawSummary(moved, came, lost);
    sourcesNote.textContent = `${plural(context.length, "passage")} of ${plural(new Set(context.map(row => data.page[row])).size, "page")}`;
    sources.replaceChildren(...(context.length ? context.map(row => sourceCard(row, { ...card(row), kind: numbers.has(row) ? "" : "new", tag: numbers.has(row) ? "" : "new" }, choose)) : [el("p", { class: "quiet" }, "No passage passes these settings.")]));
    leftHead.hidden = !lost.length;
    left.replaceChildren(...lost.map(row => sourceCard(row, { ...card(row), kind: "left", tag: `rank ${place.get(row)}` }, choose)));
    for (const mark of answer.querySelectorAll("[data-number]")) {
      const row = rowOf.get(+mark.dataset.number), isGone = row === undefined || !held.has(row);
      mark.className = `cite${isGone ? " gone" : ""}${row !== undefined && row === chosen ? " on" : ""}`;
      mark.setAttribute("aria-label", `Source ${mark.dataset.number}${isGone ? ", left the context" : ""}`);
    }
    answer.querySelector(".gone-note").hidden = !lost.length;
    table.box.classList.toggle("nomove", !moved.length);
    table.box.classList.toggle("nolabel", !labels.size);
    tableNote.textContent = `${data.page.length.toLocaleString("en")}, ${context.length} in the context; skipped ones keep their rank`;
    drawReader(held);
    table.draw(result.order, tableRow);
    map?.draw({ context, lost, number, chosen });
    curve.draw(result, Math.max(knobs.threshold, cosineOf(knobs.min_similarity, data.rules.calibration)));
    curveKind.textContent = STRATEGIES[result.decidedBy] ?? result.decidedBy;
    exported.disabled = !labels.size;
    exported.querySelector("span").textContent = labels.size ? `Export ${plural(labels.size, "label")}` : "No labels yet";
    paper.replaceChildren(...paperSources(context.map(card)));
    paperSettings.replaceChildren(el("b", {}, "Settings. "), controls.inWords(knobs));
  }

  function drawSummary(moved, came, lost) {
    tuned.hidden = !moved.length;
    const counts = Object.entries(run.citations), all = sum(counts.map(([, count]) => count));
    const losing = sum(counts.filter(([number_]) => !result.context.includes(rowOf.get(+number_))).map(([, count]) => count));
    const told = !all ? "" : losing === all ? "No citation keeps its passage." : losing ? `${losing} of ${plural(all, "citation")} ${losing === 1 ? "loses its" : "lose their"} passage.` : "Every citation keeps its passage.";
    const sums = came.length || lost.length ? [[came.length, `source${came.length === 1 ? "" : "s"} came`], [lost.length, "left"]] : [["The same sources", "in the same or another order"]];
    tuned.replaceChildren(icon("tune"), el("b", {}, told || "Tuned"), ...sums.map(([figure, unit]) => el("span", {}, el("b", {}, String(figure)), ` ${unit}`)), button("undo", "As it was", { click: controls.reset }));
    const step = document.querySelector('[data-phase="rank"]');
    step?.classList.toggle("diff", moved.length > 0);
    step?.querySelector(".c").replaceChildren(String(result.context.length), el("small", {}, "in the context"));
  }

  function drawReader(held) {
    reader.hidden = chosen === null;
    if (chosen === null) return;
    const about = { texts, number: number(chosen), inContext: held.has(chosen), context: result.context, place: place.get(chosen) ?? null, value: cosineOfRow(chosen), reason: reasonOf(chosen), grade: labels.get(chosen), isExcluded: knobs.excluded.includes(data.pages[data.page[chosen]].key) };
    fillReader(reader, chosen, about, { close: () => choose(null), label, exclude: () => exclude(data.pages[data.page[chosen]].key) });
    reader.querySelectorAll(".lb, .xp").forEach(button_ => (button_.disabled = !isSame));
  }

  exported.addEventListener("click", () => download(`${run.id || "run"}.qrels`, [...labels].map(([row, grade]) => `${run.question_id} 0 ${texts.qrelsName(row)} ${grade}\n`).sort().join("")));
  document.addEventListener("keydown", event => {
    const isTyping = event.target.matches?.("input[type=text], textarea");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    if ("123".includes(event.key)) label(GRADES[event.key - 1][1]);
    if (event.key === "Escape" && chosen !== null) choose(null);
  });

  const pictures = el("div", { class: map ? "viz" : "viz single" },
    map && el("div", {}, sectionHeading("Embedding map", `${Math.round(100 * plane.explained)}% of the variance`), legend(), map.picture),
    el("div", {}, withNote("Scores by rank", curveKind), curve.picture));
  const view = el("div", {}, tuned, el("div", { class: "lay" }, controls.box,
    el("div", { class: "colA" }, answer, el("div", { class: "noprint" }, withNote("Sources", sourcesNote), sources, leftHead, left), sectionsView(run), stepsView(run), hitsView(run),
      el("section", { class: "print" }, sectionHeading("Sources in the context"), paper, paperSettings)),
    el("div", { class: "colB" }, reader, pictures, withNote("Passages", tableNote), table.box)));
  view.ready = draw;
  return view;
}

const legend = () => el("div", { class: "legend" }, [["in", "in the context"], ["new", "new"], ["lost", "left"]].map(([name, words]) => el("span", {}, el("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, el("g", { class: `point ${name}` }, el("circle", { cx: 8, cy: 8, r: 6 }), name === "new" && el("path", { d: "M8 5.500v5M5.5 8h5" }))), words)),
  el("span", {}, el("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, star(8, 8.5, 8)), "question"));

function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", openFile); // all of the file is read by then
else openFile();
