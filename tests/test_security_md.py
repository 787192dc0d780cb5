"""Every promise in SECURITY.md names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", TEXT)))


def _exists(path: str, name: str) -> bool:
    if not (ROOT / path).is_file():
        return False
    source = (ROOT / path).read_text(encoding="utf-8")
    return not name or bool(re.search(rf"^\s*(?:async )?def {name}\(", source, re.M))


def test_every_test_that_is_named_exists() -> None:
    assert [named for named in NAMED if not _exists(*named)] == []


def test_every_promise_names_one() -> None:
    rows = re.findall(
        r"^\| (?!promise|who|---|-)(.+) \| (.+) \|$", TEXT.partition("## What is promised")[2], re.M
    )
    assert len(rows) >= 20
    assert all("`tests/" in tests for _, tests in rows)


def test_every_file_that_is_linked_exists() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (ROOT / target).exists(), target
