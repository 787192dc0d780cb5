"use strict";

// The knobs of the ranking, under the names of RankKnobs.

/** Title, reach and step of the slider, and how a value is told. */
const RANGES = {
  top_k: ["Passages in the context", 0, 50, 1, String],
  cosine_weight: ["Weight of cosine", 0, 1, 0.05, value => value.toFixed(2)],
  diversity: ["Diversity", 0, 1, 0.05, value => (value ? value.toFixed(2) : "none")],
  per_page: ["Limit a page", -1, 10, 1, value => (value < 0 ? "automatic" : String(value || "none"))],
  min_similarity: ["Minimum similarity", 0, 1, 0.01, value => (value ? value.toFixed(2) : "none")],
  threshold: ["Minimum cosine", -1, 1, 0.01, value => (value > -1 ? value.toFixed(2) : "none")],
  max_documents: ["Documents", 0, 20, 1, value => String(value || "any")],
  per_cluster: ["Limit a duplicate group", 0, 10, 1, value => String(value || "none")],
  min_characters: ["Shortest passage", 0, 1000, 10, value => (value ? `${value} characters` : "any")],
};
const MAIN = ["cosine_weight", "diversity", "per_page", "min_similarity"];
const MORE = ["threshold", "max_documents", "per_cluster", "min_characters"];
const SITES = { only_domains: "Only these sites", without_domains: "Excluded sites" };
const STRATEGIES = { cosine: "cosine", bm25: "BM25", fused: "fused" };
const NEED_VECTORS = new Set(["cosine_weight", "diversity", "min_similarity", "threshold"]);

/**
 * The knobs as a fieldset. `change` is called with what moved, or with nothing to set all back. `show` draws values and
 * marks those that moved; `inWords` tells them in a sentence. `exclude` takes a page by its key out, or back in.
 */
function knobsView(run, data, isEnabled, change, { titles, exclude }) {
  const drawn = {};
  const frame = (name, head, ...controls) => (drawn[name] = { box: el("div", { class: "kn" }, head, controls) }).box;
  const reset = () => change(null);

  function range(name) {
    const [title, low, high, step] = RANGES[name], id = `knob-${name}`, output = el("output", { for: id });
    const input = el("input", { type: "range", id, min: low, max: Math.max(high, run.knobs[name]), step, disabled: NEED_VECTORS.has(name) && !data.cosine, input: () => change({ [name]: +input.value }) });
    const box = frame(name, el("label", { for: id }, el("span", {}, title), output), input);
    Object.assign(drawn[name], { input, output });
    return box;
  }
  function site(name) {
    const id = `knob-${name}`, input = el("input", { type: "text", id, class: "txt", maxlength: 1000, placeholder: "example.org, edu", autocomplete: "off", spellcheck: "false", input: () => change({ [name]: input.value }) });
    const box = frame(name, el("label", { for: id }, el("span", {}, SITES[name])), input);
    drawn[name].input = input;
    return box;
  }
  const choices = Object.entries(STRATEGIES).map(([name, title]) => el("button", { type: "button", value: name, disabled: name !== "bm25" && !data.cosine, click: () => change({ strategy: name }) }, title));
  const strategy = frame("strategy", el("div", { class: "lab" }, el("span", {}, "Ranking")), el("div", { class: "seg", role: "group", "aria-label": "Ranking" }, choices),
    !data.cosine && el("p", { class: "quiet" }, "No vectors: BM25 alone ranks."));
  const rerank = el("input", { type: "checkbox", id: "knob-rerank", change: () => change({ rerank: rerank.checked }) });
  const reranking = data.rerank && frame("rerank", el("label", { for: "knob-rerank" }, el("span", {}, "Reranking model"), rerank));
  const isMoreInUse = run.knobs.excluded.length > 0 || [...MORE, ...Object.keys(SITES)].some(name => run.knobs[name] !== { threshold: -1, only_domains: "", without_domains: "" }[name] && run.knobs[name]);
  const excluded = el("ul", { class: "plain" });
  const more = el("details", { class: "more", open: isMoreInUse }, el("summary", {}, "More"), MORE.map(range), Object.keys(SITES).map(site),
    frame("excluded", el("div", { class: "lab" }, el("span", {}, "Excluded pages")), excluded, el("p", { class: "quiet" }, "A page is excluded where it is read.")));
  const back = button("undo", "As it was", { class: "btn wide", click: reset });
  const box = el("section", { class: "knobs", "aria-label": "Knobs" }, el("fieldset", { disabled: !isEnabled }, kicker("Knobs", "apply at once"),
    el("div", { class: "krow" }, range("top_k"), strategy, reranking, MAIN.map(range), more), back));

  function show(knobs, moved) {
    for (const [name, { box: knob, input, output }] of Object.entries(drawn)) {
      knob.classList.toggle("moved", moved.includes(name));
      if (!input) continue;
      if (document.activeElement !== input || input.type === "range") input.value = knobs[name];
      if (!output) continue;
      output.textContent = RANGES[name][4](knobs[name]);
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
    const told = ["diversity", "per_page", "min_similarity", ...MORE].map(name => `${RANGES[name][0].toLowerCase()} ${RANGES[name][4](knobs[name])}`);
    const sites = Object.entries(SITES).filter(([name]) => knobs[name]).map(([name, title]) => `${title.toLowerCase()}: ${knobs[name]}`);
    const weight = used === "fused" ? ` (weight of cosine ${knobs.cosine_weight.toFixed(2)})` : "";
    if (knobs.excluded.length) sites.push(`${plural(knobs.excluded.length, "page")} excluded`);
    return `${[`${plural(knobs.top_k, "passage")} asked for`, `ranked by ${STRATEGIES[used]}${weight}`, ...told, ...sites].join(", ")}.`;
  }
  return { box, show, inWords, reset };
}
