"""Every promise of SECURITY.md and docs/contracts.md names tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SECURITY = (ROOT / "SECURITY.md").read_text(encoding="utf-8").partition("## What is promised")[2]
CONTRACTS = (ROOT / "docs" / "contracts.md").read_text(encoding="utf-8")
TEXTS = pytest.mark.parametrize("text", [SECURITY, CONTRACTS], ids=["SECURITY.md", "docs/contracts.md"])


def _exists(path: str, name: str) -> bool:
    if not (ROOT / path).is_file():
        return False
    source = (ROOT / path).read_text(encoding="utf-8")
    return not name or bool(re.search(rf"^\s*(?:async )?def {name}\(", source, re.M))


def _rows(text: str) -> list[str]:
    """The rows of a text's tables, without their heads."""
    return re.findall(r"(?<=\|\n)(\| (?!---).+\|)$", text.replace("|---", "| ---"), re.M)


@TEXTS
def test_every_test_that_is_named_exists(text: str) -> None:
    named = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)))
    assert [test for test in named if not _exists(*test)] == []


@TEXTS
def test_every_promise_names_one(text: str) -> None:
    rows = _rows(text)
    assert rows
    assert [row for row in rows if "`tests/" not in row.rpartition(" | ")[2]] == []
