"use strict";

// The rules of core/stages/rank.py and of context_selection.py and mmr.py in core/stages/ranking, step by step. Scores
// are 32 bits wide and sums 64, as there: a Float32Array or Math.fround rounds wherever NumPy does. A test holds both
// to the same order and context.

const ARRAYS = { int16: Int16Array, float32: Float32Array, int32: Int32Array, uint8: Uint8Array };

/** The numbers of an array as `core.model.arrays.array_to_json` writes it. */
function numbers({ dtype, base64 }) {
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new ARRAYS[dtype](bytes.buffer);
}

/** The part `ranking` of the file with its arrays as typed arrays. */
function rankingData(part) {
  const arrays = Object.entries(part).filter(([, value]) => value?.base64);
  return { ...part, ...Object.fromEntries(arrays.map(([name, value]) => [name, numbers(value)])) };
}

/**
 * The passages ranked under `knobs`, the values of RankKnobs: `order` and `context` are rows, best first, `scores` is
 * what the order falls by, by row (`decidedBy` names it), and `reasons` says why a row is not in the context, by row.
 */
function ranked(data, knobs) {
  const byBm25 = !data.cosine || knobs.strategy === "bm25";
  let strategy = byBm25 ? "bm25" : knobs.strategy;
  let scores = { bm25: () => data.bm25, cosine: () => data.cosine, fused: () => fusion(data, knobs.cosine_weight) }[strategy]();
  let order = bestFirst(scores);
  if (knobs.rerank && data.rerank) {
    [strategy, scores] = ["rerank", data.rerank];
    const reranked = new Set(bestFirst(scores).filter(row => !isNaN(scores[row])));
    order = [...reranked, ...order.filter(row => !reranked.has(row))];
  }
  let decidedBy = strategy;
  if (knobs.diversity && data.vectors) {
    decidedBy = "marginal relevance";
    [order, scores] = diversified(data, order, relevance(scores, strategy), knobs.diversity);
  }
  return { strategy, decidedBy, scores, order, ...selected(data, order, knobs, byBm25) };
}

/** Rows by falling score, equal ones by row, those without a score last. */
function bestFirst(scores) {
  const keys = Float32Array.from(scores, score => (isNaN(score) ? -Infinity : score));
  return Array.from(keys.keys()).sort((a, b) => keys[b] - keys[a]);
}

/** Reciprocal rank fusion with the weight of cosine, as `fusion` and `cosine_share` have it. */
function fusion({ cosine, bm25, share, above, rules }, weight) {
  const shares = [weight, weight * rules.unsupported_language_weight, 0, 1].map(Math.fround);
  const fused = new Float64Array(cosine.length);
  const add = (scores, has, shareOf, unseen) => bestFirst(scores).filter(has).forEach((row, place) => {
    fused[row] += (2 * shareOf(row)) / (rules.rrf_k + place + 1 + unseen(row));
  });
  add(cosine, row => !isNaN(cosine[row]), row => shares[share[row]], row => above?.[row] ?? 0);
  add(bm25, row => bm25[row] > 0, row => 1 - shares[share[row]], () => 0);
  return Float32Array.from(fused);
}

/** Cosines unchanged, other scores rescaled to 0 to 1. */
function relevance(scores, strategy) {
  if (strategy === "cosine" || !scores.length) return scores;
  const known = scores.filter(score => !isNaN(score));
  const low = strategy === "rerank" ? known.reduce((a, b) => Math.min(a, b)) : 0;
  const span = Math.fround(Math.max(known.reduce((a, b) => Math.max(a, b)) - low, 1e-12));
  return scores.map(score => Math.fround(score - low) / span);
}

/** The order with its best passages picked by maximal marginal relevance, and the value by row with which each was picked. */
function diversified(data, order, relevant, diversity) {
  const { width, unit, rules } = data, pool = order.slice(0, rules.mmr_pool);
  const vectors = (data.floats ??= new Float32Array(data.vectors).map(step => step * unit));
  const pooled = pool.map(row => vectors.subarray(row * width, (row + 1) * width));
  const gains = pool.map(row => (1 - diversity) * (isNaN(relevant[row]) ? -1 : relevant[row]));
  const nearest = new Float64Array(pool.length), left = new Set(pool.keys()), picked = [];
  const values = new Float32Array(relevant.length).fill(NaN);
  while (left.size) {
    let best = -1, most = -Infinity;
    for (const place of left) {
      const value = gains[place] - diversity * nearest[place];
      if (value > most) [best, most] = [place, value];
    }
    left.delete(best);
    picked.push(pool[best]);
    values[pool[best]] = most;
    const last = pooled[best];
    for (const place of left) {
      nearest[place] = Math.max(nearest[place], Math.min(Math.max(product(last, pooled[place]), 0), 1));
    }
  }
  return [[...picked, ...order.slice(rules.mmr_pool)], values];
}

