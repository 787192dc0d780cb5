"""The documents agree with the code. `python -m tests.test_docs` writes the tables of docs/settings.md
and docs/security/permissions.md."""

import re
import shlex
from pathlib import Path

import openquery
from core.cli.main import parser
from core.config.settings import Settings
from core.features.api import create_app
from tests import permissions

ROOT = Path(__file__).parent.parent
EXTRAS = ("umap", "dask", "local", "rerank", "notebook")
README = (ROOT / "README.md").read_text("utf-8")
SETTINGS = ROOT / "docs" / "settings.md"
DOCUMENTS = sorted(
    path.relative_to(ROOT)
    for pattern in ("*.md", "docs/*.md", "docs/decisions/*.md", "docs/security/*.md", "bench/*.md")
    for path in ROOT.glob(pattern)
)
SETTINGS_HEAD = "| variable | default | meaning |\n|---|---|---|\n"


def settings_table() -> str:
    """A row for each setting: its environment variables, its default, its meaning."""
    rows = []
    for field in Settings.model_fields.values():
        names = ", ".join(f"`{alias}`" for alias in field.validation_alias.choices)  # type: ignore[union-attr]
        default = "" if field.default in ("", None) else f"`{field.default}`"
        rows.append(f"| {names} | {default} | {field.description} |\n")
    return SETTINGS_HEAD + "".join(rows)


def write_table(path: Path, head: str, table: str) -> None:
    """Replace the table at the end of a document; `head` is where it begins."""
    path.write_text(path.read_text("utf-8").partition(head)[0] + table, "utf-8")


def test_every_setting_is_tabled_with_its_default_and_meaning() -> None:
    assert SETTINGS.read_text("utf-8").endswith(f"\n\n{settings_table()}")


def test_each_decision_has_a_number_of_its_own_in_its_heading() -> None:
    records = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    assert len({record.name[:4] for record in records}) == len(records)
    for record in records:
        assert record.read_text("utf-8").startswith(f"# {record.name[:4]}: "), record.name


def test_table_of_permissions_has_every_button_and_endpoint() -> None:
    listed = {key for keys in permissions.BUTTONS.values() for key in keys} | set(permissions.ON_SCREEN)
    found = dict(permissions.widgets())
    unlisted = {place: key for place, key in found.items() if key not in listed}
    assert unlisted == {}, "add the key to BUTTONS or ON_SCREEN in tests/permissions.py"
    assert listed - set(found.values()) == set(), "remove the key from tests/permissions.py"
    paths = create_app().openapi()["paths"]
    served = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    known = {path for paths in permissions.ENDPOINTS.values() for path in paths}
    assert served - known == set(), "add the route to ENDPOINTS in tests/permissions.py, under its action"
    assert known - served == set(), "remove the route from ENDPOINTS in tests/permissions.py"
    written = permissions.DOCUMENT.read_text("utf-8")
    assert written.endswith(f"\n\n{permissions.table()}"), "run python -m tests.test_docs"


def _requirements() -> list[str]:
    lines = (
        line
        for file in ("requirements.txt", *(f"requirements-{extra}.txt" for extra in EXTRAS))
        for line in (ROOT / file).read_text().splitlines()
    )
    return [line for line in lines if line and not line.startswith(("#", "-r"))]


def test_every_dependency_is_bounded_and_in_the_readme() -> None:
    table = README.partition("## Dependencies")[2].partition("\n## ")[0]
    cells = {cell for row in re.findall(r"^\| ([^|]+) \|", table, re.M) for cell in row.split(", ")}
    assert cells - {"package", "---"} == {re.split(r"[\[=<>]", line)[0] for line in _requirements()}
    assert [line for line in _requirements() if "<" not in line and "==" not in line] == []


def _missing(path: Path) -> list[str]:
    """Links, and paths of our own folders in backticks, that lead nowhere."""
    text = (ROOT / path).read_text("utf-8")
    links = [target for target in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in target]
    named = re.findall(r"`((?:core|pages|openquery|tests|bench|docs|static)/[\w./-]*)`", text)
    return [
        *(target for target in links if not (ROOT / path).parent.joinpath(target).exists()),
        *(name for name in named if not (ROOT / name).exists()),
    ]


def test_what_documents_name_exists() -> None:
    assert {str(path): missing for path in DOCUMENTS if (missing := _missing(path))} == {}


def test_the_commands_of_documents_are_accepted() -> None:
    for path in DOCUMENTS:
        for command in re.findall(r"^openquery (.*?)(?:\s+#.*)?$", (ROOT / path).read_text("utf-8"), re.M):
            parser().parse_args(shlex.split(command))


def test_documents_import_public_names_only() -> None:
    for path in DOCUMENTS:
        for names in re.findall(r"^from openquery import (.*)$", (ROOT / path).read_text("utf-8"), re.M):
            assert set(names.split(", ")) <= set(openquery.__all__), path


def test_citation_image_and_changelog_agree_on_the_latest_release() -> None:
    release = re.search(
        r"^## (\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M
    )
    assert release
    version, date = release.groups()
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert version == openquery.__version__
    assert f"\nversion: {version}\ndate-released: {date}\n" in citation
    assert f'org.opencontainers.image.version="{version}"' in (ROOT / "Dockerfile").read_text("utf-8")


def test_changes_of_a_version_fit_on_one_screen() -> None:
    for version in (ROOT / "CHANGELOG.md").read_text("utf-8").split("\n## ")[1:3]:
        lines = [line for line in version.splitlines() if line.startswith("- ")]
        assert len(lines) == len(set(lines)) <= 35


def test_ci_runs_the_command_of_the_readme() -> None:
    tests = README.partition("## Tests")[2]
    command = re.search(r"```bash\n(.+)\n```", tests)
    assert command
    assert command[1] in (ROOT / ".ci" / "run").read_text().splitlines()


if __name__ == "__main__":
    write_table(SETTINGS, SETTINGS_HEAD, settings_table())
    permissions.write()
