"""`openquery mcp`: the tools over stdin and stdout."""

import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from tests.features.mcp.conftest import call, refusal
from tests.services.command_line import environment

pytestmark = pytest.mark.slow


async def test_client_starts_the_command_and_calls_its_tools(warm_folder: Path) -> None:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "core", "mcp"],
        env=environment(warm_folder) | {"OPENQUERY_SEARCH_BACKEND": "demo"},
    )
    async with Client(command, mode="legacy") as client:
        found = await call(client, "search", query="chunk overlap")
        document = await call(client, "fetch", id=found["results"][0]["id"])
        refused = await refusal(client, "ask", question="x" * 1_000_000)
        listed = await call(client, "runs")
    assert document["title"] == "Chunk Overlap"
    assert "question: String should have at most 1000 characters" in refused
    assert [run["question"] for run in listed["runs"]] == ["chunk overlap"]
