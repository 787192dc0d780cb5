"""The Streamlit script: page configuration, logo and navigation. The pages are in `pages/`.

`streamlit run app.py` imports it to find out what to serve, and then runs it for each visitor.
"""

from pathlib import Path

import streamlit as st
from streamlit import runtime

from core.runtime.features import features
from pages.parts import browser, navigation
from pages.parts.serving import sign_in, streamlit_patches

ROOT = Path(__file__).parent


def draw() -> None:
    """Draw the page that the visitor is on, with the navigation."""
    streamlit_patches.draw_from_the_root()
    streamlit_patches.set_followers(lambda _key: ())
    st.set_page_config(
        page_title="OpenQuery",
        page_icon=str(ROOT / "static" / "icon.png"),
        layout="wide",
        initial_sidebar_state="collapsed",
    )
    st.logo(
        f"/app/static/logo{'-dark' if st.context.theme.type == 'dark' else ''}.svg",
        size="large",
    )
    pages = [
        st.Page("pages/research.py", title="Ask", default=True),
        st.Page("pages/explain.py", title="Explain"),
        *(st.Page(page.file, title=page.title) for page in (feature.page for feature in features()) if page),
    ]
    history = st.Page("pages/runs.py", title="History", icon=":material/history:")
    more = [
        st.Page("pages/handbook.py", title="Handbook", icon=":material/menu_book:"),
        st.Page("pages/system.py", title="System", icon=":material/monitor_heart:"),
    ]
    if sign_in.signed_in():
        more.append(
            st.Page(sign_in.sign_out, title="Sign out", icon=":material/logout:", url_path="sign-out")
        )
    admitted = sign_in.admitted()
    page = st.navigation([*pages, history, *more], position="hidden")
    # After the navigation: a report asks for the page that the browser knows of, which until then is the front page.
    browser.report_width()
    if admitted:
        navigation.navigation(page, pages, history, more)
        page.run()
    else:
        sign_in.sign_in_page()


if runtime.exists():  # a visitor's script run
    draw()
else:
    from server import SERVING

    app = st.App(__file__, **SERVING)
