"""Both ways to start the service: alone, and beside the pages."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from core.serving.security_headers import API_POLICY
from core.serving.single_worker import REFUSAL
from tests.browser import server as pages
from tests.features.api.conftest import DEMO, QUESTION
from tests.features.mcp.test_http import headers, message
from tests.services.health import once_started
from tests.services.process import own_port, serving

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]


TOKEN = "canary"
"""The key of a server, which must not be read from its process."""
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}


def check_keys_are_unreadable(pid: int, health: dict[str, Any]) -> None:
    if sys.platform == "linux":  # other systems do not show the environment of a process
        with suppress(PermissionError):  # root alone may look
            assert TOKEN.encode() not in Path(f"/proc/{pid}/environ").read_bytes()
        assert Path(f"/proc/{pid}/environ").stat().st_uid == 0, "nobody else may"
        assert health["services"]["process"] == "operational"
        assert "memory hidden" in health["details"]["process"]
        assert "no keys in its environment" in health["details"]["process"]
        assert "Missing" not in health["details"]["process"]


def test_the_service_runs_alone(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{own_port()}"
    command = [
        sys.executable,
        "-m",
        "uvicorn",
        "core.features.api:app",
        "--app-dir",
        ROOT,
        "--port",
        url.rpartition(":")[2],
    ]
    env = {
        "OPENQUERY_DATA": str(tmp_path / "data"),
        "OLLAMA_HOST": "",
        "OPENQUERY_WORKERS": "1",
        "OPENQUERY_API_TOKENS": TOKEN,
    }
    ready = f"tcp://{url.removeprefix('http://')}"
    with (
        serving(command, ready=ready, folder=tmp_path, env=env, patience=60) as pid,
        httpx.Client(base_url=url, headers=AUTHORIZED, timeout=30, trust_env=False) as client,
    ):
        health = once_started(lambda: client.get("/health")).json()
        assert health["status"] == "healthy"
        check_keys_are_unreadable(pid, health)
        assert len(client.get("/v1/models").json()["data"]) == 1
        assert client.get("/v1/models", headers={"Authorization": "Bearer no"}).status_code == 401
        assert client.get("/", follow_redirects=True).json()["info"]["title"] == "OpenQuery"
        for path in ("/health", "/nothing", "/runs/nobody"):
            headers = client.get(path).headers
            assert headers["content-security-policy"] == API_POLICY
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["x-frame-options"] == "SAMEORIGIN"
    log = (tmp_path / "server.log").read_text()
    assert "Finished server process" in log
    assert "Traceback" not in log


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not show the environment of a process")
@pytest.mark.parametrize(
    "command",
    [
        ("uvicorn", "server:app", "--app-dir", ROOT, "--port"),
        ("streamlit", "run", ROOT / "app.py", "--server.port"),
    ],
    ids=lambda command: str(command[1]),
)
def test_server_keys_are_unreadable_and_health_says_so(tmp_path: Path, command: Sequence[str | Path]) -> None:
    port = own_port()
    url = f"http://127.0.0.1:{port}"
    env = {
        "OPENQUERY_DATA": str(tmp_path / "data"),
        "OLLAMA_HOST": "",
        "OPENQUERY_WORKERS": "1",
        "OPENQUERY_API_TOKENS": TOKEN,
    }
    started = [sys.executable, "-m", *command, str(port)]
    with serving(started, ready=f"{url}/_stcore/health", folder=tmp_path, env=env, patience=60) as pid:
        health = once_started(
            # Certificates would be read anew for each of many requests, and none is needed.
            lambda: httpx.get(
                f"{url}/api/health", headers=AUTHORIZED, timeout=60, trust_env=False, verify=False
            ),
        ).json()
        check_keys_are_unreadable(pid, health)


@pytest.mark.parametrize("application", ["core.features.api:app", "server:app"])
def test_a_second_worker_ends_the_server_with_the_reason(tmp_path: Path, application: str) -> None:
    command = [sys.executable, "-m", "uvicorn", application, "--workers", "2", "--port", str(own_port())]
    env = os.environ | {"OPENQUERY_DATA": str(tmp_path), "OLLAMA_HOST": "", "OPENQUERY_WORKERS": "1"}
    process = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=100, check=False
    )
    assert REFUSAL in process.stderr
    assert "Traceback" not in process.stderr
    assert process.returncode, "a supervisor of the server sees that it failed"
    assert list(tmp_path.glob("*.worker")) == []


@pytest.mark.browser
def test_service_runs_beside_the_pages_and_shares_runs(tmp_path: Path, demo_cache: Path) -> None:
    (tmp_path / "data").mkdir()
    shutil.copy(demo_cache, tmp_path / "data" / "cache.sqlite")
    with (
        pages.serving(tmp_path) as site,
        httpx.Client(base_url=site.url, timeout=60, trust_env=False) as client,
    ):
        client.put("/api/config", json={"value": DEMO}).raise_for_status()
        run = client.post("/api/research", json={"question": QUESTION}).json()
        assert run["status"] == "done"
        assert client.get(f"/api/runs/{run['id']}").json() == run
        assert client.get("/api/openapi.json").json()["servers"] == [{"url": "/api"}]
        assert client.get("/api/nothing").headers["content-type"] == "application/problem+json"
        assert client.get("/api/runs", headers={"Host": "rebound.example"}).status_code == 421
        moved = client.get("/api", follow_redirects=False).headers["Location"]
        assert moved == "api/", "relative, for a proxy may remove a folder from the path"
        asked = message("tools/call", name="attrition", arguments={"run": run["id"]})
        prefixed = headers("tools/call", "attrition", **{"X-Forwarded-Prefix": "/oq"})
        result = client.post("/api/mcp", json=asked, headers=prefixed).json()["result"]
        assert result["structuredContent"]["link"].startswith(f"{site.url}/oq/explain?")
        for page in ("/", "/runs", f"/?run={run['id']}"):
            assert "<html" in client.get(page).text
        streamed = {"Accept": "text/event-stream", "Accept-Encoding": "gzip"}
        with client.stream("POST", "/api/research", json={"question": QUESTION}, headers=streamed) as reply:
            assert "content-encoding" not in reply.headers
            assert reply.headers["x-content-type-options"] == "nosniff"
            assert any(line == "event: RunDone" for line in reply.iter_lines())
        assert not site.trouble()
