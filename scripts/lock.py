"""Write the locks: exact versions and digests, for every system and every Python from 3.11 on.

`requirements.lock` has the run-time packages, `locks/GROUP.lock` what a group adds to them. All come from one
resolution, so any groups fit together. Needs `uv` on the PATH.

    python scripts/lock.py              keep the versions of today's locks where the requirements allow them
    python scripts/lock.py --upgrade    take the newest versions
"""

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
GROUPS = {
    "umap": "requirements-umap.txt",
    "dask": "requirements-dask.txt",
    "notebook": "requirements-notebook.txt",
    "local": "requirements-local.txt",
    "rerank": "requirements-rerank.txt",
    "tests": "requirements-dev.txt",
}
UV = "locks/uv.lock"
"""The installer alone, which the tests' environment gets first."""
HEADER = "# {what}: exact versions and digests. Made by: python scripts/lock.py\n"


def resolve(*sources: str, output: Path, constraints: Path | None = None) -> str:
    """Resolve requirements for every platform, and return the lock.

    Args:
        sources: requirement files.
        output: where uv writes; versions that stand there are preferred.
        constraints: a lock that the result must agree with.
    """
    command = ["uv", "pip", "compile", "--quiet", *sources, "--universal", "--python-version", "3.11"]
    command += ["--generate-hashes", "--no-annotate", "--no-header", "--output-file", str(output)]
    if constraints:
        command += ["--constraints", str(constraints)]
    subprocess.run(command, cwd=ROOT, check=True)
    return output.read_text("utf-8")


def packages(lock: str) -> list[str]:
    """Return the entries of a lock, each a package with its digests."""
    return re.findall(r"^\S.*(?:\n .*)*\n", re.sub(r"^#.*\n", "", lock, flags=re.M), re.M)


def main() -> None:
    """Write all locks."""
    locks = ROOT / "locks"
    locks.mkdir(exist_ok=True)
    present = [ROOT / "requirements.lock", *(locks / f"{group}.lock" for group in GROUPS)]
    with TemporaryDirectory() as name:
        folder = Path(name)
        whole = folder / "whole.lock"
        if "--upgrade" not in sys.argv[1:]:
            entries = {
                entry for path in present if path.exists() for entry in packages(path.read_text("utf-8"))
            }
            whole.write_text("".join(sorted(entries)), "utf-8")
        resolve(*GROUPS.values(), output=whole)
        run_time = packages(resolve("requirements.txt", output=folder / "run.lock", constraints=whole))
        (ROOT / "requirements.lock").write_text(
            HEADER.format(what="Run-time packages") + "".join(run_time), "utf-8"
        )
        for group, source in GROUPS.items():
            entries = packages(
                resolve("requirements.txt", source, output=folder / f"{group}.lock", constraints=whole)
            )
            added = [entry for entry in entries if entry not in run_time]
            (locks / f"{group}.lock").write_text(
                HEADER.format(what=f"What {source} adds") + "".join(added), "utf-8"
            )
        uv = [entry for entry in packages(whole.read_text("utf-8")) if entry.startswith("uv==")]
        (ROOT / UV).write_text(HEADER.format(what="The installer") + "".join(uv), "utf-8")


if __name__ == "__main__":
    main()
