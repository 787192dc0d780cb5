"""Style sheets: selectors that a browser can match without styling the whole page anew."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

STYLES = sorted((Path(__file__).parents[2] / "static" / "styles").glob("*.css"))


def ancestors_with_has(style: str) -> Iterator[str]:
    """Yield the selectors in which `:has()` stands in an ancestor or a former sibling of what is styled."""
    style = re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)
    preludes: list[str] = []  # of the rules around the current place
    for prelude, brace in re.findall(r"([^{};]*)([{};])", style):
        if brace == "{":
            nested = any(":has(" in outer for outer in preludes)
            yield from (selector for selector in selectors(prelude) if nested or has_in_ancestor(selector))
            preludes.append(prelude)
        elif brace == "}":
            preludes.pop()


def selectors(prelude: str) -> list[str]:
    """Return the selectors of a list, without those inside parentheses."""
    return [part.strip() for part in outside_parentheses(prelude).split(",")]


def has_in_ancestor(selector: str) -> bool:
    return bool(re.search(r":has.*[\s>+~]", selector))


def outside_parentheses(text: str) -> str:
    """Return the text with every outermost `(...)` left out, except that `:has` in them is kept."""
    kept, depth = "", 0
    for place, character in enumerate(text):
        depth += character == "("
        if not depth or text[place : place + 4] == ":has":
            kept += character if not depth else ":has"
        depth -= character == ")"
    return kept


@pytest.mark.parametrize("path", STYLES, ids=lambda path: path.name)
def test_has_stands_in_what_is_styled_alone(path: Path) -> None:
    """After each change of the page, Chromium styles again all that is below or beside an element with `:has()`.

    A page of a run took 50 to 100 ms for that at each measurement of a label of a chart. What an ancestor has is told
    to those below it by a custom property.
    """
    assert list(ancestors_with_has(path.read_text("utf-8"))) == []


def test_the_scan_finds_such_selectors() -> None:
    style = ".a:has(.b) .c { x: 1 } .a > :has(.b) { & p { x: 1 } } .d:not(:has(.b)), .e .f { x: 1 } @media (x: 1) { .g:is(:has(.b), .h) ~ i { } }"
    assert list(ancestors_with_has(style)) == [".a:has .c", "& p", ".g:is:has ~ i"]
