"""The tools on loopback, called by the official client."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from core.features.api.routes.health import HealthStatus
from tests.features.api.conftest import DEMO, Api, health, serve, serving, settings

__all__ = ["serve"]

BM25 = DEMO | {"rank.strategy": "bm25"}


@pytest.fixture(scope="package")
def shared_api(tmp_path_factory: pytest.TempPathFactory, demo_cache: Path) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("mcp")
    shutil.copy(demo_cache, folder / "cache.sqlite")
    with serving(settings(folder)) as served:
        assert health(served).json()["status"] != HealthStatus.UNHEALTHY
        yield served


@pytest.fixture
def api(shared_api: Api) -> Api:
    """The service with the demo library, ranked by words."""
    shared_api.put("/config", json={"value": BM25}).raise_for_status()
    return shared_api


async def call(client: Client, name: str, /, **arguments: Any) -> dict[str, Any]:
    """The structured content of a call that succeeds."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    content: dict[str, Any] = result.structured_content
    return content


async def refusal(client: Client, name: str, /, **arguments: Any) -> str:
    """The text of a call that is refused."""
    result = await client.call_tool(name, arguments)
    assert result.is_error
    (content,) = result.content
    assert content.type == "text"
    return content.text
