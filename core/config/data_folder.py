"""The data folder, without the models of all settings, whose imports take most of a short command's time."""

import os
from pathlib import Path

VARIABLE = "OPENQUERY_DATA"
DEFAULT = Path("~/.local/share/openquery")
ENV_FILE, TOML_FILE = ".env", ".streamlit/secrets.toml"


def plain_data_folder() -> Path | None:
    """Return `Settings.folder`, or None if a file of settings may name it."""
    for name, value in os.environ.items():
        if name.upper() == VARIABLE:
            return absolute(Path(value))
    return None if Path(ENV_FILE).exists() or Path(TOML_FILE).exists() else absolute(DEFAULT)


def absolute(folder: Path) -> Path:
    """Return the folder without `~`, from the root."""
    return folder.expanduser().absolute()
