"""The theme in the message that begins a drawing, which is read from the settings once."""

import pytest
from streamlit import config
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session

from pages.parts.serving.streamlit_patches import keep_theme

SECTIONS = (
    "theme",
    "theme.light",
    "theme.dark",
    "theme.sidebar",
    "theme.light.sidebar",
    "theme.dark.sidebar",
)


def read(section: str) -> bytes:
    message = CustomThemeConfig()
    app_session._populate_theme_msg(message, section)
    return message.SerializeToString(deterministic=True)


def test_theme_is_what_streamlit_reads_and_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read_options = config.get_options_for_section
    sections: list[str] = []
    monkeypatch.setattr(
        config, "get_options_for_section", lambda name: sections.append(name) or read_options(name)
    )
    monkeypatch.setattr(app_session, "_populate_theme_msg", app_session._populate_theme_msg)  # and back
    expected = [read(section) for section in SECTIONS]
    assert any(expected)
    assert [read(section) for section in SECTIONS] == expected
    assert len(sections) == 2 * len(SECTIONS), "Streamlit keeps the theme by itself: the patch can go"
    keep_theme()
    assert [read(section) for section in SECTIONS] == expected
    sections.clear()
    assert [read(section) for section in SECTIONS] == expected
    assert not sections
