from collections.abc import Iterator
from pathlib import Path

import pytest

from core.storage.run_store import RunStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RunStore]:
    store = RunStore(tmp_path / "runs.sqlite")
    yield store
    store.close()
