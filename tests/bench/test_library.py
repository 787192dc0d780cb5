import re

import numpy as np
import pytest

from bench.library import Drawn, measure
from tests.services.qdrant import FakeQdrant

PASSAGES, WIDTH, QUERIES = 600, 16, 5


def recalls(printed: str) -> dict[str, float]:
    """What the table says each search found of the truth."""
    rows = re.findall(r"^\| ([^|]+) \| [\d.]+ \| [\d.]+ \| [\d.]+ x \| ([\d.]+) \|$", printed, re.M)
    return {name: float(recall) for name, recall in rows}


async def test_an_exact_search_finds_what_the_scan_finds(capsys: pytest.CaptureFixture[str]) -> None:
    await measure(PASSAGES, WIDTH, QUERIES, seed=3, url="")
    printed = capsys.readouterr().out
    found = recalls(printed)
    assert found["library"] == found["library, one source"] == 1
    assert "50 documents" in printed
    assert "disk: " in printed


async def test_server_is_measured_in_a_collection_deleted_afterwards(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QDRANT_API_KEY", "a-key")
    with FakeQdrant("a-key") as qdrant:
        await measure(PASSAGES, WIDTH, QUERIES, seed=3, url=qdrant.url)
        assert qdrant.engine.get_collections().collections == []
    assert recalls(capsys.readouterr().out)["server, exact, one source"] == 1


def test_the_same_seed_draws_the_same_vectors() -> None:
    one, two, other = (
        np.concatenate([part for _, part in Drawn(7_000, 8, seed).parts()]) for seed in (1, 1, 2)
    )
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    assert np.allclose(np.linalg.norm(one, axis=1), 1, atol=1e-5)
