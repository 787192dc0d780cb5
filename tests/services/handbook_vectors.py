"""Vectors of the demo library and of the handbook's data set, embedded once for all tests on this machine.

`python -m tests.services.handbook_vectors FOLDER` embeds them into the cache of that data folder.
"""

import hashlib
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from core.config.settings import HANDBOOK, ROOT
from tests.services.cached import CACHE, PATIENCE, Unavailable, locked
from tests.services.command_line import environment

MADE_OF = (HANDBOOK, ROOT / "core" / "stages", ROOT / "core" / "adapters" / "models")
"""What the texts and their vectors depend on. A text that has changed is embedded by the test that asks for it."""


def prepare() -> Path:
    """The cache of a data folder that has embedded them, which is made when missing.

    Raises:
        Unavailable: with what the program printed.
    """
    files = sorted(
        path for folder in MADE_OF for path in folder.rglob("*") if path.suffix in (".md", ".csv", ".py")
    )
    digest = hashlib.sha256(
        b"".join(hashlib.sha256(path.read_bytes()).digest() for path in files)
    ).hexdigest()
    target = CACHE / "vectors" / f"{digest}.sqlite"
    with locked(CACHE / "vectors.lock"):
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=target.parent) as folder:
                _embed_into(Path(folder))
                Path(folder, "cache.sqlite").rename(target)
    return target


def _embed_into(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", __spec__.name, str(folder)],
        cwd=ROOT,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode:
        raise Unavailable(f"The handbook could not be embedded:\n{(done.stdout + done.stderr)[-2000:]}")


if __name__ == "__main__":
    from tests.seeding import embed_demo_library

    embed_demo_library(Path(sys.argv[1]))
