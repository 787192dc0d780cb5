"""What a cell shows of a value: HTML of elements that escape every text, and the same as lines for terminals."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from htpy import Element, Node, b, div, figcaption, fragment, i, p, style, table, tbody, td, th, thead, tr

from core.text.display import html
from core.text.sanitize import one_line, sanitize

T = TypeVar("T")

STYLE = Path(__file__).with_name("display.css").read_text("utf-8")
"""Colours that are legible on light and dark; all else is the notebook's. htpy escapes it: it has no `>` and quotes."""

NO_MATHEMATICS = ("mathjax_ignore", "tex2jax_ignore")
"""Classes by which notebooks leave dollar signs alone: the texts of pages are no formulas."""


@dataclass(frozen=True, kw_only=True)
class Display(Generic[T]):
    """A value with its rich display, for Jupyter, VS Code, marimo and terminals. `value` is the data."""

    value: T
    content: Node

    def __post_init__(self) -> None:
        """Make the elements once: generators among them have one life, and a cell may be shown again."""
        object.__setattr__(self, "content", fragment[self.content].__html__())

    def __repr__(self) -> str:
        return plain_text(str(self.content))

    def _repr_html_(self) -> str:
        return html(div(class_=["oq", *NO_MATHEMATICS])[style[STYLE], self.content])

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, str]:
        """The representations by media type; IPython drops those that it does not want."""
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}


def rows_table(head: Sequence[str], rows: Iterable[Sequence[Node]], numbers: Collection[str] = ()) -> Element:
    """A table. The cells of the columns in `numbers` are aligned to the right."""
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


def bar(share: float) -> Element:
    """A horizontal bar; `share` is from 0 to 1."""
    return i(".bar", style=f"width:{max(0.0, min(share, 1.0)):.1%}")


def facts(*pairs: tuple[Any, str]) -> Element:
    """Figures in a line, each with what it counts."""
    return div(".quiet")[
        ((" · " if number else "", b[str(value)], f" {label}") for number, (value, label) in enumerate(pairs))
    ]


def caption(text: str) -> Element:
    """What a figure shows, in words: where scripts and styles are removed, this is what is left of it."""
    return figcaption[text]


def empty(value: Any, message: str) -> Display[Any]:
    """What is shown in the place of something that is not there."""
    return Display(value=value, content=p(".quiet")[message])


CELL = 70
"""Characters of a cell."""
_HIDDEN = ("style", "svg")
_BLOCKS = ("p", "div", "h3", "li", "blockquote", "pre", "figcaption", "br", "hr")


def plain_text(content: str) -> str:
    """Blocks as lines, tables in columns; of drawings their captions. Without characters that a terminal obeys."""
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
    """The words of a cell, those of blocks in it apart."""
    for block in cell(_BLOCKS):
        block.insert_before(" ")
    return str(cell.get_text())


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows in columns of equal width, without columns that have nothing below their head."""
    columns = [[one_line(cell, CELL) for cell in column] for column in zip(*rows, strict=True)]
    columns = [column for column in columns if any(column[1:])]
    padded = [[cell.ljust(max(map(len, column))) for cell in column] for column in columns]
    return ["  ".join(line).rstrip() for line in zip(*padded, strict=True)]
