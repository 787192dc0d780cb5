"""Calls of trafilatura, with faster expressions."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable
from functools import cache, lru_cache
from types import ModuleType
from typing import Any

import lxml.html
from lxml import etree

from core.reading.html.metadata import person
from core.reading.normalization import paragraphs

_NAMESPACES = {"re": "http://exslt.org/regular-expressions", "known": "urn:openquery:known"}
_TEST = re.compile(r"re:test\((@[\w-]+(?:\s*\|\s*@[\w-]+)?),\s*'([^']*)'(?:,\s*'(i?)')?\)")
_TAGS = re.compile(r"(?<![^\s(|])(\.?)//\*\[((?:self::\w+(?: or )?)+)\](?=\[)")
_ANY = re.compile(r"(?<![^\s(|])\.//\*\[")
"""Two steps that libxml2 joins only without a condition."""
_TAG = re.compile(r"self::(\w+)")
_POSITION = re.compile(r"\]\s*\[\d|position\(|last\(")
"""A position after a condition.

It counts among the children of each parent, and in a union among all elements.
"""
_MAX_VALUES, _MAX_LENGTH = 1_000, 1_000
"""Cached attribute values per pattern, and the maximum characters of a cached value."""


def make_paths_faster(*modules: ModuleType) -> None:
    """Replace the XPath expressions of modules by `faster_path`. Expressions in lists are replaced too.

    lxml evaluates `re:test` by a call of Python for each element, also if the element has no such attribute.
    Expressions of trafilatura look for some hundred words in classes and identifiers, a quarter of the CPU of
    reading a page. Pages repeat these values.
    """
    for module in modules:
        for name, value in vars(module).items():
            if isinstance(value, etree.XPath):
                setattr(module, name, faster_path(value))
            elif isinstance(value, list) and value and all(isinstance(path, etree.XPath) for path in value):
                value[:] = map(faster_path, value)


def faster_path(path: etree.XPath) -> etree.XPath:
    """Return a faster XPath expression with equal results. It tests each value of an attribute once.

    `re:test` becomes a condition on the attribute. A pattern that matches the empty text stays, because it
    also holds if the attribute is missing. A test of anything other than an attribute stays too. A first step
    to elements of some tags becomes a step to each tag.
    """
    functions: dict[tuple[str, str], Callable[[Any, str], bool]] = {}

    def condition(test: re.Match[str]) -> str:
        attribute, pattern, flag = test.groups()
        matches = _matcher(pattern, re.IGNORECASE if flag else re.NOFLAG)
        if matches(None, ""):
            return test[0]
        name = f"test{len(functions)}"
        functions[_NAMESPACES["known"], name] = matches
        # The text of a node set is the text of its first node in the document.
        first = f"({attribute})[1]" if "|" in attribute else attribute
        return f"{first}[known:{name}(string(.))]"

    expression = _TEST.sub(condition, str(path.path))
    if not _POSITION.search(expression):
        expression = _ANY.sub("descendant::*[", _TAGS.sub(_steps, expression))
    if expression == path.path:
        return path
    # Smart strings would give each text its parent, and no expression that tests an attribute selects texts.
    return etree.XPath(expression, namespaces=_NAMESPACES, extensions=functions, smart_strings=False)


def _steps(step: re.Match[str]) -> str:
    """Return a union of steps, one for each tag. libxml2 finds tags faster than it tests conditions for them."""
    axis = "descendant::" if step[1] else "/descendant::"
    return "(" + "|".join(axis + tag for tag in _TAG.findall(step[2])) + ")"


@cache
def _matcher(pattern: str, flags: re.RegexFlag) -> Callable[[Any, str], bool]:
    """Return a function that searches a pattern in a text. Its signature is for calls from XPath."""
    search = re.compile(pattern, flags).search
    known = lru_cache(_MAX_VALUES)(lambda text: search(text) is not None)
    return lambda _, text: known(text) if len(text) <= _MAX_LENGTH else search(text) is not None


def article_text(tree: lxml.html.HtmlElement, url: str, *, fast: bool) -> str:
    """Return the article's text, or "". `fast` leaves out trafilatura's second opinions."""
    extraction = _trafilatura().bare_extraction(
        tree,
        url=url,
        fast=fast,
        favor_precision=True,
        include_comments=False,
        include_tables=True,
    )
    return paragraphs(extraction.text or "") if extraction is not None else ""


def article_and_comments(tree: lxml.html.HtmlElement, url: str) -> tuple[str, str]:
    """Return the article's text and comments, or "". Trafilatura's second opinions are left out."""
    extraction = _trafilatura().bare_extraction(
        tree, url=url, fast=True, include_comments=True, include_tables=True, with_metadata=False
    )
    return (extraction.text or "", extraction.comments or "") if extraction is not None else ("", "")


def author(tree: lxml.html.HtmlElement) -> str:
    """Return the names in the byline, by trafilatura's paths, or ""."""
    trafilatura = _trafilatura()
    # trafilatura copies the tree without the parts that are not bylines, which is useless without any
    # bylines.
    if not any(path(tree) for path in trafilatura.xpaths.AUTHOR_XPATHS):
        return ""
    return person((trafilatura.metadata.extract_author(tree) or "").replace("; ", ", "))


@cache
def _trafilatura() -> Any:
    """Return trafilatura with faster expressions."""
    import trafilatura.metadata
    import trafilatura.xpaths

    make_paths_faster(*(module for name, module in [*sys.modules.items()] if name.startswith("trafilatura.")))
    # It reports every page that it discards. A person already sees these reports as reasons.
    for logger in ("trafilatura", "htmldate"):
        logging.getLogger(logger).setLevel(logging.CRITICAL)
    return trafilatura
