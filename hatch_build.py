"""Build hooks: dependencies from the requirements files, and a wheel with one top-level package, `openquery`.

The source tree imports `core` and `pages` from its root. A wheel must not install packages of such common names, so
the tree is mapped below `openquery/`, and every import of `core` or `pages` is rewritten to `openquery.core` or
`openquery.pages`. docs/decisions/0015-one-package-in-the-wheel.md gives the reasons.
"""

import ast
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

PACKAGE = "openquery"
MOVED = ("core", "pages")
"""Packages at the root of the source tree that become sub-packages of `openquery`."""
CONTENTS = (
    PACKAGE,
    *MOVED,
    "app.py",
    "server.py",
    "static",
    "docs/handbook",
    ".streamlit/config.toml",
)
"""Everything that a wheel contains, by its path in the source tree."""
NOT_PACKED = shutil.ignore_patterns("__pycache__", "*.pyc", ".*_cache")


class Requirements(MetadataHookInterface):
    """Dependencies are written once, in the requirements files."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the dependencies of the package."""
        root = Path(self.root)
        metadata["dependencies"] = requirements(root / "requirements.txt")
        metadata["optional-dependencies"] = {
            "umap": requirements(root / "requirements-umap.txt"),
            "dask": requirements(root / "requirements-dask.txt"),
            "local": requirements(root / "requirements-local.txt"),
            "rerank": requirements(root / "requirements-rerank.txt"),
            "notebook": requirements(root / "requirements-notebook.txt"),
        }


class OnePackage(BuildHookInterface):  # type: ignore[type-arg]
    """Maps the source tree below `openquery/`. An editable install uses the source tree as it is."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Map the source tree into one package, with its imports rewritten."""
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory(prefix="openquery-wheel-")
        package = Path(self._folder.name) / PACKAGE
        map_tree(Path(self.root), package)
        build_data["force_include"][str(package)] = PACKAGE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Delete what was rewritten for the build."""
        if version != "editable":
            self._folder.cleanup()


def requirements(file: Path) -> list[str]:
    """The requirement lines of a file, without comments."""
    return [line for line in file.read_text("utf-8").splitlines() if re.match(r"\w", line)]


def map_tree(root: Path, package: Path) -> None:
    """Copy what belongs into a wheel from the source tree at `root` to the folder `package`, imports rewritten."""
    for name in CONTENTS:
        source = root / name
        target = package if name == PACKAGE else package / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=NOT_PACKED, dirs_exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    for module in package.rglob("*.py"):
        module.write_text(with_package(module.read_text("utf-8"), str(module)), "utf-8")


def with_package(source: str, name: str) -> str:
    """`source` with each absolute import of a moved package prefixed with `openquery`.

    Raises:
        ValueError: for `import core.x`, which binds the name `core` and has no rewritten form.
    """
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source, name)):
        if isinstance(node, ast.Import) and any(_moved(alias.name) for alias in node.names):
            raise ValueError(f"{name}:{node.lineno}: write `from core… import …` instead of `import core…`.")
        if isinstance(node, ast.ImportFrom) and node.level == 0 and _moved(node.module or ""):
            line = lines[node.lineno - 1]
            begin = len(line.encode()[: node.col_offset].decode())
            statement = re.sub(r"^from\s+", f"from {PACKAGE}.", line[begin:], count=1)
            lines[node.lineno - 1] = line[:begin] + statement
    return "".join(lines)


def _moved(module: str) -> bool:
    return module.partition(".")[0] in MOVED
