"""The System page: services, limits, exposure, storage and prices. Operators may change the prices."""

from collections.abc import Callable
from datetime import date

import pandas as pd
import streamlit as st
from htpy import Element, Node, b, div, em, p, span, time

from core.config.permissions import Action
from core.config.prices import COLUMNS, LONGEST_NAME, MOST_DOLLARS, Price, checked_price
from core.runtime.engine_parts import ProbeState
from core.runtime.health import Probe, probes
from core.text.markdown.safe_markdown import markdown_label
from core.text.sanitize import pluralize
from pages.parts import markup, runtime, widgets
from pages.parts.problems import errors_inline, errors_stop_page

HELP = (
    "In US dollars a million tokens. Estimates marked with ~ are made from these, where a provider does not state a cost. "
    "Providers change their prices: check them."
)


def price_table() -> None:
    """Draw the prices with their date. An operator may change and reset them."""
    file = runtime.runs().engine.prices
    prices = file.read()
    markup.show(markup.section_heading("Model prices", prices.dated))
    if prices.problem:
        st.warning(markdown_label(prices.problem, 400), icon=":material/error:")
    editable = runtime.caller().may(Action.SET_PRICES)
    rows = pd.DataFrame(
        [[getattr(row, name) for name in COLUMNS] for row in prices.rows], columns=list(COLUMNS)
    )
    column = st.column_config
    edited = st.data_editor(
        rows,
        key=f"prices_{hash(prices.rows)}",  # a new table drops what was typed into another
        num_rows="dynamic" if editable else "fixed",
        disabled=not editable,
        hide_index=True,
        column_config={
            "model": column.TextColumn(
                "model", required=True, max_chars=LONGEST_NAME, help="Its name, or a pattern with *"
            ),
            "prompt": column.NumberColumn(
                "read", required=True, min_value=0, max_value=MOST_DOLLARS, format="$%.3f", help=HELP
            ),
            "completion": column.NumberColumn(
                "written", required=True, min_value=0, max_value=MOST_DOLLARS, format="$%.3f", help=HELP
            ),
            "as_of": column.DateColumn("as of", required=True, default=date.today(), format="D MMM YYYY"),
        },
    )
    st.caption(HELP)
    if editable:
        with st.container(horizontal=True):
            if widgets.button("Save prices", "save", key="prices_save", disabled=edited.equals(rows)):
                _change(lambda: file.write(_rows(edited)))
            if widgets.button(
                "Use the prices of OpenQuery",
                "undo",
                key="prices_reset",
                disabled=not file.path.exists(),
                help="Deletes prices.csv in the data folder.",
            ):
                _change(file.delete)


def _rows(table: pd.DataFrame) -> list[Price]:
    return [
        checked_price(model, prompt, completion, str(as_of)[:10])
        for model, prompt, completion, as_of in table.itertuples(index=False)
    ]


def _change(work: Callable[[], None]) -> None:
    with errors_inline:
        runtime.caller().require(Action.SET_PRICES)
        work()
        st.rerun()


MEASURABLE = 0.0005
"""Seconds below which a check has asked no service."""
ICONS = {
    ProbeState.WORKS: "check_circle",
    ProbeState.PARTLY: "warning",
    ProbeState.OFF: "radio_button_unchecked",
    ProbeState.BROKEN: "error",
}


def table(rows: dict[str, str]) -> Node:
    """Names with their values, a line each."""
    return [div(".oq-probe.plain")[span, b[name], p[value]] for name, value in rows.items()]


def probe(health: Probe) -> Element:
    """Return a service's state, with a hint after a failure."""
    return div(".oq-probe")[
        markup.status_icon(ICONS[health.state], str(health.state), str(health.state)),
        b[health.part],
        p[health.detail, health.hint and em[health.hint]],
        health.seconds >= MEASURABLE and time[markup.duration(health.seconds)],
    ]


markup.show(markup.title("System", "Connected services, limits, network exposure and storage."))
with errors_stop_page:
    registry = runtime.runs()
settings, cache = registry.settings, registry.engine.cache
with st.container(key="system", width=920):
    with st.container(horizontal=True, vertical_alignment="center"):
        markup.show(markup.section_heading("Connected services"), width="stretch")
        widgets.button("Re-check", "refresh", key="probe", type="tertiary")
    with errors_inline, st.spinner("Checking …"):
        markup.show(
            map(probe, registry.call(probes(registry.engine, registry.store, runtime.access()), timeout=30))
        )

    markup.show(markup.section_heading("Limits"))
    markup.show(
        table(
            {
                "Concurrent runs": f"{settings.runs_at_once}; {len(registry.queued())} queued",
                "Concurrent fetches": f"{settings.fetch_concurrency} in total, {settings.per_host} per host",
                "Timeouts": f"search {settings.search_timeout:g} s, model idle timeout {settings.model_timeout:g} s",
                "Disk cache limit": f"{settings.cache_megabytes} MB",
            }
        )
    )

    price_table()

    markup.show(markup.section_heading("Network exposure"))
    address = st.get_option("server.address") or "all interfaces"
    markup.show(
        table(
            {
                "Listens on": f"{address}, port {st.get_option('server.port')}",
                "Served under": f"loopback names{f', and {settings.hosts}' if settings.hosts else ' only; OPENQUERY_HOSTS names others'}",
                "Fetched addresses": f"public addresses{f', and {settings.fetch_allowlist}' if settings.fetch_allowlist else ' only'}",
                "Environment proxy": "trusted; it must block private addresses"
                if settings.trust_env_proxy
                else "not used",
                "API keys": "the operator's in the server's settings, a visitor's in their browser session",
                "User agent": settings.user_agent,
            }
        )
    )

    markup.show(markup.section_heading("Storage", str(settings.folder)))
    stored = cache.size()
    rows = {
        space: f"{pluralize(entries, 'entry')}, {markup.size(size)}"
        for space, (entries, size) in sorted(stored.items())
    }
    markup.show(table(rows or {"Cache": "empty"}))
    if fault := registry.store.problem or cache.problem:
        st.warning(markdown_label(fault, 400), icon=":material/save:")
    if runtime.caller().may(Action.CLEAR_CACHE):
        widgets.button(
            "Clear the cache",
            "delete_sweep",
            cache.clear,
            key="clear_cache",
            disabled=not stored,
            help="Pages and vectors will be fetched and computed again; stored runs are unaffected.",
        )
