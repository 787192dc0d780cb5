"use strict";

// The embedding map and the scores by rank. Both are pictures beside the table, which has the same facts as text.

const MAP = { width: 350, height: 240, margin: 16 };
const CURVE = { width: 210, height: 250, left: 36, right: 8, bottom: 26, top: 10 };

/** A map whose points stay, those of passages with a vector; `draw` puts the context and what left it on top of them. */
function mapView({ points, question }, choose) {
  const { width, height, margin } = MAP, all = [...points.filter(Boolean), question];
  const reach = axis => [Math.min(...all.map(point => point[axis])), Math.max(...all.map(point => point[axis]))];
  const [left, right] = reach(0), [low, high] = reach(1);
  const x = ([value]) => margin + ((value - left) / (right - left || 1)) * (width - 2 * margin);
  const y = ([, value]) => height - margin - ((value - low) / (high - low || 1)) * (height - 2 * margin);
  const on = event => { const row = event.target.closest("[data-row]")?.dataset.row; if (row) choose(+row); };
  const dots = points.flatMap((point, row) => point ? el("circle", { class: "dot", "data-row": row, cx: x(point).toFixed(1), cy: y(point).toFixed(1), r: points.length > 500 ? 2 : 3.4 }) : []);
  const top = el("g");
  const picture = el("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", class: "map", click: on }, dots, top);

  function draw({ context, lost, number, chosen }) {
    const placed = rows => rows.filter(row => points[row]), inContext = placed(context), out = placed(lost);
    const marked = placed(chosen === null ? [] : [chosen]), rows = [...inContext, ...out, ...marked], [ringed] = marked;
    const places = new Map(rows.map(row => [row, [x(points[row]), y(points[row])]]));
    moveApart([...places.values()]);
    const centre = [x(question), y(question)];
    const lines = inContext.map(row => el("line", { class: "ray", x1: centre[0], y1: centre[1], x2: places.get(row)[0], y2: places.get(row)[1] }));
    const mark = row => {
      const [cx, cy] = places.get(row), isLost = lost.includes(row), name = isLost ? "lost" : number(row) ? "in" : "new";
      return el("g", { class: `point ${name}`, "data-row": row }, el("circle", { cx, cy, r: 9 }), el("text", { x: cx, y: cy + 3.8, "text-anchor": "middle" }, String(number(row) || "+")));
    };
    const ring = ringed !== undefined && el("circle", { class: "ring", cx: places.get(ringed)[0], cy: places.get(ringed)[1], r: 13 });
    top.replaceChildren(...lines, star(...centre, 11), ...[...out, ...inContext].map(mark), ...(ring ? [ring] : []));
    picture.setAttribute("aria-label", `Embedding map: ${plural(context.length, "passage")} in the context around the question`);
  }
  return { picture, draw };
}

/** Moves places until none is nearer than 19 to another, so that each number can be read. */
function moveApart(places) {
  for (let round = 0; round < 30; round++)
    for (const [i, a] of places.entries())
      for (const b of places.slice(0, i)) {
        const dx = a[0] - b[0] || 0.1, dy = a[1] - b[1], apart = Math.hypot(dx, dy);
        if (apart >= 19) continue;
        a[0] += (dx / apart) * (19 - apart) / 2;
        a[1] += (dy / apart) * (19 - apart) / 2;
      }
  for (const place of places) {
    place[0] = Math.min(Math.max(place[0], 10), MAP.width - 10);
    place[1] = Math.min(Math.max(place[1], 10), MAP.height - 10);
  }
}

/** A star with five points around a centre. */
function star(x, y, radius) {
  const corner = n => { const r = n % 2 ? radius * 0.42 : radius, a = (n * Math.PI) / 5; return `${x + r * Math.sin(a)},${y - r * Math.cos(a)}`; };
  return el("polygon", { class: "star", points: Array.from({ length: 10 }, (_, n) => corner(n)).join(" ") });
}

/** The deciding scores in their order, with the passages of the context on the line. */
function curveView() {
  const picture = el("svg", { viewBox: `0 0 ${CURVE.width} ${CURVE.height}`, role: "img", class: "curve" });
  function draw({ order, scores, context, decidedBy }, least) {
    const { width, height, left, right, bottom, top } = CURVE;
    const values = order.map(row => scores[row]).filter(value => !isNaN(value));  // rows without a score come last
    const low = Math.min(0, ...values), high = Math.max(...values, 1e-9) * 1.06;
    const x = place => left + (place / Math.max(1, values.length - 1)) * (width - left - right);
    const y = value => top + (1 - (value - low) / (high - low)) * (height - top - bottom);
    const place = new Map(order.map((row, index) => [row, index])), onLine = context.filter(row => place.get(row) < values.length);
    const last = onLine.length ? Math.max(...onLine.map(row => place.get(row))) : null;
    const path = values.map((value, index) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
    picture.setAttribute("aria-label", `Scores by rank, ${decidedBy}`);
    picture.replaceChildren(
      ...ticks(low, high).flatMap(tick => [
        el("line", { class: "grid", x1: left, x2: width - 4, y1: y(tick), y2: y(tick) }),
        el("text", { x: left - 5, y: y(tick) + 4, "text-anchor": "end" }, tickText(tick, high)),
      ]),
      el("polygon", { class: "area", points: `${left},${y(Math.max(low, 0))} ${path} ${x(values.length - 1)},${y(Math.max(low, 0))}` }),
      el("polyline", { class: "line", points: path }),
      ...(decidedBy === "cosine" && least > -1 ? [el("line", { class: "least", x1: left, x2: width - 4, y1: y(least), y2: y(least) })] : []),
      ...(last === null ? [] : [el("line", { class: "limit", x1: x(last + 0.5), x2: x(last + 0.5), y1: 4, y2: height - bottom })]),
      ...onLine.map(row => el("circle", { class: "kept", cx: x(place.get(row)), cy: y(values[place.get(row)]), r: 4 })),
      ...rankTicks(values.length).map(rank => el("text", { x: x(rank - 1), y: height - 8, "text-anchor": "middle" }, String(rank))),
    );
  }
  return { picture, draw };
}

function ticks(low, high) {
  const step = [1, 2, 2.5, 5, 10].map(n => n * 10 ** Math.floor(Math.log10((high - low) / 4))).find(size => (high - low) / size <= 5);
  return Array.from({ length: 12 }, (_, n) => (Math.ceil(low / step) + n) * step).filter(tick => tick <= high);
}

const tickText = (tick, high) => (high < 0.1 ? tick.toFixed(3).replace("0.", ".") : String(+tick.toFixed(2)));

function rankTicks(count) {
  const step = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000].find(size => count / size <= 4) ?? count;
  return [1, ...Array.from({ length: Math.floor(count / step) }, (_, n) => (n + 1) * step)].filter(rank => rank <= count);
}
