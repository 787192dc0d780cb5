"""Jupyter notebooks are read as their texts, code and printed results."""

import json
from typing import Any

import pytest

from core.model import Article, Document, StructureKind
from core.reading import extract
from core.reading.file_types import kind_of

WORDS = "The wheel turns once in nine seconds, as the table of the mill says."
PICTURE = "iVBORw0KGgo" * 50


def read(value: Any, name: str = "wheel.ipynb") -> Article:
    body = json.dumps(value).encode()
    return extract(Document(url=name, status=200, media_type=kind_of(name, body), charset=None, body=body))


def code(source: Any, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "source": source, "outputs": list(outputs)}


def notebook(*cells: dict[str, Any]) -> dict[str, Any]:
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"language_info": {"name": "python"}},
        "cells": list(cells),
    }


def test_texts_and_code_are_read_in_order() -> None:
    article = read(
        notebook(
            {"cell_type": "markdown", "source": ["# Wheel\n", "\n", WORDS]},
            code(["for n in turns:\n", "    print(n)"]),
        )
    )
    assert article.text == f"# Wheel\n\n{WORDS}\n\n```python\nfor n in turns:\n    print(n)\n```"
    assert (article.title, article.language) == ("Wheel", "en")
    assert [kind for *_, kind in article.structures] == [StructureKind.CODE]


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ({"output_type": "stream", "text": ["9\n", "18\n"]}, "```\n9\n18\n```"),
        ({"output_type": "execute_result", "data": {"text/plain": "9", "text/html": "<b>9</b>"}}, "```\n9\n```"),
        ({"output_type": "error", "ename": "ValueError", "evalue": "no turn", "traceback": ["\x1b[0;31mx"]}, "```\nValueError: no turn\n```"),
        ({"output_type": "stream", "text": "\x1b[31mred\x1b[0m"}, "```\nred\n```"),
        ({"output_type": "display_data", "data": {"image/png": PICTURE, "text/plain": "<Figure>"}}, ""),
        ({"output_type": "stream", "text": None}, ""),
    ],
)  # fmt: skip
def test_results_are_read_without_pictures_and_colours(output: dict[str, Any], text: str) -> None:
    assert read(notebook(code("f()", output))).text == "\n\n".join(
        filter(None, ("```python\nf()\n```", text))
    )


def test_fence_in_code_ends_no_block() -> None:
    article = read(
        notebook(
            code('"""\n```\n# no heading\n```\n"""'),
            {"cell_type": "markdown", "source": f"## Turns\n{WORDS}"},
        )
    )
    assert [name for _, name in article.sections] == ["Turns"]


def test_notebooks_of_format_3_are_read() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": "Old"},
        {"cell_type": "code", "input": ["x = 1"], "outputs": [{"text": "one"}]},
    ]
    article = read(
        {"nbformat": 3, "metadata": {}, "worksheets": [{"cells": cells}]}, "https://x.example/raw?id=7.json"
    )
    assert article.text == "## Old\n\n```\nx = 1\n```\n\n```\none\n```"


def test_odd_cells_are_left_out() -> None:
    assert (
        read(
            notebook({"cell_type": "code"}, {"source": 7}, {"cell_type": "raw", "source": WORDS}, *[None])
        ).text
        == WORDS
    )  # type: ignore[list-item]
