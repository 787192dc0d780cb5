"""A file of JSON, one value a line, that is continued after its process was killed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def append_line(path: Path, value: Mapping[str, Any]) -> None:
    """Write a line. It is on disk when this returns."""
    with path.open("a", encoding="utf-8", errors="replace") as file:
        file.write(json.dumps(value, ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())


def drop_torn_line(path: Path) -> None:
    """Cut off a last line without an end, so that the next one is not joined to it."""
    with path.open("r+b") as file:
        whole = file.read().rfind(b"\n") + 1
        file.truncate(whole)
