"use strict";

// The knobs of the ranking, under the names of RankKnobs.

const STRATEGIES = { cosine: "cosine", bm25: "BM25", fused: "fused" };

/** The value of a number knob, as its description tells it. */
const told = (knob, value) => knob.labels[value] ?? `${knob.type === "integer" ? value : value.toFixed(2)} ${knob.unit}`.trim();

/**
 * The knobs as a fieldset. `change` is called with what moved, or with nothing to set all back. `show` draws values and
 * marks those that moved; `inWords` tells them in a sentence. `exclude` takes a page by its key out, or back in.
 */
function knobsView(run, data, isEnabled, change, { titles, exclude }) {
  const described = new Map(run.controls.map(knob => [knob.name, knob])), drawn = {};
  const numbers = run.controls.filter(knob => knob.type === "integer" || knob.type === "number");
  const sites = run.controls.filter(knob => knob.type === "string" && knob.longest);
  const others = numbers.filter(knob => !knob.common);
  const frame = (name, head, ...controls) => (drawn[name] = { box: el("div", { class: "kn" }, head, controls) }).box;
  const reset = () => change(null);

  function range({ name, title, minimum, maximum, step, needs_vectors }) {
    const id = `knob-${name}`, output = el("output", { for: id });
    const input = el("input", { type: "range", id, min: minimum, max: maximum, step, disabled: needs_vectors && !data.cosine, input: () => change({ [name]: +input.value }) });
    const box = frame(name, el("label", { for: id }, el("span", {}, title), output), input);
    Object.assign(drawn[name], { input, output });
    return box;
  }
  function site({ name, title, longest }) {
    const id = `knob-${name}`, input = el("input", { type: "text", id, class: "txt", maxlength: longest, placeholder: "example.org, edu", autocomplete: "off", spellcheck: "false", input: () => change({ [name]: input.value }) });
    const box = frame(name, el("label", { for: id }, el("span", {}, title)), input);
    drawn[name].input = input;
    return box;
  }
  const choices = Object.entries(STRATEGIES).map(([name, title]) => el("button", { type: "button", value: name, disabled: name !== "bm25" && !data.cosine, click: () => change({ strategy: name }) }, title));
  const strategy = frame("strategy", el("div", { class: "lab" }, el("span", {}, described.get("strategy").title)), el("div", { class: "seg", role: "group", "aria-label": described.get("strategy").title }, choices),
    !data.cosine && el("p", { class: "quiet" }, "No vectors: BM25 alone ranks."));
  const rerank = el("input", { type: "checkbox", id: "knob-rerank", change: () => change({ rerank: rerank.checked }) });
  const reranking = data.rerank && frame("rerank", el("label", { for: "knob-rerank" }, el("span", {}, described.get("rerank").title), rerank));
  const isMoreInUse = run.knobs.excluded.length > 0 || [...others, ...sites].some(knob => run.knobs[knob.name] !== knob.default);
  const excluded = el("ul", { class: "plain" });
  const more = el("details", { class: "more", open: isMoreInUse }, el("summary", {}, "More"), others.map(range), sites.map(site),
    frame("excluded", el("div", { class: "lab" }, el("span", {}, described.get("excluded").title)), excluded, el("p", { class: "quiet" }, "A page is excluded where it is read.")));
  const back = button("undo", "As it was", { class: "btn wide", click: reset });
  const box = el("section", { class: "knobs", "aria-label": "Knobs" }, el("fieldset", { disabled: !isEnabled }, sectionHeading("Knobs", "apply at once"),
    el("div", { class: "krow" }, range(described.get("top_k")), strategy, reranking, numbers.filter(knob => knob.common && knob.name !== "top_k").map(range), more), back));

  function show(knobs, moved) {
    for (const [name, { box: knob, input, output }] of Object.entries(drawn)) {
      knob.classList.toggle("moved", moved.includes(name));
      if (!input) continue;
      if (document.activeElement !== input || input.type === "range") input.value = knobs[name];
      if (!output) continue;
      output.textContent = told(described.get(name), knobs[name]);
      input.style.setProperty("--filled", `${(100 * (knobs[name] - input.min)) / (input.max - input.min)}%`);
      input.setAttribute("aria-valuetext", output.textContent);
    }
    excluded.replaceChildren(...knobs.excluded.map(key => el("li", {}, el("span", { dir: "auto" }, titles.get(key) ?? key), " ", button("undo", "Include", { class: "btn plain", click: () => exclude(key) }))));
    const used = data.cosine ? knobs.strategy : "bm25";
    for (const choice of choices) choice.setAttribute("aria-pressed", String(choice.value === used));
    drawn.cosine_weight.input.disabled = used !== "fused";
    rerank.checked = knobs.rerank;
    back.disabled = !moved.length;
  }

  function inWords(knobs) {
    const used = data.cosine ? knobs.strategy : "bm25";
    const parts = numbers.filter(({ name }) => name !== "top_k" && name !== "cosine_weight").map(knob => `${knob.title.toLowerCase()} ${told(knob, knobs[knob.name])}`);
    const chosen = sites.filter(({ name }) => knobs[name]).map(({ name, title }) => `${title.toLowerCase()}: ${knobs[name]}`);
    const weight = used === "fused" ? ` (weight of cosine ${knobs.cosine_weight.toFixed(2)})` : "";
    if (knobs.excluded.length) chosen.push(`${plural(knobs.excluded.length, "page")} excluded`);
    return `${[`${plural(knobs.top_k, "passage")} asked for`, `ranked by ${STRATEGIES[used]}${weight}`, ...parts, ...chosen].join(", ")}.`;
  }
  return { box, show, inWords, reset };
}
