// The browser's history of runs (decision 0028): one entry for each.

let page = null;

// Called once for each tab. Streamlit pushes a history entry whenever a script run changes the address.
function install() {
  const page = { shown: null, opens: false, travelling: false, attempts: 0, seen: new Set() };
  const push = history.pushState.bind(history);
  const replace = history.replaceState.bind(history);
  const runOf = (search) => new URLSearchParams(search).get('run') || '';
  const here = () => runOf(location.search);
  // A script run that began before the latest Back or Forward still reports the address of its own run.
  const outdated = (run) => page.travelling && run && run !== here() && page.seen.has(run);

  // Streamlit reports the settings of a page that it is opening before it changes the path, and then once more
  // together with the path. So a change of the settings waits for a moment in which a change of the path drops it.
  let waiting = null;
  const drop = () => {
    if (waiting) clearTimeout(waiting.timer);
    waiting = null;
  };
  const write = () => {
    const { url, entry } = waiting;
    waiting = null;
    (entry ? push : replace)({}, '', url);
  };

  history.pushState = (state, title, url) => {
    const target = new URL(url, location.href);
    if (target.pathname !== location.pathname) {
      drop();
      page.travelling = page.opens = false;
      return push(state, title, url);
    }
    const run = runOf(target.search);
    if (page.opens && run) return undefined;  // of the page that is being opened: this one shows no run
    if (outdated(run)) return undefined;
    if (!run && !here()) return push(state, title, url);
    page.seen.add(here()).add(run);
    // An entry for each run. Without a run in the address, the page has none (a new entry), or adds its own.
    const other = run && run !== here() && (here() || page.shown === '');
    const entry = other || (waiting && waiting.entry);
    drop();
    waiting = { url: target.href, entry, timer: setTimeout(write, 50) };
    return undefined;
  };
  history.replaceState = (state, title, url) => {
    if (url && outdated(runOf(new URL(url, location.href).search))) return undefined;
    return replace(state, title, url);
  };

  window.addEventListener('popstate', () => {
    drop();
    page.seen.add(here());
    page.travelling = true;
    page.since = performance.now();
  });
  // At rest the page shows the run of its address. When a click in the same moment has overtaken Back, it goes again.
  const rest = () => {
    const app = document.querySelector('[data-test-script-state]');
    if (!page.travelling || page.shown === null || app.dataset.testScriptState !== 'notRunning') return;
    const patience = 2000 - (performance.now() - page.since);
    clearTimeout(page.timer);
    if (patience > 0) {
      page.timer = setTimeout(rest, patience);
      return;
    }
    page.travelling = page.shown !== here() && page.attempts < 3;
    page.attempts = page.travelling ? page.attempts + 1 : 0;
    if (page.travelling) window.dispatchEvent(new PopStateEvent('popstate', { state: history.state }));
  };
  new MutationObserver(() => setTimeout(rest, 50)).observe(document.body, {
    subtree: true,
    attributeFilter: ['data-test-script-state'],
  });
  return page;
}

(window.openquery ??= {}).history = function ({ data }) {
  page ??= install();
  const mine = (page.owner = {});
  page.shown = document.documentElement.dataset.shownRun = data.run;
  page.opens = data.opens;
  return () => {
    if (page.owner !== mine) return;
    page.shown = null;
    page.opens = false;
  };
}
