"""The product as a person runs it: `streamlit run server.py` on a free port, with its log."""

import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.patience import Patience
from tests.services.process import own_port

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60.0
_TROUBLE = re.compile(
    r'Traceback|"error": "File|missing ScriptRunContext|was never awaited|Task was destroyed'
)
_OF_THE_PRODUCT = ("OPENQUERY_", "OPENAI_", "OPENROUTER_", "SEARXNG_", "OLLAMA_", "QDRANT_")


@dataclass(frozen=True)
class Site:
    url: str
    log: Path
    pid: int = 0

    @property
    def folder(self) -> Path:
        """Where the server has its data, and its log."""
        return self.log.parent

    def trouble(self, since: int = 0) -> str:
        """What the log told of an unhandled fault after its first `since` bytes, else an empty string."""
        text = self.log.read_bytes()[since:].decode("utf-8", "replace")
        return text[-4000:] if _TROUBLE.search(text) else ""


@contextmanager
def serving(folder: Path, script: str = "server.py", **settings: str) -> Iterator[Site]:
    """A server with its data in `folder` and these environment variables; none of the machine's own."""
    port = own_port()
    site = Site(f"http://127.0.0.1:{port}", folder / "server.log")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(_OF_THE_PRODUCT)}
    environment = {
        **clean,
        "OPENQUERY_DATA": str(folder / "data"),
        "OLLAMA_HOST": "",
        "OPENQUERY_MODEL_TIMEOUT": "600",  # a model waits in its answer until the browser has looked at it
        **settings,
    }
    command = [sys.executable, "-m", "streamlit", "run", script, "--server.port", str(port)]
    with site.log.open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            _wait_until_healthy(site, process)
            yield replace(site, pid=process.pid)
        finally:
            process.terminate()
            process.wait(20)


def _wait_until_healthy(site: Site, process: subprocess.Popen[bytes]) -> None:
    patience = Patience(START_SECONDS)
    while patience.lasts(site.log.stat().st_size) and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{site.url}/_stcore/health", timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"the server did not start:\n{site.log.read_text('utf-8', 'replace')[-4000:]}")


def headers(url: str) -> Mapping[str, str]:
    with urllib.request.urlopen(url, timeout=10) as reply:
        return dict(reply.headers.items())
