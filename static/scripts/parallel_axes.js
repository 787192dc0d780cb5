// Parallel coordinates: a line for each setting through its place on every axis. A drag along an axis reports the range
// of heights as `brush`, a click on the axis takes it away, a click on a line reports its number as `pick`.

(window.openquery ??= {}).parallel_axes = function ({ data, parentElement, setTriggerValue }) {
  const NS = 'http://www.w3.org/2000/svg';
  const HEIGHT = 300, TOP = 56, BOTTOM = 18, SIDE = 74, GRIP = 16, LEAST = 4;
  const SPREAD = 12;  // pixels by which lines of one value lie apart
  const box = parentElement.querySelector('.oq-parallel');
  const span = HEIGHT - TOP - BOTTOM;
  const y = (height) => TOP + (1 - height) * span;
  const brushes = data.axes.map((axis) => axis.brush);
  const on = new AbortController();

  const make = (name, attributes, parent, text) => {
    const element = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  };
  const inside = (line) => brushes.every((brush, place) => {
    const height = data.lines[line][place];
    return !brush || (height >= 0 && height / 1000 >= brush[0] - 5e-4 && height / 1000 <= brush[1] + 5e-4);
  });

  let paths = [], marks = [];
  const show = () => {
    paths.forEach((path, line) => path.classList.toggle('on', inside(line)));
    marks.forEach((mark, place) => {
      const brush = brushes[place];
      mark.setAttribute('visibility', brush ? 'visible' : 'hidden');
      if (!brush) return;
      mark.setAttribute('y', y(brush[1]) - 3);
      mark.setAttribute('height', y(brush[0]) - y(brush[1]) + 6);
    });
  };

  const draw = () => {
    const width = Math.max(box.clientWidth, 110 * data.axes.length);
    const x = (place) => SIDE + place * (width - 2 * SIDE) / Math.max(data.axes.length - 1, 1);
    const svg = document.createElementNS(NS, 'svg');
    svg.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
    svg.setAttribute('width', width);
    svg.setAttribute('height', HEIGHT);
    svg.setAttribute('role', 'img');
    svg.setAttribute('aria-label', data.label);
    const lines = make('g', { class: 'lines' }, svg);
    const last = data.axes.length - 1;
    const spread = data.axes.map((axis) => (axis.values ? SPREAD : 0));
    paths = data.lines.map((heights, line) => {
      const aside = ((line * 37) % 101) / 101 - 0.5;
      const points = heights
        .map((height, place) => (height < 0 ? '' : `${x(place)},${y(height / 1000) + aside * spread[place]}`))
        .filter(Boolean);
      const path = make('path', { d: 'M' + points.join('L'), 'data-line': line }, lines);
      path.style.setProperty('--best', Math.max(heights[last], 0) / 1000);
      return path;
    });
    marks = data.axes.map((axis, place) => {
      const group = make('g', { class: 'axis' }, svg);
      make('text', { x: x(place), y: 16, class: 'title' }, group, axis.title);
      make('text', { x: x(place), y: 32, class: 'note' }, group, axis.note);
      make('line', { x1: x(place), x2: x(place), y1: TOP, y2: HEIGHT - BOTTOM }, group);
      axis.ticks.forEach(([height, label]) => {
        make('circle', { cx: x(place), cy: y(height), r: 3 }, group);
        make('text', { x: x(place) - 9, y: y(height) + 4, class: 'tick' }, group, label);
      });
      if (axis.base !== null) {
        const centre = y(axis.base);
        const diamond = `M${x(place)},${centre - 6}l6,6l-6,6l-6,-6z`;
        make('path', { d: diamond, class: 'baseline' }, group);
      }
      const mark = make('rect', { x: x(place) - 6, width: 12, rx: 2, class: 'brush' }, group);
      make('rect', {
        x: x(place) - GRIP, y: TOP - 8, width: 2 * GRIP, height: span + 16, class: 'grip', 'data-axis': place,
      }, group);
      return mark;
    });
    box.replaceChildren(svg);
    show();
  };

  const heightAt = (event) => {
    const edges = box.querySelector('svg').getBoundingClientRect();
    return Math.min(Math.max(1 - (event.clientY - edges.top - TOP) / span, 0), 1);
  };
  let drag = null;
  const listen = (target, name, act) => target.addEventListener(name, act, { signal: on.signal });
  listen(box, 'pointerdown', (event) => {
    const grip = event.target.closest('.grip');
    if (!grip) return;
    event.preventDefault();
    drag = { axis: Number(grip.dataset.axis), from: heightAt(event), start: event.clientY, moved: false };
    grip.setPointerCapture(event.pointerId);
  });
  listen(box, 'pointermove', (event) => {
    if (!drag) return;
    drag.moved ||= Math.abs(event.clientY - drag.start) >= LEAST;
    if (!drag.moved) return;
    const to = heightAt(event);
    brushes[drag.axis] = [Math.min(drag.from, to), Math.max(drag.from, to)];
    show();
  });
  listen(box, 'pointerup', () => {
    if (!drag) return;
    const { axis, moved } = drag;
    drag = null;
    if (!moved) brushes[axis] = null;
    show();
    setTriggerValue('brush', { axis, range: brushes[axis] });
  });
  listen(box, 'click', (event) => {
    const path = event.target.closest('.lines path');
    if (path) setTriggerValue('pick', Number(path.dataset.line));
  });
  const resized = new ResizeObserver(draw);
  resized.observe(box);
  draw();
  return () => {
    on.abort();
    resized.disconnect();
  };
}
