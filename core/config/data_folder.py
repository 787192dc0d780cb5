"""The data folder, without the models of all settings, whose imports take most of a short command's time."""

import os
from pathlib import Path

VARIABLE = "OPENQUERY_DATA"
DEFAULT = Path("~/.local/share/openquery")
ENV_FILE, TOML_FILE = ".env", ".streamlit/secrets.toml"


def data_folder() -> Path:
    """Return `Settings.folder`. The settings are read only if the folder may be in one of their files.

    Raises:
        BadInput: when the settings are read and wrong.
    """
    for name, value in os.environ.items():
        if name.upper() == VARIABLE:
            return _absolute(Path(value))
    if Path(ENV_FILE).exists() or Path(TOML_FILE).exists():
        from core.config.settings import Settings

        return Settings.read().folder
    return _absolute(DEFAULT)


def _absolute(folder: Path) -> Path:
    return folder.expanduser().absolute()
