"""Sign-in with OpenID Connect, if the operator requires it. See docs/security/sign-in.md."""

from collections.abc import Mapping

import streamlit as st
from htpy import p

from core.errors import OpenQueryError
from pages.parts import markup, runtime, widgets


def providers() -> tuple[str, ...]:
    """Return the names of OpenID Connect providers.

    They are in `[auth]` of the secrets, with "" for an unnamed provider. Empty without sign-in.
    """
    if not st.secrets.load_if_toml_exists() or "auth" not in st.secrets:
        return ()
    auth = st.secrets["auth"]
    return tuple(
        name for name, value in auth.items() if isinstance(value, Mapping) and "client_id" in value
    ) or ("",)


def signed_in() -> bool:
    """Whether the visitor has signed in."""
    return bool(st.user.get("is_logged_in"))


def admitted() -> bool:
    """Whether this visitor may see the pages."""
    return signed_in() or not (providers() or _required())


def sign_in_page() -> None:
    """The page that a visitor sees before signing in."""
    with st.container(key="sign_in", width=420, horizontal_alignment="center", gap="medium"):
        markup.show(markup.title("OpenQuery"))
        names = providers()
        if not names:
            st.error(
                "**Sign-in is not configured.** OPENQUERY_SIGN_IN requires it, but .streamlit/secrets.toml has no "
                "[auth] section. docs/security/sign-in.md explains how to write one.",
                icon=":material/lock:",
            )
            return
        markup.show(p(".oq-lead")["Sign in to use this server."])
        for name in names:
            widgets.button(
                f"Sign in with {name.title()}" if name else "Sign in",
                "login",
                st.login,
                *((name,) if name else ()),
                key=f"sign_in_{name or 'default'}",
                type="primary",
            )


def sign_out() -> None:
    """The navigation page that signs the visitor out."""
    st.logout()


def _required() -> bool:
    try:
        return runtime.runs().settings.sign_in == "required"
    except OpenQueryError:  # invalid settings: every page shows the error
        return False
