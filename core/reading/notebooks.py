"""Jupyter notebooks become Markdown: their texts, code, and what the code printed."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_TERMINAL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
"""Colours and movements of a terminal."""
_FENCES = re.compile(r"`{3,}")


def is_notebook(value: object) -> bool:
    """Return whether a JSON value is a notebook, of format 3 (worksheets) or 4."""
    return isinstance(value, dict) and "nbformat" in value and bool({"cells", "worksheets"} & value.keys())


def notebook_markdown(notebook: Mapping[str, Any]) -> str:
    """Return the cells as Markdown. Pictures and other outputs without text are left out."""
    language = _of(notebook, "metadata", "language_info").get("name", "")
    return "\n\n".join(filter(None, (part for cell in _cells(notebook) for part in _parts(cell, language))))


def _cells(notebook: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    sheets = [sheet for sheet in _listed(notebook.get("worksheets")) if isinstance(sheet, dict)]
    for holder in (notebook, *sheets):
        yield from (cell for cell in _listed(holder.get("cells")) if isinstance(cell, dict))


def _parts(cell: Mapping[str, Any], language: str) -> Iterator[str]:
    source = _text(cell.get("source", cell.get("input"))).strip("\n")
    match cell.get("cell_type"):
        case "code":
            yield _fenced(source, language if isinstance(language, str) else "")
            for output in _listed(cell.get("outputs")):
                if isinstance(output, dict):
                    yield _fenced(_output(output))
        case "heading":
            level = cell.get("level")
            yield f"{'#' * (level if isinstance(level, int) and 0 < level < 7 else 1)} {source}"
        case _:
            yield source


def _output(output: Mapping[str, Any]) -> str:
    if "ename" in output:
        return f"{output['ename']}: {_text(output.get('evalue'))}"
    shown = _of(output, "data")
    text = output.get("text", shown.get("text/plain"))
    if any(kind.startswith("image/") for kind in (*shown, *output)) or "png" in output:
        return ""  # the text names the picture's class
    return _TERMINAL.sub("", _text(text)).strip("\n")


def _fenced(code: str, language: str = "") -> str:
    if not code.strip():
        return ""
    fence = "`" * max(3, 1 + max(map(len, _FENCES.findall(code)), default=0))
    return f"{fence}{language}\n{code}\n{fence}"


def _of(holder: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    for name in names:
        inner = holder.get(name)
        holder = inner if isinstance(inner, dict) else {}
    return holder


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    """Return a text that may be written as a list of its lines."""
    if isinstance(value, list):
        return "".join(line for line in value if isinstance(line, str))
    return value if isinstance(value, str) else ""
