"""The data folder without the other settings, compared with the settings."""

from pathlib import Path

import pytest

from core.cli.version import data_folder
from core.config.settings import Settings


@pytest.fixture
def working(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, without the variable."""
    monkeypatch.delenv("OPENQUERY_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def same_folder() -> Path:
    assert data_folder() == Settings.read().folder
    return data_folder()


def test_folder_comes_from_the_strongest_source(working: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert same_folder() == Path("~/.local/share/openquery").expanduser()
    (working / ".streamlit").mkdir()
    (working / ".streamlit" / "secrets.toml").write_text('OPENQUERY_DATA = "from_toml"\n')
    assert same_folder() == working / "from_toml"
    (working / ".env").write_text("export OPENQUERY_DATA='from_env_file'\n")
    assert same_folder() == working / "from_env_file"
    monkeypatch.setenv("openquery_data", "~/from_environment")
    assert same_folder() == Path("~/from_environment").expanduser()


def test_other_settings_are_not_checked(working: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENQUERY_DATA", "here")
    monkeypatch.setenv("OPENQUERY_CACHE_MB", "no number")
    assert data_folder() == working / "here"
