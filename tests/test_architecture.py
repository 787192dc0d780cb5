"""Imports point one way: the table of docs/architecture.md says from which layer to which."""

import ast
import functools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from core.runtime.features import FEATURES, features

ROOT = Path(__file__).parent.parent


def _module(path: str | Path) -> str:
    """The name under which a file or a folder is imported."""
    return ".".join(Path(path).with_suffix("").parts).removesuffix(".__init__")


def _layers() -> dict[str, int]:
    """The layer of each module that has a row in the document; 1 is the highest."""
    layers, layer = {}, 0
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    for number, paths in re.findall(r"^\| (\d*) *\| ((?:`[\w./]+`(?:, )?)+) \|", text, re.M):
        layer = int(number or layer)
        layers |= {_module(path): layer for path in re.findall(r"`([^`]+)`", paths)}
    return layers


LAYERS = _layers()
SOURCES = [
    path.relative_to(ROOT)
    for part in ("openquery", "server.py", "app.py", "pages", "core")
    for path in (ROOT / part, *(ROOT / part).rglob("*.py"))
    if path.suffix == ".py"
]
ROOMS = {f"core.{path.stem}" for path in (ROOT / "core").iterdir()} - {"core.__init__"}
"""What the core has at its root: each needs a layer of its own."""


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node below `tree`, without what only the type checker sees."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from _nodes(node)


@functools.cache
def _imports(path: Path) -> tuple[str, ...]:
    """Every name that a file imports when it runs, at its top or inside a function."""
    names: list[str] = []
    for node in _nodes(ast.parse((ROOT / path).read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names += (f"{'.' * node.level}{node.module}.{alias.name}" for alias in node.names)
    return tuple(names)


def _layer(name: str) -> int | None:
    """The layer of the module that has or is this name; None where the name is not ours, or has no layer."""
    parts = name.split(".")
    depth = 2 if ".".join(parts[:2]) in ROOMS else 1
    return LAYERS.get(".".join(parts[:depth]))


def _upward(path: Path) -> list[str]:
    """What a file imports from a layer above its own."""
    own = _layer(_module(path))
    assert own, f"{path} is in no layer"
    return [name for name in _imports(path) if (layer := _layer(name)) and layer < own]


def test_imports_point_downwards() -> None:
    assert {str(path): names for path in SOURCES if (names := _upward(path))} == {}


def test_imports_are_absolute() -> None:
    assert {str(path) for path in SOURCES for name in _imports(path) if name.startswith(".")} == set()


def _feature(name: str) -> str:
    """The feature that a name belongs to, "" for one of the spine."""
    parts = name.split(".")
    inside = parts[:2] == ["core", "features"] and len(parts) > 2 and (ROOT / Path(*parts[:3])).is_dir()
    return parts[2] if inside else ""


def test_the_spine_imports_no_feature() -> None:
    imported = {
        (str(path), name)
        for path in SOURCES
        if path.parts[0] in ("core", "server.py", "app.py") and path.parts[:2] != ("core", "features")
        for name in _imports(path)
        if name.startswith("core.features")
    }
    assert imported == set()


def test_every_folder_of_a_feature_is_listed() -> None:
    folders = {path.parent.name for path in (ROOT / "core" / "features").glob("*/__init__.py")}
    assert folders == set(FEATURES) == {feature.name for feature in features()}


def test_features_import_only_those_they_name() -> None:
    used: dict[str, set[str]] = {feature.name: set() for feature in features()}
    for path in SOURCES:
        if own := _feature(_module(path)):
            used[own] |= {_feature(name) for name in _imports(path)} - {own, ""}
    assert used == {feature.name: set(feature.uses) for feature in features()}


def test_pages_import_three_features_alone() -> None:
    """The pages start without any other."""
    pages = [path for path in SOURCES if path.parts[0] == "pages"]
    assert {_feature(name) for path in pages for name in _imports(path)} == {
        "",
        "evaluate",
        "library",
        "share",
    }


def test_adapters_are_chosen_by_runtime_and_services_alone() -> None:
    """The shape of jobs and the codec of payloads are no adapters."""
    shapes = ("core.adapters.workers.jobs.", "core.features.library.qdrant.payload.")
    chosen = {
        (str(path), name)
        for path in SOURCES
        if path.parts[:2] not in (("core", "adapters"), ("core", "runtime"))
        if path.parts[3:4] not in (("services",), ("qdrant",))
        for name in _imports(path)
        if name.startswith("core.adapters.") and not name.startswith(shapes)
    }
    assert chosen == set()


def test_the_core_imports_no_streamlit() -> None:
    core = (path for path in SOURCES if path.parts[0] == "core")
    assert [path for path in core for name in _imports(path) if name.split(".")[0] == "streamlit"] == []


def test_the_root_of_the_core_has_six_files() -> None:
    names = {path.stem for path in (ROOT / "core").glob("*.py")}
    assert names == {"__init__", "__main__", "errors", "followups", "pipeline", "ports"}


def test_html_reaches_streamlit_through_one_function() -> None:
    callers = {
        str(path)
        for path in SOURCES
        if re.search(r"\bst\.html\(|unsafe_allow_html", (ROOT / path).read_text("utf-8"))
    }
    assert callers == {"pages/parts/markup.py"}


def test_no_file_has_more_than_500_lines() -> None:
    assert [path for path in SOURCES if (ROOT / path).read_text("utf-8").count("\n") > 500] == []


def test_no_folder_has_more_than_20_modules() -> None:
    sizes = Counter(str(path.parent) for path in SOURCES if path.name != "__init__.py")
    assert [folder for folder, size in sizes.items() if size > 20] == []
