// Saves every chart of the page as an SVG or a PNG file, as it is on screen. Presentation attributes take the place of
// the styles of the page, which a file does not have.

(window.openquery ??= {}).save_charts = function ({ data, parentElement }) {
  const NS = 'http://www.w3.org/2000/svg', SCALE = 2;
  const STYLES = [
    'fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-dasharray', 'opacity', 'visibility',
    'font-family', 'font-size', 'font-weight', 'text-anchor', 'dominant-baseline', 'paint-order',
  ];
  const status = parentElement.querySelector('[role=status]');

  const styled = (element) => {
    const copy = element.cloneNode(true);
    const copies = [copy, ...copy.querySelectorAll('*')];
    [element, ...element.querySelectorAll('*')].forEach((original, place) => {
      const style = getComputedStyle(original);
      for (const name of STYLES) copies[place].setAttribute(name, style.getPropertyValue(name));
      copies[place].removeAttribute('style');
      copies[place].removeAttribute('class');
    });
    return copy;
  };
  // A Plotly chart is several drawings one above the other.
  const drawing = (chart) => {
    const layers = chart.matches('svg') ? [chart] : [...chart.querySelectorAll('svg.main-svg')];
    const { width, height } = layers[0].getBoundingClientRect();
    const svg = document.createElementNS(NS, 'svg');
    for (const [name, value] of Object.entries({ xmlns: NS, width, height, viewBox: `0 0 ${width} ${height}` })) {
      svg.setAttribute(name, value);
    }
    const ground = document.createElementNS(NS, 'rect');
    ground.setAttribute('width', '100%');
    ground.setAttribute('height', '100%');
    ground.setAttribute('fill', getComputedStyle(document.body).backgroundColor);
    svg.append(ground, ...layers.flatMap((layer) => [...styled(layer).childNodes]));
    return { width, height, file: new Blob([new XMLSerializer().serializeToString(svg)], { type: 'image/svg+xml' }) };
  };
  const bitmap = async ({ width, height, file }) => {
    const address = URL.createObjectURL(file);
    try {
      const image = new Image();
      image.src = address;
      await image.decode();
      const canvas = document.createElement('canvas');
      canvas.width = width * SCALE;
      canvas.height = height * SCALE;
      canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
      return await new Promise((done) => canvas.toBlob(done, 'image/png'));
    } finally {
      URL.revokeObjectURL(address);
    }
  };
  const save = (file, name) => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(file);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const saveAll = async (format) => {
    const charts = [...document.querySelectorAll('.js-plotly-plot, .oq-parallel svg')];
    for (const [place, chart] of charts.entries()) {
      const drawn = drawing(chart);
      save(format === 'svg' ? drawn.file : await bitmap(drawn), `${data.name}-${place + 1}.${format}`);
    }
    status.textContent = `${charts.length} saved as ${format.toUpperCase()}`;
  };
  parentElement.querySelectorAll('button').forEach((button) => {
    button.onclick = () => saveAll(button.dataset.format);
  });
}
