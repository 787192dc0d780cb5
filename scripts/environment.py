"""Make a virtual environment with exactly the packages that the locks name.

`./start` and `./test` run this with the Python that they found, before anything is installed: standard library only.
"""

import argparse
import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUN_TIME = "requirements.lock"
UV = "locks/uv.lock"
STAMP = "openquery-environment.json"
"""The file in an environment of ours that says what was installed. Without `locks` the install did not finish."""
OUTDATED = 3
"""The exit code of `--check` for an environment that is missing or differs from the locks."""


class Failed(Exception):
    """The environment cannot be made. The message says what to do, in one line."""


@dataclass(frozen=True)
class Stamp:
    """What an environment was made from."""

    root: str
    python: str
    """Its version, such as `3.13.0`."""
    groups: tuple[str, ...] = ()
    """The extras beside the run-time packages, sorted."""
    locks: tuple[tuple[str, str], ...] = ()
    """Each lock with its SHA-256."""

    @classmethod
    def read(cls, folder: Path) -> "Stamp | None":
        """Return the stamp of an environment, or None if this program did not make it."""
        try:
            values = json.loads((folder / STAMP).read_text("utf-8"))
            locks = tuple((str(name), str(digest)) for name, digest in values["locks"])
            return cls(values["root"], values["python"], tuple(values["groups"]), locks)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError):
            return cls("", "")

    def write(self, folder: Path) -> None:
        """Write the stamp into the environment, whole or not at all."""
        file = folder / STAMP
        partial = file.with_suffix(".partial")
        partial.write_text(json.dumps(asdict(self)), "utf-8")
        partial.replace(file)


def lock_file(group: str) -> str:
    """Return the path of a group's lock, relative to the root."""
    return f"locks/{group}.lock"


def wanted_stamp(groups: Sequence[str]) -> Stamp:
    """Return the stamp of a complete environment for the running Python.

    Raises:
        Failed: for a group that has no lock.
    """
    for group in groups:
        if not (ROOT / lock_file(group)).is_file():
            known = sorted(
                path.stem for path in (ROOT / "locks").glob("*.lock") if path.stem not in ("tests", "uv")
            )
            raise Failed(f"there is no extra {group!r}. Extras: {', '.join(known)}")
    names = (RUN_TIME, *(lock_file(group) for group in groups))
    locks = tuple((name, hashlib.sha256((ROOT / name).read_bytes()).hexdigest()) for name in names)
    return Stamp(str(ROOT), ".".join(map(str, sys.version_info[:3])), tuple(groups), locks)


def remembered_groups(folder: Path, asked: Sequence[str]) -> tuple[str, ...]:
    """Return the groups asked for now and at earlier starts, sorted."""
    stamp = Stamp.read(folder)
    return tuple(sorted({*asked, *(stamp.groups if stamp else ())}))


def make_environment(folder: Path, asked: Sequence[str]) -> None:
    """Create or replace the environment, unless it is complete already.

    If the install fails, an environment that was there before is put back.

    Raises:
        Failed: with a message of one line.
    """
    wanted = wanted_stamp(remembered_groups(folder, asked))
    with install_lock():
        present = Stamp.read(folder)
        if present == wanted:
            return  # another process made it meanwhile
        if present is None and folder.exists():
            raise Failed(f"{folder} was not made by this command. Move it away, then run the command again")
        if present and adds_only(folder, present, wanted):
            Stamp(wanted.root, wanted.python, wanted.groups).write(folder)
            new = [name for name, _ in wanted.locks if name not in dict(present.locks)]
            install(folder, new)
            wanted.write(folder)
            return
        with replaced(folder):
            folder.mkdir()
            Stamp(wanted.root, wanted.python, wanted.groups).write(folder)
            create(folder)
            install(folder, [name for name, _ in wanted.locks])
            wanted.write(folder)


def adds_only(folder: Path, present: Stamp, wanted: Stamp) -> bool:
    """Whether a complete environment only lacks further groups, which can be installed into it."""
    same_place = (present.root, present.python) == (wanted.root, wanted.python)
    installer = shutil.which("uv") or (folder / "bin" / "pip").exists()
    return bool(installer and same_place and present.locks and set(present.locks) < set(wanted.locks))


