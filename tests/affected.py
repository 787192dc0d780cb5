"""Tests that a change can break, by imports and by the names of files in tests."""

import ast
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent
EVERYTHING = ("pyproject.toml", "requirements", "locks/", "scripts/", "tests/conftest.py", ".ci/")
"""Changes after which every test runs."""
PAGES = ("tests/pages", "tests/browser")
"""Tests that draw pages, which they name instead of importing them."""
DRAWN_EVERYWHERE = ("app.py", "server.py", "static/", ".streamlit/")
"""Files of every page."""


def changed_files() -> list[str]:
    """Return the files that differ from main, committed or not, and new files."""
    base = _git("merge-base", "HEAD", "main")[0]
    return sorted({*_git("diff", "--name-only", base), *_git("ls-files", "--others", "--exclude-standard")})


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def affected_tests(changed: Iterable[str] | None = None) -> list[str]:
    """Return the test files and folders that the changed files can break.

    Args:
        changed: paths relative to the root; by default what differs from main.
    """
    files = changed_files() if changed is None else list(changed)
    if any(file == "test" or file.startswith(EVERYTHING) for file in files):
        return ["tests"]
    tests: set[str] = set()
    for file in files:
        tests |= _tests_of(file)
    return sorted(tests)


def _tests_of(file: str) -> set[str]:
    if file.startswith(DRAWN_EVERYWHERE):
        return set(PAGES)
    tests = {str(path.relative_to(ROOT)) for path in _naming(Path(file).name)}
    if file.endswith(".py") and (module := _module(file)):
        graph = _imports()
        importers = {module} | (graph.find_downstream_modules(module) if module in graph.modules else set())
        for importer in importers:
            path = importer.replace(".", "/") + ".py"
            if Path(path).name.startswith("test_"):
                tests.add(path)
            elif importer.startswith("pages."):
                tests |= _tests_of_page(importer)
    return {test for test in tests if (ROOT / test).exists()}


def _module(file: str) -> str:
    parts = Path(file).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def _imports() -> grimp.ImportGraph:
    return grimp.build_graph("core", "openquery", "pages", "tests", "bench")


@cache
def _strings() -> dict[Path, frozenset[str]]:
    """Return every test file with the strings in its code."""
    return {
        path: frozenset(
            node.value
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        )
        for path in (ROOT / "tests").rglob("test_*.py")
    }


def _naming(name: str) -> list[Path]:
    return [path for path, strings in _strings().items() if any(name in text.split("/") for text in strings)]


def _tests_of_page(module: str) -> set[str]:
    """Return the tests that open a page script; those of Research open the front and name none."""
    page = module.split(".")[1]
    if page == "parts":
        return set()
    scripts = {path.stem for path in (ROOT / "pages").glob("*.py")}
    tests = set()
    for folder in PAGES:
        for path in (ROOT / folder).rglob("test_*.py"):
            named = {
                script for script in scripts if any(script in text.split("/") for text in _strings()[path])
            }
            if page in named or (page == "research" and not named):
                tests.add(str(path.relative_to(ROOT)))
    return tests
