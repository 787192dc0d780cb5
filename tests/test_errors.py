"""Every exception of the core is below one root, so that a caller can catch whatever it raises."""

import ast
from pathlib import Path

CORE = Path(__file__).parents[1] / "core"
BUILT_IN = {
    "Exception",
    "BaseException",
    "ValueError",
    "TypeError",
    "RuntimeError",
    "LookupError",
    "KeyError",
    "OSError",
}


def test_the_root_alone_is_below_a_built_in_exception() -> None:
    own = {
        node.name
        for path in CORE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id in BUILT_IN for base in node.bases)
    }
    assert own == {"OpenQueryError"}