@contextmanager
def install_lock() -> Iterator[None]:
    """Wait until no other process installs into this checkout."""
    with (ROOT / RUN_TIME).open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Waiting for another ./start or ./test that is installing.", file=sys.stderr)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def replaced(folder: Path) -> Iterator[None]:
    """Move the environment aside while a new one is made, and back if that fails."""
    old = folder.with_name(f"{folder.name}.old")
    if old.exists() and not folder.exists():
        old.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
    complete = bool((stamp := Stamp.read(folder)) and stamp.locks)
    if complete:
        folder.rename(old)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        if complete:
            old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def create(folder: Path) -> None:
    """Create an empty environment, with uv if it is installed.

    The checkout is put on its path by a `.pth` file, as an editable install does, but without a build. The path is
    written as an ASCII literal, since Python up to 3.12 reads the file in the locale's encoding.
    """
    if shutil.which("uv"):
        run(["uv", "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(folder)], "uv venv")
    else:
        run([sys.executable, "-m", "venv", str(folder)], "python -m venv")
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "openquery.pth").write_text(f"import sys; sys.path.append({str(ROOT)!a})\n", "ascii")


def install(folder: Path, locks: Sequence[str]) -> None:
    """Install the packages of the locks, each checked by its digest.

    The environment of the tests has uv, which is installed first and installs the rest in a fifth of pip's time. If it
    cannot, for example because only pip knows a mirror of the package index, pip does.
    """
    python = str(folder / "bin" / "python")
    with_pip = [python, "-m", "pip", "install", "--no-deps", "--require-hashes", "--no-input", "--no-compile"]
    with_pip += ["--disable-pip-version-check", "--progress-bar", "off", "--retries", "2"]
    files = [argument for lock in locks for argument in ("-r", str(ROOT / lock))]
    text = "".join((ROOT / lock).read_text("utf-8") for lock in locks)
    total = len(re.findall(r"^\S+==", text, re.M))
    progress = Progress(folder.name, total)
    uv = shutil.which("uv")
    if not uv and UV in locks:
        run([*with_pip, "-r", str(ROOT / UV)], "pip install")
        uv = str(folder / "bin" / "uv")
    if uv:
        with_uv = [uv, "pip", "install", "--quiet", "--python", python, "--no-deps", "--require-hashes"]
        try:
            run([*with_uv, *files], "uv pip install", progress)
            return
        except Failed:
            if not (folder / "bin" / "pip").exists():
                raise
    run([*with_pip, *files], "pip install", progress)


class Progress:
    """One line about an install, rewritten on a terminal."""

    def __init__(self, folder: str, total: int) -> None:
        self._title = f"Installing up to {total} packages into {folder}, once"
        self._count = 0
        self._terminal = sys.stderr.isatty()
        self._show(self._title, end="" if self._terminal else "\n")

    def _show(self, text: str, end: str = "") -> None:
        print(f"\r\033[K{text}" if self._terminal else text, end=end, file=sys.stderr, flush=True)

    def line(self, line: str) -> None:
        """Count a package of which pip reports that it begins."""
        if self._terminal and line.startswith("Collecting "):
            self._count += 1
            self._show(f"{self._title}: {self._count} fetched")
        elif self._terminal and line.startswith("Installing collected"):
            self._show(f"{self._title}: unpacking")

    def end(self) -> None:
        """Clear the line on a terminal."""
        if self._terminal:
            self._show("")


def run(command: Sequence[str], what: str, progress: Progress | None = None) -> None:
    """Run a command quietly.

    Raises:
        Failed: with the likely cause, from what the command printed.
    """
    environment = {**os.environ, "PYTHONNOUSERSITE": "1", "LC_ALL": "C.UTF-8"}
    environment.pop("PYTHONPATH", None)
    lines: list[str] = []
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        try:
            for line in process.stdout or ():
                lines.append(line.rstrip())
                if progress:
                    progress.line(line)
        except BaseException:
            process.terminate()
            raise
        finally:
            if progress:
                progress.end()
    if process.returncode:
        raise Failed(cause(lines, what))


CAUSES = (
    (("No space left on device", "Errno 28", "os error 28"), "the disk is full. Free about 1 GB"),
    (
        ("DO NOT MATCH THE HASHES", "Hash mismatch"),
        "a package is not the one that the lock names. Try again later",
    ),
    (
        (
            "Network is unreachable",
            "Name or service not known",
            "name resolution",
            "NewConnectionError",
            "Failed to establish a new connection",
            "ProxyError",
            "Could not connect",
            "error sending request",
            "dns error",
            "Connection refused",
            "timed out",
        ),
        "the package index does not answer. Check the network, and a proxy in HTTPS_PROXY",
    ),
    (("ensurepip",), "Python's venv module is missing. Debian and Ubuntu: sudo apt install python3-venv"),
    (("Permission denied", "Read-only file system", "Errno 13", "Errno 30"), "the folder cannot be written"),
)
"""What installers print, and what it means. The first that fits is told."""


def cause(lines: Sequence[str], what: str) -> str:
    """Return why a command failed, in one line."""
    text = "\n".join(lines)
    for marks, meaning in CAUSES:
        if any(mark in text for mark in marks):
            return f"{meaning}, then run the command again"
    last = next((line for line in reversed(lines) if line.strip()), "it printed nothing")
    return f"{what} failed: {last.strip()[:300]}"


def main() -> int:
    """Make or check the environment that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("groups", nargs="?", default="", help="extras, divided by commas")
    parser.add_argument(
        "--check", action="store_true", help="only say whether it is complete, by the exit code"
    )
    options = parser.parse_args()
    groups = [group.strip() for group in options.groups.split(",") if group.strip()]
    # A terminal that is closed ends an install as Ctrl-C does: with the environment before put back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        if options.check:
            wanted = wanted_stamp(remembered_groups(options.folder, groups))
            return 0 if Stamp.read(options.folder) == wanted else OUTDATED
        make_environment(options.folder, groups)
    except Failed as error:
        print(f"OpenQuery is not set up: {error}.", file=sys.stderr)
        return 1
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = (
            "the disk is full. Free about 1 GB" if full else f"{error.filename or ROOT}: {error.strerror}"
        )
        hint = "" if full else ". Copy OpenQuery to a folder that you may write"
        print(f"OpenQuery is not set up: {reason}{hint}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. The next start begins again.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
