"""`openquery mcp`: the tools over stdin and stdout."""

import json
import signal
import subprocess
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


@pytest.mark.skipif(sys.platform == "win32", reason="other systems have other signals")
def test_signal_ends_the_command_while_it_waits(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "core", "mcp"]
    client = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a", "version": "1"},
    }
    first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
    with subprocess.Popen(
        command,
        env=environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write(json.dumps(first) + "\n")
        server.stdin.flush()
        assert json.loads(server.stdout.readline())["result"]["serverInfo"]["name"] == "openquery"
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 130