/** The product of two vectors, in four sums that do not wait for each other. */
function product(one, other) {
  let a = 0, b = 0, c = 0, d = 0, i = 0;
  for (; i + 3 < one.length; i += 4) {
    a += one[i] * other[i];
    b += one[i + 1] * other[i + 1];
    c += one[i + 2] * other[i + 2];
    d += one[i + 3] * other[i + 3];
  }
  for (; i < one.length; i++) a += one[i] * other[i];
  return a + b + c + d;
}

// --- the context -------------------------------------------------------------------------------------------

/** The rows that become sources, and the reasons against the others. */
function selected(data, order, knobs, byBm25) {
  const reasonAgainst = unfit(data, knobs, byBm25);
  const reasons = Array(order.length).fill(null);
  const fit = order.filter(row => !(reasons[row] = reasonAgainst(row)));
  const admit = contextBudget(data, knobs, pageLimit(data, fit, knobs));
  return { reasons, context: fit.filter(row => !(reasons[row] = admit(row))) };
}

/** What tells why a row cannot become a source, however few there are; null for one that can. */
function unfit({ pages, page, length, cosine, bm25, rules }, knobs, byBm25) {
  const allowed = domains(knobs.only_domains), refused = domains(knobs.without_domains), excluded = new Set(knobs.excluded);
  const least = Math.max(knobs.threshold, cosineOf(knobs.min_similarity, rules.calibration));
  const needsVector = cosine && !(byBm25 && least <= -1);  // where words alone decide, a passage needs none
  const against = pages.map(({ key, host }) => {
    if (excluded.has(key)) return rules.reasons.excluded;
    const isOutside = allowed.size && !within(host, allowed);
    return isOutside || (refused.size && within(host, refused)) ? rules.reasons.domain : null;
  });
  return row => {
    if (against[page[row]]) return against[page[row]];
    if (length[row] < knobs.min_characters) return rules.reasons.short;
    if (needsVector && !(cosine[row] >= least)) return isNaN(cosine[row]) ? rules.reasons.no_vector : rules.reasons.threshold;
    return byBm25 && !(bm25[row] > 0) ? rules.reasons.no_word : null;
  };
}

/** A function that admits a row to the context and returns null, or returns why it does not fit. */
function contextBudget({ pages, page, copies, rules }, knobs, perPage) {
  const ofPage = new Map(), documents = new Set(), admitted = new Set();
  return row => {
    const key = page[row], source = pages[key].document, ofOwnPage = ofPage.get(key) ?? 0;
    if (admitted.size === knobs.top_k) return rules.reasons.cut;
    if (perPage && ofOwnPage === perPage) return rules.reasons.page_full;
    if (knobs.max_documents && !documents.has(source) && documents.size === knobs.max_documents) return rules.reasons.documents_full;
    const repeated = (copies[row] ?? []).filter(other => admitted.has(other)).length;
    if (knobs.per_cluster && repeated >= knobs.per_cluster) return rules.reasons.copy;
    admitted.add(row);
    ofPage.set(key, ofOwnPage + 1);
    documents.add(source);
    return null;
  };
}

/** How many passages of one page may become sources, of those that can, best first; 0: any number. */
function pageLimit(data, fit, knobs) {
  if (knobs.per_page >= 0) return knobs.per_page;
  const perPage = data.rules.per_page;
  const letIn = (rows, limit) => {
    const admit = contextBudget(data, knobs, limit);
    return rows.reduce((used, row) => used + !admit(row), 0);
  };
  if (letIn(fit, perPage) >= knobs.top_k) return perPage;
  const most = Math.max(perPage, knobs.top_k), full = letIn(fit, most);
  let limit = perPage;
  while (letIn(fit, limit) < full) limit++;
  return limit;
}

/** The lowest cosine with this similarity, as `Calibration.cosine` has it. */
function cosineOf(similarity, { midpoint, slope }) {
  if (similarity <= 0) return -1;
  const logOdds = share => (share >= 1 ? Infinity : Math.log(share / (1 - share)));
  const odds = logOdds(similarity) / slope + logOdds(midpoint);
  return odds > -700 ? 1 / (1 + Math.exp(-odds)) : 0;
}

/** The domains of a list that a person typed, as `domains` reads it. */
function domains(text) {
  const names = text.replaceAll(",", " ").toLowerCase().split(/\s+/).map(name => {
    const host = name.split(/:\/\/(.*)/s)[1] || name;
    return host.split("/")[0].split(":")[0].replace(/^\*/, "").replace(/^\.+|\.+$/g, "").replace(/^www\./, "");
  });
  return new Set(names.filter(Boolean));
}

/** Whether a host is one of the domains or below one of them. */
const within = (host, rules) => host.split(".").some((_, start, labels) => rules.has(labels.slice(start).join(".")));
