// Reports clicks on a link to `#pick-<name>`, and on chart elements whose custom data is a name, when the chart is in a
// container whose key starts with `clickable`.

(window.openquery ??= {}).chart_clicks = function ({ setTriggerValue }) {
  const onClick = (event) => {
    const link = event.target.closest && event.target.closest('a[href^="#pick-"]');
    if (!link) return;
    event.preventDefault();
    setTriggerValue('name', decodeURIComponent(link.getAttribute('href').slice(6)));
  };
  const onPlot = (event) => {
    const point = event.points && event.points[0];
    const name = point && (Array.isArray(point.customdata) ? point.customdata[0] : point.customdata);
    if (name) setTriggerValue('name', String(name));
  };
  const wired = new Set();
  const wire = () => {
    document.querySelectorAll('[class*="st-key-clickable"] .js-plotly-plot').forEach((plot) => {
      if (!plot.on || wired.has(plot)) return;
      wired.add(plot);
      plot.on('plotly_click', onPlot);
    });
  };
  document.addEventListener('click', onClick);
  const watch = new MutationObserver(wire);
  watch.observe(document.body, { childList: true, subtree: true });
  wire();
  return () => {
    document.removeEventListener('click', onClick);
    watch.disconnect();
    wired.forEach((plot) => plot.removeListener && plot.removeListener('plotly_click', onPlot));
  };
}
