"""The README says what is so."""

from __future__ import annotations

import re
from pathlib import Path

from core.config.settings import Settings

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def _row(name: str) -> str:
    """The setting as the table tells it: its names, its default and its meaning."""
    field = Settings.model_fields[name]
    names = ", ".join(f"`{alias}`" for alias in field.validation_alias.choices)  # type: ignore[union-attr]
    default = "" if field.default in ("", None) else f"`{field.default}`"
    return f"| {names} | {default} | {field.description} |"


def test_every_setting_is_in_the_table_with_its_default_and_meaning() -> None:
    assert [row for row in map(_row, Settings.model_fields) if row not in README] == []


def _packages(file: str) -> list[str]:
    lines = (ROOT / file).read_text().splitlines()
    return [line for line in lines if line and not line.startswith(("#", "-r"))]


def test_every_dependency_is_bounded_and_has_its_reason() -> None:
    table = README.partition("## Dependencies")[2].partition("\n## ")[0]
    cells = {cell for row in re.findall(r"^\| ([^|]+) \|", table, re.M) for cell in row.split(", ")}
    wanted = _packages("requirements.txt")
    assert [line for line in wanted if re.split(r"[\[=<>]", line)[0] not in cells] == []
    assert [line for line in wanted if "<" not in line and "==" not in line] == []


def test_every_picture_and_file_that_is_linked_exists() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        if not target.startswith("http"):
            assert (ROOT / target).exists(), target


def test_ci_runs_the_command_of_the_readme() -> None:
    tests = README.partition("## Tests")[2]
    command = re.search(r"```bash\n(.+)\n```", tests)
    assert command
    assert (ROOT / ".ci" / "run").read_text().rstrip().endswith(command[1])
