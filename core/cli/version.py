"""`openquery --version`: the version, and the migrations of the data folder's files."""

import argparse
import sqlite3
from pathlib import Path

from core.cli.printing import print_text
from core.config.data_folder import plain_data_folder
from core.config.version import __version__
from core.runtime.features import features
from core.storage.migrations import Schema, version_of
from core.storage.run_schema import RUNS, SCHEMA


def version_in_terminal(_options: argparse.Namespace) -> int:
    """Print the version and a line for each database of the data folder, without changing any.

    Raises:
        BadInput: when settings are read and wrong, after the version.
    """
    print_text(f"openquery {__version__}")
    folder = data_folder()
    databases = {RUNS: SCHEMA}
    for feature in features():
        databases |= feature.databases() if feature.databases else {}
    for name, schema in databases.items():
        if (folder / name).exists():
            print_text(f"{folder / name} {_migration(folder / name, schema)}")
    return 0


def data_folder() -> Path:
    """Return `Settings.folder`. The settings are read only if the folder may be in one of their files.

    Raises:
        BadInput: when the settings are read and wrong.
    """
    if folder := plain_data_folder():
        return folder
    from core.config.settings import Settings

    return Settings.read().folder


def _migration(path: Path, schema: Schema) -> str:
    """Return a sentence on opening a file."""
    try:
        version = version_of(path)
    except (sqlite3.Error, OSError) as error:
        return f"cannot be read: {error}."
    if version in (0, schema.latest):
        return f"has schema {schema.latest}, which this version writes: nothing is migrated."
    if version > schema.latest:
        return f"has schema {version}, and this version knows {schema.latest}: a newer one wrote it. It is not opened."
    if version < schema.version:
        return f"has schema {version}, and {schema.version} is the first that is read: it is not opened."
    return (
        f"has schema {version}, and this version writes {schema.latest}: opening it migrates the file, after a copy "
        f"({path.name}.v{version}.bak). Back up first; an older version does not open it afterwards."
    )
