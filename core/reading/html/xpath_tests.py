"""Regular expressions inside XPath expressions, tested once for each value of an attribute.

lxml evaluates `re:test` by a call of Python for each element, also if the element has no such attribute. Paths
of trafilatura look for some hundred words in classes and identifiers, a quarter of the CPU of reading a page. Pages repeat
these values.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from types import ModuleType
from typing import Any

from lxml import etree

_NAMESPACES = {"re": "http://exslt.org/regular-expressions", "known": "urn:openquery:known"}
_TEST = re.compile(r"re:test\((@[\w-]+(?:\s*\|\s*@[\w-]+)?),\s*'([^']*)'(?:,\s*'(i?)')?\)")
_MAX_VALUES, _MAX_LENGTH = 1_000, 1_000
"""Values of attributes whose result is kept for each pattern, and the characters of a value that is kept."""


def reuse_tests(*modules: ModuleType) -> None:
    """Replace the XPath expressions of modules, alone and in lists, by `with_reused_tests`."""
    for module in modules:
        for name, value in vars(module).items():
            if isinstance(value, etree.XPath):
                setattr(module, name, with_reused_tests(value))
            elif isinstance(value, list) and value and all(isinstance(path, etree.XPath) for path in value):
                value[:] = map(with_reused_tests, value)


def with_reused_tests(path: etree.XPath) -> etree.XPath:
    """Return an XPath expression with equal results that tests each value of an attribute once.

    `re:test` becomes a condition on the attribute. A pattern that matches the empty text stays, because it also holds if
    the attribute is missing, and so does a test of anything other than an attribute.
    """
    functions: dict[tuple[str, str], Callable[[Any, str], bool]] = {}

    def condition(test: re.Match[str]) -> str:
        attribute, pattern, flag = test.groups()
        matches = _matcher(pattern, re.IGNORECASE if flag else re.NOFLAG)
        if matches(None, ""):
            return test[0]
        name = f"test{len(functions)}"
        functions[_NAMESPACES["known"], name] = matches
        # The text of a set of nodes is that of the first node in the document.
        first = f"({attribute})[1]" if "|" in attribute else attribute
        return f"{first}[known:{name}(string(.))]"

    expression = _TEST.sub(condition, str(path.path))
    if not functions:
        return path
    # Smart strings would give each text its parent, and no expression that tests an attribute selects texts.
    return etree.XPath(expression, namespaces=_NAMESPACES, extensions=functions, smart_strings=False)


@cache
def _matcher(pattern: str, flags: re.RegexFlag) -> Callable[[Any, str], bool]:
    """Return a function that tells whether a pattern is in a text, as XPath calls functions."""
    search = re.compile(pattern, flags).search
    known = lru_cache(_MAX_VALUES)(lambda text: search(text) is not None)
    return lambda _, text: known(text) if len(text) <= _MAX_LENGTH else search(text) is not None
