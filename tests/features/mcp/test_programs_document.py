"""What docs/programs.md tells a reader to copy does what it says."""

import asyncio
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from core.cli.arguments import parser
from core.features.api import create_app
from tests.features.api.conftest import DEMO, Api
from tests.features.mcp.test_http import headers, message

pytestmark = pytest.mark.slow

DOCUMENT = (Path(__file__).parents[3] / "docs" / "programs.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", DOCUMENT, re.M | re.S)


def servers() -> list[dict[str, Any]]:
    """The entries of the configurations of clients."""
    found: list[dict[str, Any]] = []
    for block in blocks("json"):
        configuration = json.loads(block)
        found += (configuration.get("mcpServers") or configuration["servers"]).values()
    for block in blocks("toml"):
        found += tomllib.loads(block)["mcp_servers"].values()
    return found


def test_configurations_start_the_command_or_name_the_address() -> None:
    assert len(servers()) == 5
    for server in servers():
        if "command" in server:
            assert server["command"] == "openquery"
            assert parser().parse_args(server["args"]).runs == "features.mcp.command.serve_stdio"
        else:
            assert server["url"] == "http://127.0.0.1:8501/api/mcp"


def test_documented_agent_finds_what_brings_a_passage_in(api: Api) -> None:
    api.put("/config", json={"value": DEMO}).raise_for_status()
    (program,) = (block for block in blocks("python") if "why_not" in block)
    program = program.replace("http://127.0.0.1:8000", api.url)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stderr
    lost, brought_in = done.stdout.splitlines()
    assert lost.endswith("limit per page reached.")
    assert brought_in.startswith("It is source ")


def test_post_of_the_document_is_answered(api: Api) -> None:
    (command,) = (block for block in blocks("bash") if "curl" in block)
    sent = dict(line.split(": ", 1) for line in re.findall(r"-H '([^']+)'", command))
    body = re.search(r"-d '(.*)'", command, re.S)
    assert body
    reply = api.client.post("/mcp", content=body[1], headers=sent)
    assert reply.json()["result"]["structuredContent"]["results"]


async def test_links_lead_to_the_pages_beside_the_api(api: Api) -> None:
    """The pages have the API below /api, under the same name."""
    run = api.post("/qa", json={"question": "What is BM25?"}).json()["run"]
    served = Starlette(routes=[Mount("/api", create_app(api.runs, warm=False))])
    transport = httpx.ASGITransport(served, client=("127.0.0.1", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8600") as client:
        body = message("tools/call", name="attrition", arguments={"run": run})
        reply = await client.post("/api/mcp", json=body, headers=headers("tools/call", "attrition"))
    link = reply.json()["result"]["structuredContent"]["link"]
    assert link.startswith(f"http://127.0.0.1:8600/explain?run={run}")
    for task in asyncio.all_tasks() - {asyncio.current_task()}:  # those of the server
        task.cancel()
