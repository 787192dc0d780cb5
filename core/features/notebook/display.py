"""Displays of values in a cell: HTML with escaped texts, or lines for terminals."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from htpy import (
    Element,
    Node,
    b,
    div,
    figcaption,
    fragment,
    i,
    p,
    span,
    style,
    table,
    tbody,
    td,
    th,
    thead,
    tr,
)

from core.text.display import html
from core.text.sanitize import one_line, sanitize

T = TypeVar("T")

STYLE = Path(__file__).with_name("display.css").read_text("utf-8")
"""Colours legible on light and dark. Everything else is the notebook's style.

htpy escapes it, so it must not contain `>` or quotes.
"""

NO_MATHEMATICS = ("mathjax_ignore", "tex2jax_ignore")
"""Classes that make notebooks ignore dollar signs, because page texts are not formulas."""
CELL = 70
"""The most characters of a cell."""
_HIDDEN = ("style", "svg")
_BLOCKS = ("p", "div", "h3", "li", "blockquote", "pre", "figcaption", "br", "hr")


@dataclass(frozen=True, kw_only=True)
class Display(Generic[T]):
    """A value with its rich display, for Jupyter, VS Code, marimo and terminals. `value` is the data."""

    value: T
    content: Node

    def __post_init__(self) -> None:
        """Render the elements once, because generators can be used once but a cell may be shown again."""
        object.__setattr__(self, "content", fragment[self.content].__html__())

    def __repr__(self) -> str:
        return plain_text(str(self.content))

    def _repr_html_(self) -> str:
        return html(div(class_=["oq", *NO_MATHEMATICS])[style[STYLE], self.content])

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, str]:
        """Return the representations by media type. IPython drops unwanted types."""
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}


def rows_table(head: Sequence[str], rows: Iterable[Sequence[Node]], numbers: Collection[str] = ()) -> Element:
    """Return a table. Columns in `numbers` are aligned to the right."""
    right = [name in numbers for name in head]
    return table[
        thead[
            tr[(th(class_={"number": is_number})[name] for name, is_number in zip(head, right, strict=True))]
        ],
        tbody[
            (
                tr[
                    (
                        td(class_={"number": is_number}, dir="auto")[cell]
                        for cell, is_number in zip(row, right, strict=True)
                    )
                ]
                for row in rows
            )
        ],
    ]


def bar(share: float, *, wide: bool = False) -> Element:
    """Return a horizontal bar. `share` is from 0 to 1."""
    return span(class_=["track", {"wide": wide}])[i(".bar", style=f"width:{max(0.0, min(share, 1.0)):.1%}")]


def facts(*pairs: tuple[Any, str]) -> Element:
    """Return figures on a line, each with its label."""
    return div(".quiet")[
        ((" · " if number else "", b[str(value)], f" {label}") for number, (value, label) in enumerate(pairs))
    ]


def caption(text: str) -> Element:
    """Return the description of a figure, which remains if scripts and styles are removed."""
    return figcaption[text]


def empty(value: Any, message: str) -> Display[Any]:
    """Return a message in place of a missing display."""
    return Display(value=value, content=p(".quiet")[message])


def plain_text(content: str) -> str:
    """Return displayed HTML as text: blocks as lines, tables in columns, captions of drawings.

    Terminal control characters are removed.
    """
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(content, "lxml")
    for drawing in soup(_HIDDEN):
        drawing.decompose()
    for grid in soup("table"):
        rows = [[_cell(cell) for cell in row(("th", "td"))] for row in grid("tr")]
        grid.replace_with("\n".join(("", *_columns(rows), "")))
    for block in soup(_BLOCKS):
        block.insert_before("\n• " if block.name == "li" else "\n")
        if not block.is_empty_element:
            block.insert_after("\n")
    return sanitize(soup.get_text())


def _cell(cell: Any) -> str:
    for block in cell(_BLOCKS):
        block.insert_before(" ")
    return str(cell.get_text())


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    columns = [[one_line(cell, CELL) for cell in column] for column in zip(*rows, strict=True)]
    columns = [column for column in columns if any(column[1:])]
    padded = [[cell.ljust(max(map(len, column))) for cell in column] for column in columns]
    return ["  ".join(line).rstrip() for line in zip(*padded, strict=True)]
