// The recorded run of the front page: everything it shows is a function of the second, so the server draws nothing.
// Then its knobs strike the citations whose passage leaves the context.

const SEEN = 'openquery.recorded_run_seen';
const WAIT = 1500; // milliseconds without input before it starts by itself
const stages = new WeakMap();

// A browser may refuse to keep anything.
function wasSeen() {
  try {
    return Boolean(localStorage.getItem(SEEN));
  } catch {
    return true;
  }
}

function markSeen() {
  try {
    localStorage.setItem(SEEN, '1');
  } catch {
    // It plays again at the next visit.
  }
}

function make(tag, attributes, ...children) {
  const node = document.createElementNS(
    ['svg', 'g', 'circle', 'line', 'path', 'text'].includes(tag) ? 'http://www.w3.org/2000/svg' : 'http://www.w3.org/1999/xhtml',
    tag,
  );
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === 'function') node.addEventListener(name, value);
    else if (value === true) node.setAttribute(name, '');
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.flat(9).filter((child) => child != null && child !== false));
  return node;
}

const icon = (name) => make('span', { class: 'oq-icon', 'aria-hidden': 'true' }, name);
const ordinal = (n) => n + (n % 100 > 10 && n % 100 < 14 ? 'th' : ['th', 'st', 'nd', 'rd'][n % 10] ?? 'th');

// The answer, with its words one by one, each citation, and the words before it, which it supports.
function answerOf(parts, words, citations) {
  const inside = (tag, children) => {
    const node = make(tag);
    let claim = [];
    for (const child of children) {
      if (typeof child === 'string') {
        for (const piece of child.split(/(?<=\s)/)) {
          const word = make('span', { class: 'word' }, piece);
          words.push(word);
          claim.push(word);
          node.append(word);
        }
      } else if (child.cite) {
        const mark = make('span', { class: 'cite' }, child.cite);
        citations.push({ number: child.cite, mark, claim });
        words.push(mark);
        node.append(mark, ' ');
        claim = [];
      } else {
        node.append(inside(child.tag, child.in ?? []));
      }
    }
    return node;
  };
  return parts.map((part) => (typeof part === 'string' ? part : inside(part.tag, part.in ?? [])));
}

