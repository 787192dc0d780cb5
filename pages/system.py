"""The System page: health of connected services, limits, exposure and storage."""

import streamlit as st
from htpy import Element, Node, b, div, em, p, span, time

from core.config.permissions import Action
from core.runtime.health import Probe, ProbeState, probes
from core.text.markdown.safe_markdown import markdown_label
from pages.parts import markup, runtime, widgets
from pages.parts.problems import needed, shown
from pages.parts.system.price_table import price_table

ICONS = {
    ProbeState.WORKS: "check_circle",
    ProbeState.OFF: "radio_button_unchecked",
    ProbeState.BROKEN: "error",
}


def table(rows: dict[str, str]) -> Node:
    """Names with their values, a line each."""
    return [div(".oq-probe.plain")[span, b[name], p[value]] for name, value in rows.items()]


def probe(health: Probe) -> Element:
    """The state of a service, with what to do where it fails."""
    return div(".oq-probe")[
        markup.status_icon(ICONS[health.state], str(health.state), str(health.state)),
        b[health.part],
        p[health.detail, health.hint and em[health.hint]],
        time[markup.duration(health.seconds)],
    ]


markup.show(markup.title("System", "Connected services, limits, network exposure and storage."))
with needed:
    registry = runtime.runs()
settings, cache = registry.settings, registry.engine.cache
with st.container(key="system", width=920):
    with st.container(horizontal=True, vertical_alignment="center"):
        markup.show(markup.kicker("Connected services"), width="stretch")
        widgets.button("Re-check", "refresh", key="probe", type="tertiary")
    with shown, st.spinner("Checking …"):
        markup.show(map(probe, registry.call(probes(registry.engine, runtime.access()), timeout=30)))

    markup.show(markup.kicker("Limits"))
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

    markup.show(markup.kicker("Network exposure"))
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

    markup.show(markup.kicker("Storage", str(settings.folder)))
    stored = cache.size()
    rows = {
        space: f"{entries:,} entries, {markup.size(size)}"
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
