"""A server that workers attack: it has a key in its environment, a socket with a user on it, and data on disk.

`python -m tests.hostile.victim FOLDER` hardens itself as the real programs do, lets every attack run in a worker
of the real pool, and prints what became of each as JSON. With `--without-landlock` the workers are confined as on a
kernel that has none. With `--unconfined` nothing is hardened, and the attacks run in a plain child process.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from core.adapters.web.extraction_pool import ExtractionPool
from core.model import Document, Extractor, Unreadable
from core.runtime.event_loop import run_async
from core.runtime.hardening import harden
from tests.hostile.attacks import ATTACKS

ROOT = Path(__file__).resolve().parents[2]
KEY = "sk-canary-of-the-operator"
SECONDS = 60.0


def outcomes(folder: Path, *options: str) -> dict[str, str]:
    """What became of each attack, by its name; and of the confinement, under `in_force` and `missing`."""
    for name in ("home/.ssh/id_ed25519", "data/runs.sqlite", "data/notes.txt"):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("what nobody else may read")
    process = subprocess.run(
        [sys.executable, "-m", "tests.hostile.victim", str(folder), *options],
        cwd=ROOT,
        env=os.environ | {"OPENAI_API_KEY": KEY},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert not process.returncode, process.stderr
    results: dict[str, str] = json.loads(process.stdout)
    return results


async def attacked(folder: Path, *, confined: bool, options: str) -> dict[str, str]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.set_inheritable(True)  # as uvicorn and Streamlit do
        port = listening.getsockname()[1]
        results: dict[str, str] = {}
        with socket.create_connection(("127.0.0.1", port)) as user:
            user.sendall(b"Authorization: Bearer token-of-a-user")
            async with ExtractionPool(1, python=str(interpreter(folder, options))) as pool:
                codes = [
                    attack.code.replace("{folder}", str(folder)).replace("{port}", str(port))
                    for attack in ATTACKS
                ]
                ends = [await _in_pool(pool, code) for code in codes] if confined else await _in_child(codes)
                results |= zip((attack.name for attack in ATTACKS), ends, strict=True)
                results["in_force"] = "; ".join(pool.confinement.in_force)
                results["missing"] = "; ".join(pool.confinement.missing)
                results["fallback"] = pool.fallback or ""
        return results


def interpreter(folder: Path, options: str = "") -> Path:
    """What the pool starts in place of Python: it runs the worker that was taken over, with the same options."""
    script = folder / "python"
    script.write_text(
        f'#!/bin/sh\nfor last; do :; done\nexec "{sys.executable}" -E -X utf8 -m tests.hostile.taken_over {options} "$last"\n'
    )
    script.chmod(0o700)
    return script


async def _in_pool(pool: ExtractionPool, code: str) -> str:
    document = Document(
        url="https://example.org/", status=200, media_type="text/html", charset="utf-8", body=code.encode()
    )
    try:
        return (await pool(document, Extractor.FAST)).text
    except Unreadable as why:
        return f"refused: {why}"


async def _in_child(codes: list[str]) -> list[str]:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.hostile.taken_over",
        "--unconfined",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    output, _ = await child.communicate(json.dumps(codes).encode())
    ends: list[str] = json.loads(output)
    return ends


if __name__ == "__main__":
    confined = "--unconfined" not in sys.argv
    if confined:
        harden()
    options = "--without-landlock" if "--without-landlock" in sys.argv else ""
    print(json.dumps(run_async(attacked(Path(sys.argv[1]), confined=confined, options=options))))
