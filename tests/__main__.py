"""Run the checks and the tests: `./test` calls `python -m tests` in an environment of its own.

    ./test              style, types, audit, and every test but those that guard a release
    ./test --fast       style, a quick test of each page, route and command, and the unit tests of the pipeline
    ./test --changed    style, and the tests that import or name what differs from main
    ./test --release    the tests that guard a release: marked `thorough`, or in tests/alone
    ./test --thorough   everything, with 1,000 examples for each property
    --coverage          print how much of the code the tests ran
    --durations         print the slowest tests, and CPU seconds by folder

Other arguments go to pytest, which then runs only what they name.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.affected import affected_tests

ROOT = Path(__file__).resolve().parent.parent
NEEDS_MUCH = "browser or searxng or model or slow or thorough"
"""Markers of tests that need another program or seconds."""
FAST = (
    *(
        "tests/pages/test_every_page.py",
        "tests/features/api/test_every_route.py",
        "tests/test_every_command.py",
    ),
    *("tests/test_architecture.py", "tests/test_docs.py", "tests/test_patterns.py"),
    *("tests/config", "tests/model", "tests/run", "tests/stages", "tests/storage", "tests/text"),
)
"""What `--fast` runs. It names folders, because collecting all tests takes longer than running these."""
NOT_DONE = 75
"""The exit status of a check whose service does not answer, EX_TEMPFAIL of sysexits.h. The run may still pass."""
SYSTEM_PYTHON = "/usr/bin/python3"
SENSITIVE = ("tests/text", "tests/reading", "tests/features/evaluate")
"""Tests of code that depends on the regular expressions and the libraries of a Python version."""


@dataclass(frozen=True)
class Check:
    """A command that runs beside the tests."""

    name: str
    process: subprocess.Popen[bytes]
    output: IO[bytes]

    def finish(self) -> bool:
        """Wait for the command, print what it said, and return whether it did not fail."""
        outcome = {0: "passed", NOT_DONE: "NOT DONE"}.get(self.process.wait(), "FAILED")
        self.output.seek(0)
        print(f"\n{self.name}: {outcome}")
        print(self.output.read().decode("utf-8", "replace").rstrip())
        return outcome != "FAILED"


def start_check(name: str, command: str) -> Check:
    """Start a shell command whose output is printed at the end."""
    output = (ROOT / ".cache").joinpath(f"{name.replace(' ', '_')}.log").open("w+b")
    process = subprocess.Popen(command, shell=True, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
    return Check(name, process, output)


def python_version(python: str) -> tuple[int, ...]:
    """Return the version of an interpreter, or () if it does not run."""
    code = "import sys; print(*sys.version_info[:3])"
    try:
        done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=False)
    except OSError:
        return ()
    return tuple(map(int, done.stdout.split()))


def background_checks() -> list[Check]:
    """Start the checks that need no result of a test, at a lower priority than the tests."""
    (ROOT / ".cache").mkdir(exist_ok=True)
    python = sys.executable
    checks = [
        start_check(
            "types", f'nice "{python}" -m mypy --strict --explicit-package-bases core pages server.py'
        ),
        start_check("audit", f'nice "{python}" .ci/audit.py'),
    ]
    version = python_version(SYSTEM_PYTHON)
    if version >= (3, 11) and version != sys.version_info[:3]:
        checks.append(
            start_check(
                f"text, reading and evaluation under Python {'.'.join(map(str, version))}",
                f"nice {SYSTEM_PYTHON} -I scripts/environment.py .venv-system uv,tests && "
                f"nice .venv-system/bin/python -m pytest -p no:cacheprovider {' '.join(SENSITIVE)} "
                f'--hypothesis-profile=quick -m "not ({NEEDS_MUCH})"',
            )
        )
    return checks


def install_chromium() -> bool:
    """Install the browser of the browser tests if it is missing and may be installed."""
    name = "chromium-headless-shell"
    if shutil.which(name):
        return True
    if os.getuid() == 0 and shutil.which("apt-get"):
        print(f"Installing {name} for the browser tests.", flush=True)
        subprocess.run("apt-get update -qq && apt-get install -y -qq " + name, shell=True, check=False)
        if shutil.which(name):
            return True
    print(f"The browser tests need {name}. Debian: sudo apt install {name}", file=sys.stderr)
    return False


def pytest(*arguments: str) -> bool:
    """Run pytest, and return whether all tests passed."""
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=ROOT, check=False).returncode == 0


def compile_once() -> None:
    """Compile all modules and tests in one process, which each worker of a new clone would do for itself."""
    compiled = ROOT / ".cache" / "compiled"
    if not compiled.exists():
        command = [sys.executable, "-m", "pytest", "--collect-only", "-qq"]
        subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
        compiled.parent.mkdir(exist_ok=True)
        compiled.touch()


def style() -> bool:
    """Check style and formatting."""
    commands = (["check", "."], ["format", "--check", "."])
    done = [
        subprocess.run([sys.executable, "-m", "ruff", *command], cwd=ROOT, check=False)
        for command in commands
    ]
    return not any(process.returncode for process in done)


def run_tests(options: argparse.Namespace, arguments: Sequence[str]) -> bool:
    """Run the tests that the options choose."""
    extra: list[str] = []
    marked: list[str] = []
    if options.coverage:
        subprocess.run([sys.executable, "-m", "coverage", "erase"], cwd=ROOT, check=True)
        extra += ["--cov", "--cov-append", "--cov-report="]
    if options.durations:
        extra += ["--durations=30", "-p", "tests.cpu_seconds"]
    if options.thorough:
        extra += ["--hypothesis-profile=thorough"]
    elif not options.fast and not arguments:
        marked = ["-m", "thorough" if options.release else "not thorough"]
    workers = (os.cpu_count() or 1) + 1  # one more than cores: many tests wait
    parallel = [
        *("-n", str(workers)),
        *("--dist", "loadgroup", "--no-loadscope-reorder"),
        *("--ignore", "tests/alone"),
    ]
    if options.fast:
        quick = ("--hypothesis-profile=quick", "-m", f"not ({NEEDS_MUCH})")
        return pytest(*parallel, *quick, *extra, *(arguments or FAST))
    if options.changed:
        names = affected_tests()
        if not names:
            print("No test imports or names what differs from main.")
            return True
        print("\n".join(names), flush=True)
        # A change of a page runs all browser tests of this page, those of a release too.
        return pytest(*parallel, *extra, "-m", "not thorough or browser", *names, *arguments)
    if arguments:
        return pytest(*extra, *arguments)
    compile_once()
    passed = pytest(*parallel, *extra, *marked)
    if options.release or options.thorough:
        passed = pytest(*extra, "tests/alone") and passed
    return passed


def main() -> int:
    """Run what the arguments ask for, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="./test", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    which = parser.add_mutually_exclusive_group()
    for name in ("fast", "changed", "release", "thorough"):
        which.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--durations", action="store_true")
    options, arguments = parser.parse_known_args()
    began = time.monotonic()
    if not style():
        return 1
    whole = not (options.fast or arguments)
    if whole and not install_chromium():
        return 1
    checks = background_checks() if whole and not options.release else []
    try:
        if whole:
            subprocess.run([sys.executable, "-m", "tests.services"], cwd=ROOT, check=False)
        passed = run_tests(options, arguments)
        if options.coverage:
            report = subprocess.run([sys.executable, "-m", "coverage", "report"], cwd=ROOT, check=False)
            passed = passed and report.returncode == 0
        for check in checks:
            passed = check.finish() and passed
    finally:
        for check in checks:
            check.process.kill()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = usage.ru_utime + usage.ru_stime
    print(f"\n{'Passed' if passed else 'FAILED'} in {time.monotonic() - began:.0f} s, {cpu:.0f} CPU seconds.")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
