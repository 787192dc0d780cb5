// Reports which of the widths in `data.limits` the window is not wider than.

(window.openquery ??= {}).screen = function ({ data, setStateValue }) {
  const limits = data.limits.map((pixels) => window.matchMedia(`(max-width: ${pixels}px)`));
  const report = () => {
    const place = limits.findIndex((limit) => limit.matches);
    const pixels = place < 0 ? null : data.limits[place];
    if (pixels !== data.reported) setStateValue('limit', pixels);
  };
  limits.forEach((limit) => limit.addEventListener('change', report));
  report();
  return () => limits.forEach((limit) => limit.removeEventListener('change', report));
}
