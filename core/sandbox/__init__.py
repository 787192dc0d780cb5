"""Confine worker processes that read foreign bytes, without privileges, as far as the system allows.

Standard library alone, because it runs before anything else in a worker (decision 0032).
"""

import errno
import sys
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from core.sandbox import landlock, seccomp
from core.sandbox.process import close_descriptors, drop_capabilities, hide_memory

PACKAGE = Path(__file__).resolve().parents[1]
"""The folder of this module's package. Its parent is not readable, because it may have a `.env`."""
_LIBRARIES = (
    "/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib", "/nix/store",
)  # fmt: skip
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo", "/dev/null", "/dev/urandom")


@dataclass(frozen=True, slots=True)
class Confinement:
    """The protections of a process as texts. `missing` lists the unavailable protections with reasons."""

    in_force: tuple[str, ...]
    missing: tuple[str, ...] = ()


def confine(
    keep: Collection[int] = (),
    *,
    readable: Iterable[Path] = (),
    writable: Path | None = None,
    with_landlock: bool = True,
) -> Confinement:
    """Confine this process permanently, as far as the system allows. Call it before threads start.

    All descriptors except the first three and `keep` are closed. Its memory is hidden. It has no privileges, no
    network, and starts no programs. It reads only Python's files and `readable`, and writes only below `writable`, if
    given. Without Landlock, as on older kernels, it reads all files of its user.
    """
    close_descriptors(keep)
    files = (*_python_files(), *readable)
    own_folder = f"writes only below {writable}" if writable else "writes none"

    def restrict_files() -> None:
        if not with_landlock:
            raise OSError(errno.EOPNOTSUPP, "not asked for")
        landlock.restrict(files, (writable,) if writable else ())

    steps: tuple[tuple[str, Callable[[], object]], ...] = (
        ("memory hidden from other processes", hide_memory),
        ("no privileges", lambda: drop_capabilities(writes=writable is not None)),
        (f"reads only Python's own files, {own_folder} (Landlock)", restrict_files),
        (
            "no network, no other programs, no signals" + ("" if writable else ", no writing") + " (seccomp)",
            lambda: seccomp.restrict(writes=writable is not None),
        ),
    )
    in_force, missing = ["no inherited descriptors"], []
    for promise, apply in steps:
        try:
            apply()
        except OSError as error:
            missing.append(f"{promise}: {error.strerror}")
        else:
            in_force.append(promise)
    return Confinement(tuple(in_force), tuple(missing))


def _python_files() -> list[Path]:
    prefixes = {Path(prefix).resolve() for prefix in (sys.prefix, sys.base_prefix, sys.exec_prefix)}
    entries = {Path(entry).resolve() for entry in sys.path if entry}
    folders = [path for path in entries if _installed(path, prefixes)]
    return [PACKAGE, *folders, *_loaded_libraries(), *map(Path, (*_LIBRARIES, *_SYSTEM_FILES))]


def _installed(path: Path, prefixes: set[Path]) -> bool:
    """Whether a folder of the search path has installed modules.

    A checkout is excluded, because it may hold other files.
    """
    return path.name in ("site-packages", "dist-packages") or any(
        path.is_relative_to(prefix / part) for prefix in prefixes for part in ("lib", "lib64", "Lib", "DLLs")
    )


def _loaded_libraries() -> set[Path]:
    """Return the folders of loaded shared libraries. They may be anywhere."""
    with suppress(OSError):
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
        paths = {Path(line.split(None, 5)[5]) for line in maps.splitlines() if ".so" in line and "/" in line}
        return {path.parent for path in paths}
    return set()
