"""What is connected, what is limited, what is exposed, and what is kept."""

import streamlit as st

from core.errors import OpenQueryError
from core.runtime.health import Probe, ProbeState, probes
from core.text.safe_markdown import escape_html, markdown_label
from pages.parts import markup, runtime
from pages.parts.problems import problem

ICONS = {
    ProbeState.WORKS: "check_circle",
    ProbeState.OFF: "radio_button_unchecked",
    ProbeState.BROKEN: "error",
}


def table(rows: dict[str, str]) -> str:
    return "".join(
        f'<div class="oq-probe plain"><span></span><b>{escape_html(name)}</b><p>{escape_html(value)}</p></div>'
        for name, value in rows.items()
    )


def probe(one: Probe) -> str:
    hint = f"<em>{escape_html(one.hint)}</em>" if one.hint else ""
    return (
        f'<div class="oq-probe">{markup.sign(ICONS[one.state], str(one.state), str(one.state))}'
        f"<b>{escape_html(one.part)}</b><p>{escape_html(one.detail)}{hint}</p><time>{markup.duration(one.seconds)}</time></div>"
    )


st.html(
    '<h1 class="oq-title">System</h1><p class="oq-lead">What is connected, limited, exposed and kept.</p>'
)
try:
    registry = runtime.runs()
except OpenQueryError as error:
    problem(error)
    st.stop()
settings, cache = registry.settings, registry.engine.cache
with st.container(key="system", width=920):
    with st.container(horizontal=True, vertical_alignment="center"):
        st.html(markup.kicker("Connected"), width="stretch")
        st.button("Ask again", key="probe", icon=":material/refresh:", type="tertiary")
    with st.spinner("Asking every part …"):
        try:
            found = registry.call(probes(registry.engine, runtime.access()), timeout=30)
        except OpenQueryError as error:
            problem(error)
        else:
            st.html("".join(map(probe, found)))

    st.html(markup.kicker("Limited"))
    st.html(
        table(
            {
                "Runs at once": f"{settings.runs_at_once}; {len(registry.queued())} waiting now",
                "Pages at once": f"{settings.fetch_concurrency} in all, {settings.per_host} of one host",
                "Waiting": f"{settings.search_timeout:g} s for a search, {settings.model_timeout:g} s for a sign of life from a model",
                "Cache on disk": f"{settings.cache_megabytes} MB",
            }
        )
    )

    st.html(markup.kicker("Exposed"))
    address = st.get_option("server.address") or "every interface of this machine"
    st.html(
        table(
            {
                "Listens on": f"{address}, port {st.get_option('server.port')}",
                "Pages may come from": f"public addresses{f', and {settings.allow}' if settings.allow else ' only'}",
                "Proxy of the environment": "trusted, and then what guards private addresses"
                if settings.trust_env_proxy
                else "not used",
                "Keys": "the operator's stay in the server's settings; a visitor's in their browser session",
                "Names itself": settings.user_agent,
            }
        )
    )

    st.html(markup.kicker("Kept", str(settings.folder)))
    kept = cache.size()
    rows = {
        space: f"{entries:,} entries, {markup.size(size)}" for space, (entries, size) in sorted(kept.items())
    }
    st.html(table(rows or {"Cache": "empty"}))
    if problem := registry.store.problem or cache.problem:
        st.warning(markdown_label(problem, 400), icon=":material/save:")
    st.button(
        "Clear the cache",
        key="clear_cache",
        icon=":material/delete_sweep:",
        disabled=not kept,
        on_click=cache.clear,
        help="Pages and vectors are then fetched and computed anew. Runs in the history stay.",
    )
