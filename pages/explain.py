"""The Explain page: analyses of a finished run, each with a link. Nothing is fetched again."""

import streamlit as st

from pages.parts import address, browser, markup, page_frame
from pages.parts.answers import answer_diff
from pages.parts.compare import compare_config
from pages.parts.explain import attribution_view, attrition_view, left_out_text, map_view
from pages.parts.explain.views import PARTS, VIEW_OF, VIEWS, Part


def lead_on() -> None:
    """Rewrite an address that names a part as its view, as addresses of earlier versions do."""
    part = st.query_params.get("view", "")
    if part in VIEW_OF and part not in VIEWS:
        st.query_params.update({"view": VIEW_OF[part], "part": part})


def chosen_part() -> Part:
    """Draw the choice of the view and of its part, and return the chosen part."""
    lead_on()
    with st.container(horizontal=True, vertical_alignment="center", key="explain_views"):
        view = address.view_choice({name: title for name, (title, _) in VIEWS.items()})
        parts = VIEWS[view][1]
        if len(parts) == 1:
            st.query_params.pop("part", None)
            return PARTS[parts[0]]
        titles = {name: PARTS[name].title for name in parts}
        return PARTS[address.view_choice(titles, key=f"part_of_{view}", name="part")]


def draw() -> None:
    """Draw the chosen part of a finished run."""
    run = page_frame.chosen_run()
    part = chosen_part()
    if part is not PARTS["what-if"]:
        compare_config.leave_address()
        page_frame.how_to_read(part.how_to_read, part.article)
    with st.container(key="explain_view"):
        if part.needs_texts and run.lacks_texts:
            markup.show_empty(
                f"The texts of the pages were left out of the file of this run, so {part.needs_texts}.",
                "visibility_off",
            )
        else:
            part.draw(run)
    if part is PARTS["what-if"]:  # below what it explains, so that both answers are on the first screen
        page_frame.how_to_read(part.how_to_read, part.article)
    browser.chart_clicks(
        {
            "flow": attrition_view.pick,
            "cell": attribution_view.pick,
            "point": map_view.pick,
            "left-out": left_out_text.pick,
            "source": answer_diff.pick,
        }
    )
    browser.citation_clicks(None)


draw()
