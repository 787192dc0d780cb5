"""Imports point one way. docs/architecture.md draws the same layers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
LAYERS = (
    ("openquery",),
    ("server", "app"),
    ("pages",),
    ("core.cli", "core.__main__"),
    ("core.api",),
    ("core.runtime",),
    ("core.analysis", "core.evaluation", "core.library"),
    ("core.followups",),
    ("core.pipeline",),
    ("core.stages", "core.adapters"),
    ("core.storage", "core.reading"),
    ("core.injection",),
    ("core.run", "core.ports"),
    ("core.config", "core.text"),
    ("core.sandbox",),
    ("core.model", "core.errors"),
    ("core",),
)
"""From the top. A room imports from its own layer and from those below it. Imports for types alone do not count."""
DEPTH = {room: depth for depth, rooms in enumerate(LAYERS) for room in rooms}
SOURCES = [
    path.relative_to(ROOT)
    for part in ("openquery", "server.py", "app.py", "pages", "core")
    for path in (ROOT / part, *(ROOT / part).rglob("*.py"))
    if path.suffix == ".py"
]


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node below `tree`, without what only the type checker sees."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from _nodes(node)


def _imports(path: Path) -> Iterator[str]:
    """Every name that a file imports when it runs, at its top or inside a function."""
    for node in _nodes(ast.parse((ROOT / path).read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module}.{alias.name}" for alias in node.names)


def _room(module: str) -> str | None:
    """The room of one of our modules; None for those of others."""
    parts = module.split(".")
    return next((room for room in (".".join(parts[:2]), parts[0]) if room in DEPTH), None)


def _upward(path: Path) -> list[str]:
    """What a file imports from a layer above its own."""
    own = _room(".".join(path.with_suffix("").parts))
    assert own, f"{path} is in no layer"
    return [name for name in _imports(path) if (room := _room(name)) and DEPTH[room] < DEPTH[own]]


def test_imports_point_downwards() -> None:
    assert {str(path): names for path in SOURCES if (names := _upward(path))} == {}


def test_imports_are_absolute() -> None:
    assert {str(path) for path in SOURCES for name in _imports(path) if name.startswith(".")} == set()


def test_the_core_imports_no_streamlit() -> None:
    core = (path for path in SOURCES if path.parts[0] == "core")
    assert [path for path in core for name in _imports(path) if name.split(".")[0] == "streamlit"] == []


def test_the_root_of_the_core_has_six_files() -> None:
    names = {path.stem for path in (ROOT / "core").glob("*.py")}
    assert names == {"__init__", "__main__", "errors", "followups", "pipeline", "ports"}
