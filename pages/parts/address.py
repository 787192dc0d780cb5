"""The address of a page: settings in it, and the browser's history of runs (decision 0028)."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from core.config.knob_changes import AppliedChanges, apply_changes, changes
from core.config.knobs import Knobs
from core.run.state import Run
from core.text.markdown.safe_markdown import markdown_label

SETTINGS = "set"
"""The parameter of the Research page with what was changed after the run, one `group.name:value` each."""
MAX_IGNORED = 5
"""The most ignored settings that a message names."""

_SCRIPT = """
// Installed once for each tab. Streamlit pushes a history entry whenever a script run changes the address.
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

export default function ({ data }) {
  const page = (window.openqueryHistory = window.openqueryHistory || install());
  const mine = (page.owner = {});
  page.shown = document.documentElement.dataset.shownRun = data.run;
  page.opens = data.opens;
  return () => {
    if (page.owner !== mine) return;
    page.shown = null;
    page.opens = false;
  };
}
"""

_component = st.components.v2.component("openquery_history", html="<span></span>", js=_SCRIPT)


def keep_history(run: Run | None, *, opens: bool = False) -> None:
    """Keep one entry a run in the browser's history. Every page that shows a run calls this, and with `opens` one
    that only opens runs on another page."""
    with st.container(key="history_component"):
        _component(key="history", data={"run": run.id if run else "", "opens": opens})


def write_again() -> None:
    """Write the address as it is: Streamlit changes none for a link to the page that is open."""
    st.query_params.from_dict(st.query_params.to_dict())


def settings(name: str, original: Knobs, groups: Collection[str]) -> AppliedChanges:
    """The original knobs with the changes in this parameter of the address."""
    return apply_changes(original, st.query_params.get_all(name), groups)


def keep_settings(name: str, original: Knobs, knobs: Knobs, groups: Collection[str]) -> None:
    """Write what differs from the original into the address, or name what is ignored in the address."""
    preset_settings = settings(name, original, groups)
    if preset_settings.knobs == knobs:
        show_ignored(preset_settings.ignored)
    elif written_changes := changes(original, knobs):
        st.query_params[name] = written_changes
    else:
        st.query_params.pop(name, None)


def show_ignored(ignored: Collection[str], where: str = "the address") -> None:
    """Name the settings that were ignored."""
    if not ignored:
        return
    ignored_names = "; ".join(markdown_label(name, 200) for name in list(ignored)[:MAX_IGNORED])
    more = f"; and {len(ignored) - MAX_IGNORED} more" if len(ignored) > MAX_IGNORED else ""
    st.warning(f"**Ignored in {where}:** {ignored_names}{more}", icon=":material/link_off:")
