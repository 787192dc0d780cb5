"""Every promise of SECURITY.md and docs/contracts.md names a test, which exists once."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SECURITY = (ROOT / "SECURITY.md").read_text(encoding="utf-8").partition("## What is promised")[2]
CONTRACTS = (ROOT / "docs" / "contracts.md").read_text(encoding="utf-8")
TEXTS = pytest.mark.parametrize("text", [SECURITY, CONTRACTS], ids=["SECURITY.md", "docs/contracts.md"])
TEST = re.compile(r"`(?:(tests/[\w/]+\.py)(?:::)?)?(test_\w+)?`")


@pytest.fixture(scope="module")
def tests() -> Counter[str]:
    """How often each test function, alone and with its file, and each file of tests is there."""
    found: Counter[str] = Counter()
    for path in (ROOT / "tests").rglob("*.py"):
        file = path.relative_to(ROOT).as_posix()
        names = re.findall(r"^\s*(?:async )?def (test_\w+)\(", path.read_text(encoding="utf-8"), re.M)
        found.update([file, *names, *{f"{file}::{name}" for name in names}])
    return found


def _named(text: str) -> list[str]:
    return ["::".join(filter(None, test)) for test in TEST.findall(text) if any(test)]


def _rows(text: str) -> list[str]:
    """The rows of a text's tables, without their heads."""
    return re.findall(r"(?<=\|\n)(\| (?!---).+\|)$", text.replace("|---", "| ---"), re.M)


@TEXTS
def test_every_test_that_is_named_exists_once(text: str, tests: Counter[str]) -> None:
    assert [test for test in sorted(set(_named(text))) if tests[test] != 1] == []


@TEXTS
def test_every_promise_names_one(text: str) -> None:
    rows = _rows(text)
    assert rows
    assert [row for row in rows if not _named(row.rpartition(" | ")[2])] == []