function build(root, data, report) {
  const words = [];
  const citations = [];
  const answer = make('div', { class: 'answer', dir: 'auto' }, answerOf(data.answer, words, citations));
  const cuts = new Map([[data.size, data.cut]]); // the rankings by passage size
  const titles = { ...data.cut.passages };
  const own = data.cut.contexts[data.strategy][data.top_k - 1];
  const asItWas = { strategy: data.strategy, count: data.top_k, size: data.size };
  const numberOf = (row) => data.numbers[row];
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  const state = { second: calm ? data.length : 0, playing: false, touched: calm, ...asItWas, refusal: '', frame: -1, since: 0 };

  // Head
  const play = make('button', { type: 'button', class: 'play', click: () => (state.playing ? pause() : start()) });
  const clock = make('span', { class: 'clock' });
  const open = make('button', { type: 'button', class: 'button', click: () => report('open', data.question) }, 'Open this run');
  const head = make('header', {}, play, make('h2', { dir: 'auto' }, data.question), make('span', { class: 'oq-tag' }, 'recorded'), clock, open);

  // Phases
  const cells = data.phases.map(([title, symbol], place) => {
    const name = make('span', { class: 'name' }, icon(symbol), make('span', {}, title), make('time'));
    const count = make('span', { class: 'count' });
    const cell = make('button', { type: 'button', class: 'oq-step waiting', click: () => jump(endOf(place)) }, name, count);
    return { cell, count, seconds: name.querySelector('time'), title };
  });
  const endOf = (place) => data.frames.find(([, shown]) => ['done', 'partial'].includes(shown[place][2]))?.[0] ?? data.length;

  // Left: the invitation, the queries, a slot for each page, and the answer, one after the other in one box
  const slots = data.pages.map(([title]) => {
    const badge = make('b', {}, title[0]);
    return { badge, slot: make('li', {}, badge, make('span', { dir: 'auto' }, title)) };
  });
  const sources = make('ul', { class: 'sources' });
  const layers = {
    invitation: make('div', { class: 'layer invitation' }, make('p', {}, 'See a question become an answer. Then turn the knobs.'), make('button', { type: 'button', class: 'watch', click: () => start() }, icon('play_arrow'), 'Watch a run')),
    queries: make('div', { class: 'layer queries' }, data.queries.map(([, text]) => make('p', { dir: 'auto' }, icon('search'), text))),
    pages: make('ul', { class: 'layer pages' }, slots.map(({ slot }) => slot)),
    answer: make('div', { class: 'layer' }, answer, sources),
  };

  // Right: the map
  const x = (value) => 26 + 348 * value;
  const y = (value) => 22 + 296 * value;
  const points = data.points.map(([left, top]) => make('circle', { class: 'point', cx: x(left), cy: y(top), r: 3 }));
  const lines = make('g');
  const marks = make('g');
  const star = `M${[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => { const r = n % 2 ? 4 : 10, turn = (n * Math.PI) / 5; return `${x(data.star[0]) + r * Math.sin(turn)} ${y(data.star[1]) - r * Math.cos(turn)}`; }).join('L')}Z`;
  // The label stands where no number of the context would be under it, or nowhere.
  const isFree = (side) => {
    const [near, far] = [12 * side, 92 * side].map((reach) => x(data.star[0]) + reach);
    const under = (left) => left > Math.min(near, far) - 10 && left < Math.max(near, far) + 10;
    return far > 0 && far < 400 && !own.some((row) => under(x(data.points[row][0])) && Math.abs(y(data.points[row][1]) - y(data.star[1])) < 18);
  };
  const side = [1, -1].find(isFree);
  const map = make('svg', { viewBox: '0 0 400 340', role: 'img', 'aria-label': `Map of ${points.length} passages around the question; near means alike in meaning` },
    make('g', {}, points), lines, marks, make('path', { class: 'star', d: star }),
    side && make('text', { class: 'label', x: x(data.star[0]) + 15 * side, y: y(data.star[1]) + 4, 'text-anchor': side > 0 ? 'start' : 'end' }, 'the question'));

  // Strip
  const output = make('b', {});
  const range = make('input', { type: 'range', id: 'front-count', min: 1, max: data.cut.contexts[data.strategy].length, step: 1, input: () => turn({ count: +range.value }) });
  const choices = Object.keys(data.cut.contexts).map((name) => make('button', { type: 'button', value: name, click: () => turn({ strategy: name }) }, name === 'bm25' ? 'BM25' : name));
  const sizeShown = make('b', {});
  const sizes = make('input', { type: 'range', id: 'front-size', min: 0, max: data.sizes.length - 1, step: 1, input: () => turn({ size: data.sizes[+sizes.value] }), change: () => cuts.has(state.size) || report('size', state.size) });
  const sentence = make('p', { role: 'status' });
  const back = make('button', { type: 'button', class: 'plain', click: () => turn(asItWas) }, icon('undo'), 'As it was');
  const knobs = make('fieldset', { class: 'knobs' }, make('legend', {}, 'What if'),
    make('div', {}, make('label', { for: 'front-count' }, 'Passages in the context'), range, output),
    make('div', { role: 'group', 'aria-label': 'Ranking' }, make('span', {}, 'Ranking'), make('span', { class: 'choices' }, choices)),
    make('div', {}, make('label', { for: 'front-size' }, 'Passage size'), sizes, sizeShown));
  const result = make('div', { class: 'result' }, sentence, back);

  root.replaceChildren(head, make('div', { class: 'oq-steps', role: 'group', 'aria-label': 'Phases of the recorded run' }, cells.map(({ cell }) => cell)),
    make('div', { class: 'body' }, make('div', { class: 'left' }, Object.values(layers)), make('figure', {}, map, make('figcaption', {}, 'near means alike in meaning'))),
    knobs, result);

  const ended = () => state.second >= data.length;

  function start() {
    state.touched = true;
    markSeen();
    if (ended()) {
      Object.assign(state, { second: 0, ...asItWas });
    }
    state.playing = true;
    state.since = performance.now();
    requestAnimationFrame(tick);
  }
  function pause() {
    state.playing = false;
    draw();
  }
  function jump(second) {
    state.touched = true;
    state.playing = false;
    Object.assign(state, { second, ...asItWas });
    draw();
  }
  function tick(now) {
    if (!state.playing || !root.isConnected) return;
    state.second = Math.min(state.second + (now - state.since) / 1000, data.length);
    state.since = now;
    if (ended()) state.playing = false;
    draw();
    if (state.playing) requestAnimationFrame(tick);
  }
  function turn(change) {
    Object.assign(state, change, { refusal: '' });
    draw();
  }

  function drawFrame() {
    let frame = state.frame;
    if (frame < 0 || data.frames[frame][0] > state.second) frame = -1;
    while (frame + 1 < data.frames.length && data.frames[frame + 1][0] <= state.second) frame += 1;
    if (frame === state.frame && frame >= 0) return;
    state.frame = frame;
    cells.forEach(({ cell, count, seconds, title }, place) => {
      const [number, unit, phase, taken] = frame < 0 ? ['', '', 'waiting', null] : data.frames[frame][1][place];
      const shown = phase === 'waiting' ? '' : number;
      cell.className = `oq-step ${phase}`;
      cell.setAttribute('aria-label', [title, shown, shown && unit, phase === 'waiting' ? 'not started' : phase].filter(Boolean).join(', '));
      count.replaceChildren(shown, ...(shown && unit ? [' ', make('small', {}, unit)] : []));
      seconds.textContent = taken == null ? '' : taken < 0.1 ? `${Math.round(1000 * taken)} ms` : `${taken.toFixed(1)} s`;
    });
  }

  function draw() {
    const { second } = state;
    const isOver = ended();
    const cut = cuts.get(state.size);
    const isCutting = isOver && !cut;
    const { contexts, ranks: places } = cut ?? data.cut;
    const context = contexts[state.strategy][state.count - 1];
    const isMoved = isOver && !isCutting && (state.strategy !== data.strategy || state.count !== data.top_k || state.size !== data.size);
    const kept = new Set(isMoved ? context : own);
    const gone = new Set(isMoved ? own.filter((row) => !kept.has(row)) : []);
    const added = isMoved ? context.filter((row) => !own.includes(row)) : [];
    const lost = new Set([...gone].map(numberOf));
    drawFrame();
    root.classList.toggle('over', isOver);

    play.replaceChildren(icon(state.playing ? 'pause' : isOver ? 'replay' : 'play_arrow'));
    play.setAttribute('aria-label', state.playing ? 'Pause the recorded run' : isOver ? 'Play the recorded run again' : 'Play the recorded run');
    clock.textContent = isOver ? state.date : second ? `${Math.floor(second)} s of ${Math.round(data.length)}` : `${Math.round(data.length)} s`;

    const layer = second >= data.answer_from ? 'answer' : second >= data.pages[0][1] ? 'pages' : second > 0 ? 'queries' : 'invitation';
    for (const [name, node] of Object.entries(layers)) node.hidden = name !== layer;
    layers.queries.querySelectorAll('p').forEach((line, place) => { line.hidden = data.queries[place][0] > second; });
    const isRanked = second >= data.ranked;
    slots.forEach(({ slot, badge }, place) => {
      const [title, asked, read] = data.pages[place];
      slot.className = second >= read ? 'read' : second >= asked ? 'reading' : '';
      const used = isRanked ? own.filter((row) => titles[row] === title).map(numberOf).sort((a, b) => a - b) : [];
      badge.textContent = used.length ? used.join(' ') : title[0];
      badge.classList.toggle('source', used.length > 0);
    });

    const rankedShare = Math.max(0, (second - data.ranked_from) / Math.max(data.ranked - data.ranked_from, 0.1));
    const numbered = Math.floor(own.length * Math.min(rankedShare, 1));
    points.forEach((point, row) => {
      const since = second - data.points[row][2];
      point.setAttribute('class', `point${since < 0 ? ' out' : since < 0.6 && !isOver ? ' new' : ''}`);
    });
    const drawn = [...own.slice(0, numbered).map((row) => [row, gone.has(row) ? 'gone' : 'in']), ...added.map((row) => [row, 'added'])];
    const placed = drawn.filter(([row]) => data.points[row]); // a passage of another size has no point
    lines.replaceChildren(...placed.filter(([, kind]) => kind !== 'gone').map(([row]) => make('line', { x1: x(data.star[0]), y1: y(data.star[1]), x2: x(data.points[row][0]), y2: y(data.points[row][1]) })));
    marks.replaceChildren(...placed.map(([row, kind]) => make('g', { class: `mark ${kind}` },
      make('circle', { cx: x(data.points[row][0]), cy: y(data.points[row][1]), r: 9.5 }),
      make('text', { x: x(data.points[row][0]), y: y(data.points[row][1]) + 3.6, 'text-anchor': 'middle' }, kind === 'added' ? '+' : numberOf(row)))));

    const share = (second - data.answer_from) / Math.max(data.answer_to - data.answer_from, 0.1);
    const written = isOver ? words.length : Math.floor(share * 1.05 * words.length);
    words.forEach((word, place) => word.classList.toggle('unwritten', place >= written));
    for (const { number, mark, claim } of citations) {
      const isLost = lost.has(number);
      mark.classList.toggle('gone', isLost);
      mark.setAttribute('aria-label', isLost ? `Source ${number}, left the context` : `Source ${number}`);
      mark.setAttribute('role', 'img');
      claim.forEach((word) => word.classList.toggle('lost', isLost));
    }
    const ranks = places[state.strategy];
    const standing = (row) => (ranks[row] ? `now ${ordinal(ranks[row])}` : 'cut anew');
    const line = (row, kind) => make('li', { class: kind }, make('b', {}, kind === 'added' ? '+' : numberOf(row)), make('span', { dir: 'auto' }, titles[row]),
      make('small', {}, kind === 'gone' ? standing(row) : kind === 'added' ? `new, ${ordinal(ranks[row])}` : ordinal(ranks[row])));
    sources.hidden = !isOver;
    sources.replaceChildren(...own.map((row) => line(row, gone.has(row) ? 'gone' : 'in')), ...added.slice(0, 6).map((row) => line(row, 'added')));

    knobs.disabled = !isOver;
    range.value = state.count;
    range.setAttribute('aria-valuetext', `${state.count} passages`);
    output.textContent = state.count;
    knobs.classList.toggle('moved', isMoved);
    choices.forEach((choice) => choice.setAttribute('aria-pressed', String(choice.value === state.strategy)));
    sizes.value = data.sizes.indexOf(state.size);
    sizes.setAttribute('aria-valuetext', `${state.size} characters`);
    sizeShown.textContent = `${state.size} characters`;
    back.hidden = !isMoved && !isCutting;
    result.classList.toggle('moved', isMoved);
    const losing = citations.filter(({ number }) => lost.has(number)).length;
    const text = isCutting ? state.refusal || `Cutting the pages into passages of ${state.size} characters …` : !isOver ? 'After the answer: change a knob, and see which citations lose their passage.'
      : !isMoved ? 'Change a knob: a citation that loses its passage is struck.'
      : losing && losing === citations.length ? 'No citation keeps its passage.'
      : losing ? `${losing} of ${citations.length} citations ${losing === 1 ? 'loses its' : 'lose their'} passage.`
      : `Every citation keeps its passage${added.length ? `, ${added.length} ${added.length === 1 ? 'passage is' : 'passages are'} new` : ''}.`;
    if (sentence.textContent !== text) sentence.textContent = text;
  }
  state.date = new Date(`${data.date}T12:00:00`).toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric' });
  draw();
  // The rankings of a passage size that the server has cut, or why it could not.
  function take({ other, refusal = '' }) {
    if (other) {
      cuts.set(other.size, other);
      Object.assign(titles, other.passages);
    }
    state.refusal = refusal;
    draw();
  }
  return { state, start, pause, take };
}

// It starts by itself once a browser, when nobody has typed or clicked for a moment, and pauses while somebody types.
function attend(root, { state, start, pause }) {
  let timer = 0;
  const on = new AbortController();
  const wait = () => {
    clearTimeout(timer);
    if (!state.touched && !wasSeen()) timer = setTimeout(() => !document.hidden && root.isConnected && !state.touched && start(), WAIT);
  };
  const listen = (name, act) => document.addEventListener(name, (event) => (root.isConnected ? act(event) : on.abort()), { capture: true, signal: on.signal });
  listen('input', (event) => {
    if (root.contains(event.target)) return;
    state.touched ||= Boolean(event.target.value);
    if (state.playing) pause();
  });
  listen('keydown', wait);
  listen('pointerdown', wait);
  listen('visibilitychange', () => document.hidden && state.playing && pause());
  wait();
}

(window.openquery ??= {}).front_stage = function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('.oq-stage');
  if (stages.has(root)) {
    const held = stages.get(root);
    held.report = setTriggerValue;
    held.take(data);
    return;
  }
  const held = { report: setTriggerValue };
  stages.set(root, held);
  const built = build(root, data, (name, value) => held.report(name, value));
  held.take = built.take;
  attend(root, built);
};
