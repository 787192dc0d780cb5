"""The registry of a notebook's process, on a folder of the test's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.config.settings import Settings
from core.features.notebook import process
from core.runtime.registry import RunRegistry


@pytest.fixture
def registry(warm_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunRegistry]:
    runs = RunRegistry(Settings(data=warm_folder, ollama_url=""))
    monkeypatch.setattr(process, "registry", lambda: runs)
    yield runs
    runs.close()
