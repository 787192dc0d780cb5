"""Who comes in: everybody, or people who signed in, as the operator set it. See docs/security/sign-in.md."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.errors import OpenQueryError
from pages.parts import runtime


def providers() -> tuple[str, ...]:
    """The OpenID Connect providers of `[auth]` in the secrets; the one without a name is "". None: nobody signs in."""
    if not st.secrets.load_if_toml_exists() or "auth" not in st.secrets:
        return ()
    auth = st.secrets["auth"]
    return tuple(
        name for name, value in auth.items() if isinstance(value, Mapping) and "client_id" in value
    ) or ("",)


def signed_in() -> bool:
    return bool(st.user.get("is_logged_in"))


def admitted() -> bool:
    """Whether this visitor may see the pages."""
    return signed_in() or not (providers() or _required())


def door() -> None:
    """What a visitor sees instead of the pages."""
    with st.container(key="door", width=420, horizontal_alignment="center", gap="medium"):
        st.html('<h1 class="oq-title">OpenQuery</h1>')
        named = providers()
        if not named:
            st.error(
                "**Nobody can sign in yet.** OPENQUERY_SIGN_IN asks for it, and .streamlit/secrets.toml has no "
                "[auth] section. docs/security/sign-in.md tells how to write one.",
                icon=":material/lock:",
            )
            return
        st.html('<p class="oq-lead">The people who run this server ask you to sign in.</p>')
        for name in named:
            st.button(
                f"Sign in with {name.title()}" if name else "Sign in",
                key=f"sign_in_{name or 'default'}",
                icon=":material/login:",
                type="primary",
                on_click=st.login,
                args=(name,) if name else (),
            )


def leave() -> None:
    """The page of the navigation that signs its visitor out."""
    st.logout()


def _required() -> bool:
    try:
        return runtime.runs().settings.sign_in == "required"
    except OpenQueryError:  # no page works then, and each says why
        return False
