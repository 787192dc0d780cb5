"""Regular expressions mean the same on every Python that `requires-python` allows."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.test_architecture import ROOT, SOURCES

_ELEMENT = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<refused>(?:[*+?]|\{\d*,?\d*\})\+|\(\?>)|.", re.DOTALL
)
"""An escaped character, a set, what is refused, or any other character."""


def _refused(pattern: str) -> bool:
    """Whether a pattern has a possessive quantifier or an atomic group."""
    return any(element["refused"] for element in _ELEMENT.finditer(pattern))


def _texts(node: ast.AST) -> Iterator[str]:
    """The texts below a node. A value inside an f-string is replaced by `x`."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Constant(value=bytes(text)):
            yield text.decode("latin-1")
        case ast.JoinedStr(values=parts):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in parts)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _texts(child)


def _patterns(source: str) -> Iterator[str]:
    """Every text that reaches a function of the module `re`, directly or through names of the file."""
    tree = ast.parse(source)
    if not any(
        alias.name == "re" for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    ):
        return
    values: dict[str, list[ast.expr]] = {}
    pending: list[ast.expr] = []
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                values.setdefault(name, []).append(value)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=attribute), args=[pattern, *_]):
                pending += [pattern] if attribute != "escape" else []
    while pending:
        expression = pending.pop()
        yield from _texts(expression)
        for node in ast.walk(expression):
            if isinstance(node, ast.Name):
                pending += values.pop(node.id, [])


@pytest.mark.parametrize(
    ("pattern", "refused"),
    [
        (r"a*+", True),
        (r"a++b", True),
        (r"a?+", True),
        (r"\w{0,8}+x", True),
        (r"(?>ab)", True),
        (r"[*+]+", False),
        (r"[]*+]a", False),
        (r"\*+", False),
        (r"a+\+", False),
        (r"(?:a+)+", False),
    ],
)
def test_possessive_quantifiers_and_atomic_groups_are_recognized(pattern: str, refused: bool) -> None:
    assert _refused(pattern) is refused


def test_pattern_of_bytes_is_found() -> None:
    assert [text for text in _patterns('import re\n_USED = re.compile(rb"a++b")') if _refused(text)] == [
        "a++b"
    ]


def test_pattern_built_from_named_parts_is_found() -> None:
    source = (
        'import re\n_PART = r"[ab]{2}+"\n_ROW = rf"{_PART}c"\n_OTHER = "a++"\n_USED = re.compile(rf"^{_ROW}")'
    )
    assert [text for text in _patterns(source) if _refused(text)] == [r"[ab]{2}+"]


def test_no_pattern_of_re_is_possessive_or_atomic() -> None:
    """`re` of Python 3.11.2, Debian 12's, goes on at a wrong place after one in a group (cpython gh-106052)."""
    found = [
        f"{path}: {text}"
        for path in SOURCES
        for text in _patterns((ROOT / path).read_text("utf-8"))
        if _refused(text)
    ]
    assert found == [], "Write these without, or give them to the package `regex`."
