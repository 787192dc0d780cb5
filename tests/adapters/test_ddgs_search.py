"""ddgs without a network: every engine is behind a proxy of the test."""

from __future__ import annotations

import pytest

from core.adapters.ddgs_search import Ddgs, region
from core.errors import SearchFailed
from core.knobs import SearchKnobs
from tests.services.process import free_port


async def test_without_a_network_it_says_so_quickly_and_what_to_do():
    nobody = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(SearchFailed, match="cannot be reached") as caught:
        await Ddgs(timeout=5, proxy=nobody)("chunk overlap", SearchKnobs())
    assert "demo library" in caught.value.hint
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("all", "us-en"),
        ("auto", "us-en"),
        ("en", "us-en"),
        ("en-GB", "gb-en"),
        ("de", "de-de"),
        ("zh-CN", "cn-zh"),
    ],
)
def test_languages_become_regions(language, expected):
    assert region(language) == expected
