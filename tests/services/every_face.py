"""Faces of OpenQuery under combinations of settings, and the addresses that each face calls.

    python -m tests.services.every_face < combinations.json

A combination is `[folder, {variable: value}, [face, ...]]`; without faces all of `FACES` are used. A line that begins
with `CALLED` ends the output of each combination, and goes on with `{face: [address, ...]}`. The folder has
`mills.txt` and the data set `data_sets/mills.csv`, and becomes the data folder. An address is what a name is looked up
by, or host:port of a connection. Python audits both on asyncio's own loop, which therefore takes the place of uvloop
here, as it does on Windows.
"""

import asyncio
import json
import os
import sys
import time
import types
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import Any

from tests.services.health import once_started

AUDITED = types.ModuleType("uvloop")
AUDITED.new_event_loop = asyncio.new_event_loop  # type: ignore[attr-defined]
QUESTION = "What drives a tide mill?"
COLLECTION = "notes"
PATIENCE = 60.0
CALLED = "=== called: "
FACES = (
    *(
        "check",
        "ingest",
        "ask",
        "ask with reranking",
        "eval run",
        "eval freeze",
        "eval check",
        "eval answers",
    ),
    *("Research", "Evaluate", "Ask page", "System page", "GET /health", "POST /qa", "POST /research"),
)

_called: set[str] = set()


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.getaddrinfo" and arguments[0]:
        host = arguments[0].decode() if isinstance(arguments[0], bytes) else str(arguments[0])
        if not host.replace(".", "").isdigit():
            _called.add(host)
    elif event == "socket.connect" and isinstance(arguments[1], tuple):
        _called.add(f"{arguments[1][0]}:{arguments[1][1]}")


def main(combinations: list[tuple[str, Mapping[str, str], list[str]]]) -> None:
    """Use the faces of each combination, and print which addresses each face has called."""
    sys.modules["uvloop"] = AUDITED
    sys.addaudithook(_audit)
    own = dict(os.environ)
    for folder, settings, faces in combinations:
        os.environ.clear()
        os.environ.update(own)
        os.environ.update(settings)
        os.environ |= {
            "OPENQUERY_CACHE_MB": "0",
            "OPENQUERY_ORIGIN": "library",
            "OPENQUERY_COLLECTIONS": COLLECTION,
        }
        print(CALLED + json.dumps(_called_by(Path(folder), faces or FACES)), flush=True)


def _called_by(folder: Path, wanted: Container[str]) -> dict[str, list[str]]:
    """Use the wanted faces under the settings of the environment, and return what each has called."""
    from core.cli.main import main as command_line

    data, results = str(folder / "data_sets" / "mills.csv"), str(folder / "results")
    commands = {
        "check": ("check",),
        "ingest": ("ingest", COLLECTION, str(folder / "mills.txt")),
        "ask": ("ask", QUESTION),
        "ask with reranking": ("ask", QUESTION, "--rank-rerank"),
        "eval run": ("eval", "run", "--data", data, "--out", results),
        "eval freeze": ("eval", "freeze", "--data", data, "--out", str(folder / "frozen.zip")),
        "eval check": ("eval", "check", results, "--data", data),
        "eval answers": ("eval", "answers", "--data", data),
    }
    faces: dict[str, list[str]] = {}

    def use(face: str, work: Callable[[], object]) -> None:
        if face not in wanted:
            return
        _called.clear()
        print(f"--- {face}: {work()}", flush=True)
        faces[face] = sorted(_called)

    for face, arguments in commands.items():
        use(face, lambda arguments=arguments: command_line(arguments))  # type: ignore[misc]
    _use_the_server(use)
    return faces


def _use_the_server(use: Callable[[str, Callable[[], object]], None]) -> None:
    """The pages and the HTTP API, which share a registry of runs."""
    from fastapi.testclient import TestClient
    from streamlit.testing.v1 import AppTest

    from core.config.settings import ROOT
    from core.features.api import create_app
    from core.features.api.service import operator_knobs
    from core.features.evaluate.services.experiments import Experiments
    from pages.parts import runtime

    runs = runtime.runs()
    knobs = operator_knobs(runs.settings)

    def ended(is_live: Callable[[], bool]) -> None:
        ends = time.monotonic() + PATIENCE
        while is_live():
            if time.monotonic() > ends:
                raise TimeoutError("the work has not ended")
            time.sleep(0.02)

    def research() -> object:
        run_id = runs.start(QUESTION, knobs)
        ended(lambda: (run := runs.get(run_id)) is None or run.live)
        run = runs.get(run_id)
        return run and (run.status, run.error)

    def experiment() -> object:
        name = runs.service(Experiments).start("mills.csv", {"rank": {"strategy": ["cosine", "bm25"]}})
        ended(lambda: (found := runs.service(Experiments).get(name)) is None or found.live)
        return runs.service(Experiments).get(name)

    def page(name: str) -> object:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
        if name:
            app.switch_page(f"pages/{name}.py")
        app.run()
        return app.exception

    use("Research", research)
    use("Evaluate", experiment)
    use("Ask page", lambda: page(""))
    use("System page", lambda: page("system"))
    with TestClient(create_app(runs), "http://127.0.0.1", client=("127.0.0.1", 50_000)) as client:
        use("GET /health", lambda: once_started(lambda: client.get("/health")).json())
        use("POST /qa", lambda: client.post("/qa", json={"question": QUESTION}).text)
        use("POST /research", lambda: client.post("/research", json={"question": QUESTION}).text)
    runtime.close()


if __name__ == "__main__":
    main(json.load(sys.stdin))
